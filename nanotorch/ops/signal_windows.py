"""Windows, which weigh the samples of a signal."""

from collections.abc import Callable
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import as_int
from nanotorch._core.dtypes import dtype as DType
from nanotorch._core.heap import within_memory
from nanotorch._core.op import Array, public
from nanotorch._core.tensor import Tensor
from nanotorch.ops.bessel import kernel as bessel
from nanotorch.ops.creation import leaf, numpy_dtype

NAMES = {"Long": "long int", "Int": "int", "Short": "short int", "Byte": "unsigned char",
         "Char": "signed char", "Bool": "bool"}  # fmt: skip


@within_memory
def window(
    name: str,
    length: int,
    periodic: bool,
    shape: Callable[[Array], Array],
    dtype: DType | None,
    requires_grad: bool,
    *where: Any,
) -> Tensor:
    """A window by its ``shape``, a function of places from 0 to 1."""
    count, kind = as_int(length), numpy_dtype(dtype)
    if kind.kind != "f":
        given = NAMES[dtypes.of_array(np.empty(0, kind)).char]
        raise RuntimeError(
            f"{name} expects floating point dtypes, got: TensorOptions(dtype={given}, device=cpu, "
            "layout=Strided (default), requires_grad=false (default), pinned_memory=false, "
            "memory_format=(nullopt))"
        )
    if count < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={count}")
    if count < 2:
        return leaf(np.ones(count, kind), requires_grad, *where)
    places = np.arange(count) / (count if periodic else count - 1)
    return leaf(shape(places).astype(kind), requires_grad, *where)


def cosines(places: Array, *weights: float) -> Array:
    """A sum of cosines with these weights."""
    return np.asarray(sum(w * np.cos(2 * np.pi * k * places) for k, w in enumerate(weights)))


@public
def hann_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: DType | None = None,
    device: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """A raised cosine.

    Args:
        periodic: for use in a row, without the last point of the symmetric window. Default: True.

    Raises:
        RuntimeError: for a negative length, or a dtype of integers.
    """

    def shape(places: Array) -> Array:
        return cosines(places, 0.5, -0.5)

    return window(
        "hann_window", window_length, periodic, shape, dtype, requires_grad, device, layout
    )


@public
def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: DType | None = None,
    device: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """``alpha - beta * cos``; otherwise as `hann_window`."""

    def shape(places: Array) -> Array:
        return cosines(places, alpha, -beta)

    return window(
        "hamming_window", window_length, periodic, shape, dtype, requires_grad, device, layout
    )


@public
def blackman_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: DType | None = None,
    device: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """A sum of two cosines; otherwise as `hann_window`."""

    def shape(places: Array) -> Array:
        return cosines(places, 0.42, -0.5, 0.08)

    return window(
        "blackman_window", window_length, periodic, shape, dtype, requires_grad, device, layout
    )


@public
def bartlett_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: DType | None = None,
    device: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """A triangle; otherwise as `hann_window`."""

    def shape(places: Array) -> Array:
        return 1 - np.abs(2 * places - 1)

    return window(
        "bartlett_window", window_length, periodic, shape, dtype, requires_grad, device, layout
    )


@public
def kaiser_window(
    window_length: int,
    periodic: bool = True,
    beta: float = 12.0,
    *,
    dtype: DType | None = None,
    device: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The window of Kaiser, by a Bessel function.

    Args:
        periodic: as for `hann_window`.
        beta: the greater, the narrower. Default: 12.
    """

    def shape(places: Array) -> Array:
        heights = beta * np.sqrt(np.maximum(1 - (2 * places - 1) ** 2, 0))
        return bessel(heights, 0, False) / bessel(np.array(float(beta)), 0, False)

    return window(
        "kaiser_window", window_length, periodic, shape, dtype, requires_grad, device, layout
    )
