"""Around training: data and TensorBoard."""

from nanotorch.utils import data as data
