"""`AdamW`, where PyTorch has it."""

from nanotorch.optim.adam import AdamW

__all__ = ["AdamW"]
