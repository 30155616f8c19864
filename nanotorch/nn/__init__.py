"""Modules: layers, containers and losses, and the functions and initializers behind them."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from nanotorch.names.lookup import on_demand as _on_demand
from nanotorch.names.lookup import stand_in as _stand_in
from nanotorch.nn import functional as functional
from nanotorch.nn import init as init
from nanotorch.nn import utils as utils
from nanotorch.nn.module import Module as Module
from nanotorch.nn.parameter import Buffer as Buffer
from nanotorch.nn.parameter import Parameter as Parameter

if _TYPE_CHECKING:
    from nanotorch.nn import modules as modules
    from nanotorch.nn import parallel as parallel
    from nanotorch.nn.activation import *
    from nanotorch.nn.container import *
    from nanotorch.nn.lazy import *
    from nanotorch.nn.linear import *
    from nanotorch.nn.loss import *
    from nanotorch.nn.normalization import *
    from nanotorch.nn.parallel import DataParallel as DataParallel
    from nanotorch.nn.recurrent import *
    from nanotorch.nn.spatial import *
    from nanotorch.nn.synchronized import *
    from nanotorch.nn.transformer import *
else:  # the layers are imported when they are used
    from nanotorch.nn.modules import LAYERS as _LAYERS

    attention = _stand_in("nanotorch.nn.attention", {})  # a module of PyTorch's
    __getattr__, __dir__ = _on_demand(
        "nanotorch.nn",
        {"nanotorch.nn": "parallel", "nanotorch.nn.parallel": "DataParallel", **_LAYERS},
    )
    __all__ = [_name for _name in __dir__() if not _name.startswith("_")]
