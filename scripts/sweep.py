"""Train with many settings: `python scripts/sweep.py --config configs/x.yaml seed=0:5`."""

import sys


def run() -> int:
    """Run the command line; return the exit code."""
    try:
        from nanotorch.train.cli import sweep  # here, since Ctrl-C may come while modules load

        return sweep()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(run())
