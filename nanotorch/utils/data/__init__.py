"""Datasets, samplers, and the loader that reads batches with them."""

from nanotorch.names.lookup import on_demand as _on_demand
from nanotorch.utils.data.dataloader import DataLoader as DataLoader
from nanotorch.utils.data.dataset import BatchSampler as BatchSampler
from nanotorch.utils.data.dataset import ChainDataset as ChainDataset
from nanotorch.utils.data.dataset import ConcatDataset as ConcatDataset
from nanotorch.utils.data.dataset import Dataset as Dataset
from nanotorch.utils.data.dataset import DistributedSampler as DistributedSampler
from nanotorch.utils.data.dataset import IterableDataset as IterableDataset
from nanotorch.utils.data.dataset import RandomSampler as RandomSampler
from nanotorch.utils.data.dataset import Sampler as Sampler
from nanotorch.utils.data.dataset import SequentialSampler as SequentialSampler
from nanotorch.utils.data.dataset import Subset as Subset
from nanotorch.utils.data.dataset import SubsetRandomSampler as SubsetRandomSampler
from nanotorch.utils.data.dataset import TensorDataset as TensorDataset
from nanotorch.utils.data.dataset import WeightedRandomSampler as WeightedRandomSampler
from nanotorch.utils.data.dataset import default_collate as default_collate
from nanotorch.utils.data.dataset import default_convert as default_convert
from nanotorch.utils.data.dataset import get_worker_info as get_worker_info
from nanotorch.utils.data.dataset import random_split as random_split

_on_demand("nanotorch.utils.data")
