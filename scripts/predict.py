"""Let a trained model predict: `python scripts/predict.py runs/x/<time> table.csv`."""

import sys


def run() -> int:
    """Run the command line; return the exit code."""
    try:
        from nanotorch.train.cli import predict  # here, since Ctrl-C may come while modules load

        return predict()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(run())
