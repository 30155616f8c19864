"""Libraries that PyTorch may be built with; here there is none of them."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from nanotorch.backends import cuda as cuda
from nanotorch.backends import cudnn as cudnn
from nanotorch.backends import mps as mps
from nanotorch.names.lookup import on_demand as _on_demand

if not _TYPE_CHECKING:  # so that checkers of types see which names there are
    __getattr__, __dir__ = _on_demand(__name__)
