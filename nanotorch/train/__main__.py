"""`python -m nanotorch.train`."""

import sys

from nanotorch.train.cli import main

sys.exit(main(program="python -m nanotorch.train"))
