"""All steps of a plain recurrent layer, as one operation: h' = φ(gates + h weightᵀ).

Reference:
    Elman, Finding structure in time, Cognitive Science 1990.
"""

from typing import Any

import numpy as np

from nanotorch._core.op import Array, op
from nanotorch.ops.activation import relu_backward, tanh_backward
from nanotorch.ops.joining import cat_along
from nanotorch.ops.matrix import mm
from nanotorch.ops.recurrence import (
    Returning,
    Sizes,
    carried,
    in_time,
    rows_in_order,
    states_before,
)
from nanotorch.ops.shape import reshape, t


def slopes(
    g: Any, out: Any, hx: Any, weight: Any, nonlinearity: str, sizes: Sizes, reverse: bool
) -> tuple[Any, ...]:
    """The gradients of all inputs of `elman_steps`."""
    shape = out.shape
    hidden, g = reshape(out, (-1, shape[-1])), reshape(g, (-1, shape[-1]))
    slope = tanh_backward if nonlinearity == "tanh" else relu_backward
    back, steps = Returning(), []
    for start, stop in rows_in_order(sizes, not reverse):
        d = slope(back.added_to(g[start:stop]), hidden[start:stop])
        steps.append(d)
        back.held = mm(d, weight)
    d_gates = cat_along(in_time(steps, reverse), 0)
    d_weight = mm(t(d_gates), states_before(hidden, hx, sizes, reverse))
    return reshape(d_gates, shape), back.initial(), d_weight


@op(
    gates=slopes,
    hx=slopes,
    weight=slopes,
    joint=True,
    method=False,
    public=False,
    node="StackBackward0",
    wide=True,
)
def elman_steps(
    gates: Array, hx: Array, weight: Array, nonlinearity: str, sizes: Sizes, reverse: bool
) -> Array:
    """The states after every step of one layer in one direction.

    Args:
        gates: what the input adds, (T, N, H), or packed (rows, H).
        hx: (N, H).
        weight: (H, H).
        nonlinearity: "tanh" or "relu".
        sizes: rows of each step.
        reverse: begin with the last step.

    Returns:
        Every h, in the shape of ``gates``.
    """
    hidden = gates.reshape(-1, gates.shape[-1]).copy()
    matrix = np.ascontiguousarray(weight.T)
    zero = hidden.dtype.type(0)
    h = hx
    for start, stop in rows_in_order(sizes, reverse):
        h = carried(h, stop - start, hx)
        out = hidden[start:stop]
        out += h.dot(matrix)
        if nonlinearity == "tanh":
            np.tanh(out, out=out)
        else:
            np.maximum(out, zero, out=out)
        h = out
    return hidden.reshape(gates.shape)
