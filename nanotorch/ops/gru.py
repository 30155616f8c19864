"""All steps of a layer of gated recurrent units, as one operation.

For each step, with (r, z, n) the thirds of ``gates`` and of u = h weightᵀ + bias:

    r = s(gates_r + u_r)    z = s(gates_z + u_z)    n = tanh(gates_n + r u_n)    h' = n + z (h - n)

Here s is the sigmoid, computed as s(x) = (1 + tanh(x/2)) / 2.

Reference:
    Cho et al., Learning phrase representations using RNN encoder-decoder for statistical machine
    translation, 2014.
"""

from typing import Any

import numpy as np

from nanotorch._core.op import Array, op
from nanotorch.ops.comparison import vanishing
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
from nanotorch.ops.reduction import sum_along
from nanotorch.ops.shape import reshape, t


def quarters(columns: Any) -> tuple[Any, Any, Any, Any]:
    """The columns in four parts."""
    n = columns.shape[1] // 4
    return columns[:, :n], columns[:, n : 2 * n], columns[:, 2 * n : 3 * n], columns[:, 3 * n :]


def slopes(
    g: Any,
    hidden: Any,
    activated: Any,
    hx: Any,
    weight: Any,
    bias: Any,
    sizes: Sizes,
    reverse: bool,
) -> tuple[Any, ...]:
    """The gradients of all inputs of `gru_steps`; see `lstm.slopes`."""
    g_hidden, g_activated = g
    shape, rows = hidden.shape, activated.shape[0]
    width = shape[-1]
    hidden = reshape(hidden, (rows, width))
    g_hidden = vanishing(hidden) if g_hidden is None else reshape(g_hidden, (rows, width))
    r, z, n, u = quarters(activated)
    before = states_before(hidden, hx, sizes, reverse)
    to_n = (1.0 - z) * (1.0 - n * n)
    factors = cat_along((to_n * u * (r * (1.0 - r)), (before - n) * (z * (1.0 - z)), to_n * r), 1)
    own = None
    if g_activated is not None:  # in the derivative of a derivative
        g_r, g_z, g_n, g_u = quarters(g_activated)
        through = g_n * (1.0 - n * n)
        own_r = (g_r + through * u) * (r * (1.0 - r))
        own = cat_along((own_r, g_z * (z * (1.0 - z)), g_u + through * r), 1)
    back, steps, arrived = Returning(), [], []
    for start, stop in rows_in_order(sizes, not reverse):
        d_h = back.added_to(g_hidden[start:stop])
        arrived.append(d_h)
        count = stop - start
        d = reshape(factors[start:stop], (count, 3, width)) * reshape(d_h, (count, 1, width))
        d = reshape(d, (count, 3 * width))
        if own is not None:
            d = d + own[start:stop]
        steps.append(d)
        back.held = d_h * z[start:stop] + mm(d, weight)
    of_u = cat_along(in_time(steps, reverse), 0)
    of_n = cat_along(in_time(arrived, reverse), 0) * to_n
    if g_activated is not None:
        of_n = of_n + through
    d_gates = cat_along((of_u[:, : 2 * width], of_n), 1)
    return (
        reshape(d_gates, (*shape[:-1], 3 * width)),
        back.initial(),
        mm(t(of_u), before),
        None if bias is None else sum_along(of_u, (0,), False),
    )


@op(
    gates=slopes,
    hx=slopes,
    weight=slopes,
    bias=slopes,
    joint=True,
    results=("hidden", "activated"),
    seen=1,
    method=False,
    public=False,
    node="StackBackward0",
    wide=True,
)
def gru_steps(
    gates: Array,
    hx: Array,
    weight: Array,
    bias: Array | None,
    sizes: Sizes,
    reverse: bool,
) -> tuple[Array, Array]:
    """The states after every step of one layer in one direction.

    Args:
        gates: what the input adds to the gates, (T, N, 3H), or packed (rows, 3H).
        hx: (N, H).
        weight: (3H, H).
        bias: (3H,), or None.
        sizes: rows of each step.
        reverse: begin with the last step.

    Returns:
        Every h, in the shape of ``gates`` but for the last size H; and r, z, n and u_n, (rows, 4H).
    """
    shape, kind, width = gates.shape, gates.dtype, hx.shape[1]
    half = np.full(3 * width, 0.5, kind)
    half[2 * width :] = 1
    scaled = gates.reshape(-1, 3 * width) * half
    matrix = np.ascontiguousarray(weight.T) * half
    shift = None if bias is None else bias * half
    activated = np.empty((len(scaled), 4 * width), kind)
    hidden = np.empty((len(scaled), width), kind)
    h = hx
    for start, stop in rows_in_order(sizes, reverse):
        h = carried(h, stop - start, hx)
        at, inputs, out = activated[start:stop], scaled[start:stop], hidden[start:stop]
        both, n = at[:, : 2 * width], at[:, 2 * width : 3 * width]
        u = h.dot(matrix)
        if shift is not None:
            u += shift
        np.add(u[:, : 2 * width], inputs[:, : 2 * width], out=both)
        np.tanh(both, out=both)
        both *= half[0]
        both += half[0]
        at[:, 3 * width :] = u[:, 2 * width :]
        np.multiply(at[:, :width], u[:, 2 * width :], out=n)
        n += inputs[:, 2 * width :]
        np.tanh(n, out=n)
        np.subtract(h, n, out=out)
        out *= at[:, width : 2 * width]
        out += n
        h = out
    return hidden.reshape((*shape[:-1], width)), activated
