"""Convolutions."""

from nanotorch.ops.convolving import conv1d as conv1d
from nanotorch.ops.convolving import conv2d as conv2d
from nanotorch.ops.convolving import conv3d as conv3d
from nanotorch.ops.convolving import conv_transpose1d as conv_transpose1d
from nanotorch.ops.convolving import conv_transpose2d as conv_transpose2d
from nanotorch.ops.convolving import conv_transpose3d as conv_transpose3d
