"""Names that are at home elsewhere.

`scripts/stubs.py` writes this file.
"""

from nanotorch.utils.data.dataset import DistributedSampler as DistributedSampler
