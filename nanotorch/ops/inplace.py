"""Writes into a tensor's own memory: `copy_`, `fill_`, `zero_`, and in-place views.

A kernel declared with ``inplace=True`` usually computes a result, which is then written to the
tensor. Those below write to the array they are given and return it, since no result stands apart.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from nanotorch._core.arguments import named
from nanotorch._core.batch_functions import in_place, under_vmap
from nanotorch._core.batch_rules import elementwise
from nanotorch._core.batched import NoValues, stand_for
from nanotorch._core.dtypes import Number, refuse_beyond
from nanotorch._core.grad_mode import mode
from nanotorch._core.inference import refuse_write
from nanotorch._core.op import Array, method, node_class, op
from nanotorch._core.origins import wrote
from nanotorch._core.tensor import Tensor, wrap
from nanotorch._core.views import Step, View, check_memory, refuse_history
from nanotorch.ops.arguments import number_in
from nanotorch.ops.expanding import common_shape
from nanotorch.ops.hidden import inplace_form
from nanotorch.ops.memory import as_strided
from nanotorch.ops.reduction import sum_all
from nanotorch.ops.shape import squeeze, t, transpose, unsqueeze, view_in


def writer(**declared: Any) -> Callable[[Any], Any]:
    """Declare a kernel that writes to its first argument; what is returned is the in-place form."""

    def declare(kernel: Any) -> Any:
        op(inplace=True, method=False, public=False, **declared)(kernel)
        return inplace_form(kernel.__name__)

    return declare


@op(method=False, public=False, batch=elementwise)
def blank(input: Array) -> Array:
    """Zeros where ``input`` has values: the gradient of what was overwritten."""
    return np.zeros(input.shape, input.dtype)


# Copies


@writer(
    input=lambda g: blank(g),
    other=lambda g: g,
    node="torch::autograd::CopyBackwards",
    batch=elementwise,
)
def copied_into(input: Array, other: Array) -> Array:
    """Write ``other`` into ``input``, broadcasting and converting."""
    if other.ndim > input.ndim:
        common_shape(input.shape, other.shape)
        shape = (*other.shape[: other.ndim - input.ndim], *input.shape)
        raise RuntimeError(
            f"output with shape {list(input.shape)} doesn't match the broadcast shape {list(shape)}"
        )
    try:
        np.copyto(input, other, casting="unsafe")
    except ValueError:
        raise cannot_copy(input.shape, other.shape) from None
    return input


def cannot_copy(into: tuple[int, ...], shape: tuple[int, ...]) -> RuntimeError:
    """Why values of ``shape`` cannot be written to a tensor of the shape ``into``."""
    for d in range(-1, -len(shape) - 1, -1):
        if shape[d] not in (1, into[d]):
            if into[d] == 1:
                continue
            return RuntimeError(
                f"The size of tensor a ({into[d]}) must match the size of tensor b ({shape[d]}) at "
                f"non-singleton dimension {len(into) + d}"
            )
    full = np.broadcast_shapes(into, shape)
    return RuntimeError(
        f"output with shape {list(into)} doesn't match the broadcast shape {list(full)}"
    )


@method(public=False)
def copy_(self: Tensor, other: Any, non_blocking: bool = False) -> Tensor:
    """Write the values of ``other`` into this tensor, broadcasting and converting.

    Raises:
        RuntimeError: if the shapes do not fit, or the tensor must not be written to.
    """
    if not isinstance(other, Tensor) and isinstance(other, (bool, int, float)):
        refuse_beyond(other)
        other = wrap(np.array(other))
    return copied_into(self, other)


# Numbers


@writer(input=lambda g: blank(g), node="FillBackward2", expanded="")
def filled_with_number(input: Array, value: Number) -> Array:
    """Write a Python number everywhere."""
    input.fill(number_in(value, input.dtype))
    return input


@writer(
    input=lambda g: blank(g),
    value=lambda g: sum_all(g),
    node="FillBackward3",
    overlap=True,
    expanded="",
    batch=lambda call: copied_into(call.args["input"], call.args["value"]),
)
def filled_with_tensor(input: Array, value: Array) -> Array:
    """Write the value of a 0-d tensor everywhere."""
    if value.ndim:
        raise RuntimeError(
            "fill_ only supports 0-dimension value tensor but got tensor with "
            f"{value.ndim} dimensions."
        )
    np.copyto(input, value, casting="unsafe")
    return input


@method(public=False)
def fill_(self: Tensor, value: Any) -> Tensor:
    """Write a number, or the value of a 0-d tensor, everywhere.

    Raises:
        RuntimeError: if it does not fit the dtype, or the tensor must not be written to.
    """
    if isinstance(value, Tensor):
        check_memory(self)  # a number may be written twice to one place, a tensor is copied there
        return filled_with_tensor(self, value)
    if not isinstance(value, (bool, int, float, np.generic)):
        raise TypeError(
            f"fill_(): argument 'value' (position 1) must be Number, not {type(value).__name__}"
        )
    return filled_with_number(self, value)


@writer(input=lambda g: blank(g), expanded="")
def zero(input: Array) -> Array:
    """Write zeros."""
    input.fill(0)
    return input


method(zero, name="zero_", public=False)


@method(public=False)
@under_vmap(in_place)
def fill_diagonal_(self: Tensor, fill_value: Number, wrap: bool = False) -> Tensor:
    """Write a number where all indices are equal.

    Args:
        wrap: in a matrix of more rows than columns, begin anew below the diagonal's end.

    Raises:
        RuntimeError: unless there are two dimensions, or more of one size.
    """
    shape, ndim = self._array.shape, self.ndim
    if ndim < 2:
        raise RuntimeError("dimensions must larger than 1")
    if ndim > 2 and len(set(shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    stride = sum(self.stride())
    as_strided(self, (min(shape),), (stride,)).fill_(fill_value)
    if wrap and ndim == 2 and shape[0] > shape[1] + 1:
        below = self[shape[1] + 1 :]
        fill_diagonal_(below, fill_value, wrap=True)
    return self


# Views in place of their source


def become(self: Tensor, view: Any, undo: Step) -> Tensor:
    """Make ``self`` what its ``view`` is; the memory stays.

    Args:
        undo: how to come back, for other views of ``self``.

    Raises:
        RuntimeError: for an inference tensor outside inference mode.
    """
    refuse_write(self._cell)
    if self._view is None:
        self._past = (*self._past, (self._array, undo))
    self._array = view._array
    wrote(self._cell, "an operation that reshapes in place")
    known = self._view
    if known is not None and view._view is not None:
        # Unless it is recorded, a view takes its history from its base when next asked for it.
        version = self._cell[0] if mode.enabled and self.requires_grad else known.version
        self._view = View(known.base, view._view.steps, version, known.origin, known.shaped)
    if mode.enabled:
        self._edge = view._edge
    return self


# PyTorch numbers the forms in place after the others.
IN_PLACE = {
    "TBackward0": "TBackward1",
    "TransposeBackward0": "TransposeBackward1",
    "UnsqueezeBackward0": "UnsqueezeBackward1",
    "SqueezeBackward0": "SqueezeBackward3",
    "SqueezeBackward1": "SqueezeBackward4",
    "SqueezeBackward2": "SqueezeBackward5",
    "AsStridedBackward0": "AsStridedBackward1",
}


@cache
def in_place_class(kind: Any) -> Any:
    """The class of the node of a view in place, from the plain view's."""
    return node_class(IN_PLACE[kind.__name__], kind)


def inplace_view(function: Any) -> None:
    """`transpose_` and its kin: the tensor becomes its own view."""

    def replaced(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        try:
            if mode.enabled:
                refuse_history(self)
            undo: Step = (view_in, (self._array.shape,), None)
            if function in (t, transpose):  # its own inverse
                undo = (function, (*args, *kwargs.values()), None)
            view = function(self, *args, **kwargs)
            if view._edge is not None:
                node = view._edge[0]
                kind: Any = type(node)
                node.__class__ = in_place_class(kind)
            return become(self, view, undo)
        except NoValues:
            return stand_for(self, function(self, *args, **kwargs))

    name = function.__name__
    named(replaced, f"{name}_").__doc__ = f"In-place `{name}`."
    method(replaced, public=False)


for _function in (t, transpose, squeeze, unsqueeze):
    inplace_view(_function)
