"""Libraries that PyTorch may be built with; here there is none of them."""

from nanotorch.backends import cuda as cuda
from nanotorch.backends import cudnn as cudnn
from nanotorch.backends import mps as mps
