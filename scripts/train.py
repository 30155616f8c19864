"""Train what a YAML file describes: `python scripts/train.py --config configs/x.yaml`."""

import sys

from nanotorch.train.cli import main

if __name__ == "__main__":
    sys.exit(main())
