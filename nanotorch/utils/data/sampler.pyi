"""Names that are at home elsewhere.

`scripts/stubs.py` writes this file.
"""

from nanotorch.utils.data.dataset import BatchSampler as BatchSampler
from nanotorch.utils.data.dataset import RandomSampler as RandomSampler
from nanotorch.utils.data.dataset import Sampler as Sampler
from nanotorch.utils.data.dataset import SequentialSampler as SequentialSampler
from nanotorch.utils.data.dataset import SubsetRandomSampler as SubsetRandomSampler
from nanotorch.utils.data.dataset import WeightedRandomSampler as WeightedRandomSampler
