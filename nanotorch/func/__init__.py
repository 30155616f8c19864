"""Functions of functions: derivatives, batches, and modules as functions of their parameters.

Transforms nest in each other, and results can be differentiated by `backward` where the arguments
require grad.
"""

from nanotorch.func.batching import vmap as vmap
from nanotorch.func.gradients import grad as grad
from nanotorch.func.gradients import grad_and_value as grad_and_value
from nanotorch.func.gradients import jvp as jvp
from nanotorch.func.gradients import linearize as linearize
from nanotorch.func.gradients import vjp as vjp
from nanotorch.func.jacobians import hessian as hessian
from nanotorch.func.jacobians import jacfwd as jacfwd
from nanotorch.func.jacobians import jacrev as jacrev
from nanotorch.func.modules import functional_call as functional_call
from nanotorch.func.modules import stack_module_state as stack_module_state
