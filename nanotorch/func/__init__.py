"""Transforms of functions: derivatives, batches, and modules as functions of their parameters.

Transforms can be nested. If the arguments require grad, `backward` differentiates the results.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

if _TYPE_CHECKING:
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
else:  # on first use
    from nanotorch.names.lookup import on_demand as _on_demand

    __getattr__, __dir__ = _on_demand(
        __name__,
        {
            "nanotorch.func.modules": "functional_call stack_module_state",
            "nanotorch.func.transforms": "grad grad_and_value hessian jacfwd jacrev jvp vjp vmap",
        },
    )
