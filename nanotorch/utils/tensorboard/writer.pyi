"""Names that are at home elsewhere.

`scripts/stubs.py` writes this file.
"""

from nanotorch.utils.tensorboard import SummaryWriter as SummaryWriter
