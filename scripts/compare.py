"""Runs side by side: `python scripts/compare.py runs/x/<time> runs/y/<time>`."""

import sys


def run() -> int:
    """Run the command line; return the exit code."""
    try:
        from nanotorch.train.cli import compare  # here, since Ctrl-C may come while modules load

        return compare()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(run())
