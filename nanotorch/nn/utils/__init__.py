"""Gradient clipping, parameters as one vector, parametrizations, and padded sequences."""

import types
from collections.abc import Iterable
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any

from nanotorch import ops
from nanotorch._core.call_site import warn
from nanotorch._core.grad_mode import no_grad
from nanotorch._core.tensor import Tensor, typename
from nanotorch.names.lookup import on_demand, stand_in
from nanotorch.nn.utils import rnn as rnn
from nanotorch.ops.reduction import vector_norm

__all__ = [
    "clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_",
    "get_total_norm", "parameters_to_vector", "parametrizations", "parametrize",
    "remove_spectral_norm", "remove_weight_norm", "rnn", "spectral_norm", "stateless",
    "vector_to_parameters", "weight_norm",
]  # fmt: skip

CLIPPING = "clip_grad_norm clip_grad_norm_ clip_grad_value_ clip_grads_with_norm_ get_total_norm"
clip_grad = stand_in("nanotorch.nn.utils.clip_grad", {"nanotorch.nn.utils": CLIPPING})
convert_parameters = stand_in(
    "nanotorch.nn.utils.convert_parameters",
    {"nanotorch.nn.utils": "parameters_to_vector vector_to_parameters"},
)
# The former module of `torch.func.functional_call`.
stateless = stand_in("nanotorch.nn.utils.stateless", {"nanotorch.func": "functional_call"})

if _TYPE_CHECKING:  # these are imported on their first use
    from nanotorch.nn.utils import parametrizations as parametrizations
    from nanotorch.nn.utils import parametrize as parametrize
    from nanotorch.nn.utils.parametrize import remove_spectral_norm as remove_spectral_norm
    from nanotorch.nn.utils.parametrize import remove_weight_norm as remove_weight_norm
    from nanotorch.nn.utils.parametrize import spectral_norm as spectral_norm
    from nanotorch.nn.utils.parametrize import weight_norm as weight_norm
else:
    FUNCTIONS = "remove_spectral_norm remove_weight_norm spectral_norm weight_norm"
    LATER = {"nanotorch.nn.utils.parametrize": FUNCTIONS}
    for _file in ("spectral_norm", "weight_norm"):  # PyTorch's modules with the functions' names
        stand_in(f"nanotorch.nn.utils.{_file}", LATER)
    LATER |= {"nanotorch.nn.utils": "parametrizations parametrize"}
    __getattr__, __dir__ = on_demand("nanotorch.nn.utils", LATER)

Tensors = Tensor | Iterable[Tensor]
TINY = 1e-6  # against division by a norm of 0


def as_list(tensors: Tensors) -> list[Tensor]:
    """A list of one tensor or of several."""
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def present_gradients(parameters: Tensors) -> list[Tensor]:
    """The gradients of the parameters, except None."""
    return [p.grad for p in as_list(parameters) if p.grad is not None]


def get_total_norm(
    tensors: Tensors, norm_type: float = 2.0, error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:  # fmt: skip
    """The norm of all tensors as one vector.

    Args:
        tensors: a tensor or several.
        norm_type: the order of the norm, also "inf". Default: 2.
        error_if_nonfinite: refuse a norm that is nan or infinite. Default: False.
        foreach: accepted for compatibility.

    Raises:
        RuntimeError: if ``error_if_nonfinite`` is set and the norm is nan or infinite.
    """
    order = float(norm_type)
    with no_grad():
        norms = [vector_norm(tensor, order) for tensor in as_list(tensors)]
        if not norms:
            return ops.tensor(0.0)
        total: Tensor = vector_norm(ops.stack(norms), order)
    if error_if_nonfinite and not total.isfinite():
        raise RuntimeError(
            f"The total norm of order {order} for gradients from `parameters` is non-finite, so it "
            "cannot be clipped. To disable this error and scale the gradients by the non-finite "
            "norm anyway, set `error_if_nonfinite=False`"
        )
    return total


def clip_grads_with_norm_(
    parameters: Tensors, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scale gradients in place by ``max_norm / total_norm``, if that is less than 1.

    Args:
        parameters: a tensor or several; the function scales their gradients.
        max_norm: the upper limit of the norm.
        total_norm: the present norm, for example from `get_total_norm`.
        foreach: accepted for compatibility.
    """
    with no_grad():
        if grads := present_gradients(parameters):
            factor = ops.clamp(float(max_norm) / (total_norm + TINY), max=1.0)
            for grad in grads:
                grad.mul_(factor)


def clip_grad_norm_(
    parameters: Tensors, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:  # fmt: skip
    """Scale gradients in place so that their norm, as one vector, is at most ``max_norm``.

    Args:
        parameters: a tensor or several; the function scales their gradients.
        max_norm: the upper limit of the norm.
        norm_type, error_if_nonfinite, foreach: see `get_total_norm`.

    Returns:
        The norm before scaling.

    Raises:
        RuntimeError: if ``error_if_nonfinite`` is set and the norm is nan or infinite.

    Reference:
        Pascanu, Mikolov and Bengio, On the difficulty of training recurrent neural networks,
        ICML 2013, algorithm 1.
    """
    chosen = as_list(parameters)
    if not chosen and isinstance(parameters, types.GeneratorType):
        warn("`parameters` is an empty generator, no gradient clipping will occur.")
    total = get_total_norm(present_gradients(chosen), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(chosen, max_norm, total, foreach)
    return total


def clip_grad_norm(*args: Any, **kwargs: Any) -> Tensor:
    """The former name of `clip_grad_norm_`.

    Warns:
        FutureWarning: always.
    """
    warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of "
        "`torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
    )
    return clip_grad_norm_(*args, **kwargs)


def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Clamp gradients to [``-clip_value``, ``clip_value``], in place.

    Args:
        parameters: a tensor or several; the function clamps their gradients.
        clip_value: the upper limit of the absolute value.
        foreach: False writes once, not twice; only the gradients' versions differ.
    """
    bound = float(clip_value)
    with no_grad():
        for grad in present_gradients(parameters):
            if foreach is False:
                grad.clamp_(min=-bound, max=bound)
            else:  # two writes, like PyTorch's count
                grad.clamp_(min=-bound).clamp_(max=bound)


# Parameters as one vector, and back.


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """The elements of all parameters in order, as one differentiable vector.

    Args:
        parameters: tensors of any shapes.
    """
    return ops.cat([parameter.view(-1) for parameter in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Make parameters slices of a vector; they share its memory.

    Args:
        vec: a vector with one element for each element of the parameters.
        parameters: tensors of any shapes.

    Raises:
        TypeError: if ``vec`` is not a tensor.
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {typename(vec)}")
    start = 0
    for parameter in parameters:
        end = start + parameter.numel()
        parameter.data = vec[start:end].view_as(parameter).data
        start = end
