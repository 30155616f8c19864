"""Train what a YAML file describes: `python scripts/train.py --config configs/x.yaml`."""

import sys


def run() -> int:
    """Run the trainer's command line; return the exit code."""
    try:
        from nanotorch.train.cli import main  # here, since Ctrl-C may come while modules load

        return main()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(run())
