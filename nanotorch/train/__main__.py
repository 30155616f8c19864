"""`python -m nanotorch.train`."""

import sys

from .cli import main

sys.exit(main(program="python -m nanotorch.train"))
