"""Functions of functions: derivatives, batches, and modules as functions of their parameters.

Transforms nest in each other, and results can be differentiated by `backward` where the arguments
require grad.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from nanotorch.func.modules import functional_call as functional_call
from nanotorch.func.modules import stack_module_state as stack_module_state
from nanotorch.func.transforms import grad as grad
from nanotorch.func.transforms import grad_and_value as grad_and_value
from nanotorch.func.transforms import hessian as hessian
from nanotorch.func.transforms import jacfwd as jacfwd
from nanotorch.func.transforms import jacrev as jacrev
from nanotorch.func.transforms import jvp as jvp
from nanotorch.func.transforms import vjp as vjp
from nanotorch.func.transforms import vmap as vmap
from nanotorch.names.lookup import on_demand as _on_demand

if not _TYPE_CHECKING:  # so that checkers of types see which names there are
    __getattr__, __dir__ = _on_demand(__name__)
