"""Comparisons, powers, running sums and swapped dimensions in place."""

from collections.abc import Callable
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import named
from nanotorch._core.batch_rules import elementwise
from nanotorch._core.layout import normal_dim
from nanotorch._core.op import Array, method
from nanotorch._core.tensor import Tensor
from nanotorch.ops.arguments import as_number
from nanotorch.ops.expanding import common_shape
from nanotorch.ops.inplace import blank, writer
from nanotorch.ops.reduction import accumulated, check_own_dtype, reverse_cumsum

Compared = Callable[[Array, Array], Array]


def comparison_in_place(name: str, compare: Compared) -> tuple[Any, Any]:
    """The two forms of a comparison in place: with a number, and with a tensor.

    PyTorch has a node for either, which passes zeros.
    """

    def by_number(input: Array, value: dtypes.Number) -> Array:
        """The comparison with a number, written in place."""
        kind = dtypes.result_type([input, value])._numpy
        return compare(input.astype(kind, copy=False), dtypes.array_of_number(value, kind))

    def by_tensor(input: Array, other: Array) -> Array:
        """The comparison with a tensor, written in place."""
        common_shape(input.shape, other.shape)
        kind = dtypes.result_type([input, other])._numpy
        return compare(input.astype(kind, copy=False), other.astype(kind, copy=False))

    forms = named(by_number, f"{name}_number"), named(by_tensor, f"{name}_tensor")
    zeros: dict[str, Any] = {"input": lambda g: blank(g)}
    return (
        writer(**zeros, node=f"{name.title()}Backward0", batch=elementwise)(forms[0]),
        writer(
            **zeros,
            other=lambda g: blank(g),
            node=f"{name.title()}Backward1",
            batch=elementwise,
        )(forms[1]),
    )


eq_number, eq_tensor = comparison_in_place("eq", np.equal)
ge_number, ge_tensor = comparison_in_place("ge", np.greater_equal)
gt_number, gt_tensor = comparison_in_place("gt", np.greater)
le_number, le_tensor = comparison_in_place("le", np.less_equal)
lt_number, lt_tensor = comparison_in_place("lt", np.less)
ne_number, ne_tensor = comparison_in_place("ne", np.not_equal)
FORMS = {
    "eq_": (eq_number, eq_tensor),
    "ge_": (ge_number, ge_tensor),
    "gt_": (gt_number, gt_tensor),
    "le_": (le_number, le_tensor),
    "lt_": (lt_number, lt_tensor),
    "ne_": (ne_number, ne_tensor),
}


def provide(name: str, by_number: Any, by_tensor: Any) -> None:
    """Give tensors the method ``name``."""

    def compared(self: Tensor, other: Any) -> Any:
        if isinstance(other, Tensor):
            return by_tensor(self, other)
        return by_number(self, as_number(other))

    named(compared, name).__doc__ = f"Write 1 where `{name[:-1]}` holds and 0 where not."
    method(compared, public=False)


for _name, _forms in FORMS.items():
    provide(_name, *_forms)


@method
def square_(input: Tensor) -> Tensor:
    """In-place `square`."""
    result: Tensor = input.pow_(2)
    return result


@writer(input=lambda g, dim: reverse_cumsum(g, dim), node="CumsumBackward0")
def cumsum_written(input: Array, dim: int) -> Array:
    """The kernel of `cumsum_`."""
    return accumulated(np.add, input, dim, input.dtype)


@method(public=False)
def cumsum_(self: Tensor, dim: int, *, dtype: dtypes.dtype | None = None) -> Tensor:
    """In-place `cumsum`.

    Raises:
        RuntimeError: for a ``dtype`` other than the tensor's own.
    """
    check_own_dtype(self, dtype)
    result: Tensor = cumsum_written(self, normal_dim(dim, self.ndim))
    return result


# Dimensions swapped in place, by their other names


@method(public=False)
def swapaxes_(self: Tensor, axis0: int, axis1: int) -> Tensor:
    """In-place `swapaxes`."""
    return self.transpose_(axis0, axis1)


@method(public=False)
def swapdims_(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """In-place `swapdims`."""
    return self.transpose_(dim0, dim1)
