"""Write what TensorBoard shows: curves, histograms, images, text, and the model's graph."""

from nanotorch.utils.tensorboard.writer import SummaryWriter

__all__ = ["SummaryWriter"]
