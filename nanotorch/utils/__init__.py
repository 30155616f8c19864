"""Around training: data, TensorBoard, and memory."""

from nanotorch.utils import checkpoint as checkpoint
from nanotorch.utils import data as data
