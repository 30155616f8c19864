"""Datasets, samplers, and the loader that reads batches with them."""

from nanotorch.names.lookup import on_demand as _on_demand
from nanotorch.utils.data.dataloader import DataLoader as DataLoader
from nanotorch.utils.data.dataset import *  # noqa: F403 - PyTorch's names

_on_demand("nanotorch.utils.data")
