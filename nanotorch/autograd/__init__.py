"""Differentiation: `backward`, `grad`, the switches of recording, and operations of your own."""

import sys as _sys
from typing import TYPE_CHECKING as _TYPE_CHECKING

from nanotorch._core import grad_mode as grad_mode
from nanotorch._core.grad_mode import enable_grad as enable_grad
from nanotorch._core.grad_mode import inference_mode as inference_mode
from nanotorch._core.grad_mode import no_grad as no_grad
from nanotorch._core.grad_mode import set_grad_enabled as set_grad_enabled
from nanotorch.autograd import anomaly_mode as anomaly_mode
from nanotorch.autograd import function as function
from nanotorch.autograd.anomaly_mode import detect_anomaly as detect_anomaly
from nanotorch.autograd.anomaly_mode import set_detect_anomaly as set_detect_anomaly
from nanotorch.autograd.backward import backward as backward
from nanotorch.autograd.backward import grad as grad
from nanotorch.autograd.function import Function as Function
from nanotorch.names.lookup import on_demand as _on_demand
from nanotorch.names.lookup import stand_in as _stand_in

_sys.modules["nanotorch.autograd.grad_mode"] = grad_mode  # PyTorch has a module of that name
for _name in ("anomaly_mode", "grad_mode"):
    _on_demand(f"nanotorch.autograd.{_name}")

if _TYPE_CHECKING:  # at run time, these are imported on first use
    from nanotorch.autograd import functional as functional
    from nanotorch.autograd import graph as graph
    from nanotorch.autograd.explanation import explain as explain
    from nanotorch.autograd.functional import gradcheck as gradcheck
    from nanotorch.autograd.functional import gradgradcheck as gradgradcheck
    from nanotorch.autograd.graph import Variable as Variable
    from nanotorch.autograd.graph import variable as variable
    from nanotorch.autograd.graph_text import print_graph as print_graph
    from nanotorch.autograd.graph_view import make_dot as make_dot
else:
    # PyTorch has files of the functions' names.
    _stand_in(
        "nanotorch.autograd.gradcheck",
        {"nanotorch.autograd.functional": "GradcheckError gradcheck gradgradcheck"},
    )
    _stand_in("nanotorch.autograd.variable", {"nanotorch.autograd.graph": "Variable"})
    __getattr__, __dir__ = _on_demand(
        "nanotorch.autograd",
        {
            "nanotorch.autograd": "functional graph",
            "nanotorch.autograd.graph": "Variable variable",
            "nanotorch.autograd.functional": "gradcheck gradgradcheck",
            "nanotorch.autograd.explanation": "explain",
            "nanotorch.autograd.graph_text": "print_graph",
            "nanotorch.autograd.graph_view": "make_dot",
        },
    )
