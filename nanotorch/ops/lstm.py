"""All steps of a layer of long short-term memory, as one operation.

For each step, with the gates' inputs (i, f, g, o) = gates + h weightᵀ:

    c' = s(f) c + s(i) tanh(g)        h' = s(o) tanh(c')        or, projected, h' = ... projectionᵀ

Here s is the sigmoid, computed as s(x) = (1 + tanh(x/2)) / 2, so that one call of tanh serves all
four.

Reference:
    Hochreiter and Schmidhuber, Long short-term memory, Neural Computation 1997; with forget gates
    of Gers et al., Learning to forget, 2000; with projections of Sak et al., 2014.
"""

from typing import Any

import numpy as np

from nanotorch._core.op import Array, op
from nanotorch.ops.activation import tanh
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
from nanotorch.ops.shape import reshape, t


def quarters(gates: Any) -> tuple[Any, Any, Any, Any]:
    """The columns of the four gates."""
    n = gates.shape[1] // 4
    return gates[:, :n], gates[:, n : 2 * n], gates[:, 2 * n : 3 * n], gates[:, 3 * n :]


def slopes(
    g: Any,
    hidden: Any,
    cells: Any,
    activated: Any,
    hx: Any,
    cx: Any,
    weight: Any,
    projection: Any,
    sizes: Sizes,
    reverse: bool,
) -> tuple[Any, ...]:
    """The gradients of all inputs of `lstm_steps`.

    Going back, the gradients of the gates' inputs are those of a step's h and c times factors,
    which are made for all steps in advance.
    """
    g_hidden, g_cells, g_activated = g
    shape, rows = hidden.shape, cells.shape[0]
    hidden = reshape(hidden, (rows, shape[-1]))
    g_hidden = vanishing(hidden) if g_hidden is None else reshape(g_hidden, (rows, shape[-1]))
    i, f, m, o = quarters(activated)
    squashed, before = tanh(cells), states_before(cells, cx, sizes, reverse)
    to_cells = o * (1.0 - squashed * squashed)
    of_i, of_f = m * (i * (1.0 - i)), before * (f * (1.0 - f))
    of_m, of_o = i * (1.0 - m * m), squashed * (o * (1.0 - o))
    of_cells = cat_along((of_i, of_f, of_m), 1)
    own = None
    if g_activated is not None:  # in the derivative of a derivative
        own = g_activated * cat_along((i * (1.0 - i), f * (1.0 - f), 1.0 - m * m, o * (1.0 - o)), 1)
    width = i.shape[1]
    back_h, back_c, steps, outputs = Returning(), Returning(), [], []
    for start, stop in rows_in_order(sizes, not reverse):
        d_h = back_h.added_to(g_hidden[start:stop])
        if projection is not None:
            outputs.append(d_h)
            d_h = mm(d_h, projection)
        d_c = d_h * to_cells[start:stop]
        d_c = back_c.added_to(d_c if g_cells is None else d_c + g_cells[start:stop])
        count = stop - start
        thrice = reshape(of_cells[start:stop], (count, 3, width)) * reshape(d_c, (count, 1, width))
        d = cat_along((reshape(thrice, (count, 3 * width)), d_h * of_o[start:stop]), 1)
        if own is not None:
            d = d + own[start:stop]
        steps.append(d)
        back_h.held, back_c.held = mm(d, weight), d_c * f[start:stop]
    d_gates = cat_along(in_time(steps, reverse), 0)
    d_weight = mm(t(d_gates), states_before(hidden, hx, sizes, reverse))
    d_projection = None
    if projection is not None:
        d_projection = mm(t(cat_along(in_time(outputs, reverse), 0)), o * squashed)
    d_gates = reshape(d_gates, (*shape[:-1], 4 * width))
    return d_gates, back_h.initial(), back_c.initial(), d_weight, d_projection


@op(
    gates=slopes,
    hx=slopes,
    cx=slopes,
    weight=slopes,
    projection=slopes,
    joint=True,
    results=("hidden", "cells", "activated"),
    method=False,
    public=False,
    node="MkldnnRnnLayerBackward0",
)
def lstm_steps(
    gates: Array,
    hx: Array,
    cx: Array,
    weight: Array,
    projection: Array | None,
    sizes: Sizes,
    reverse: bool,
) -> tuple[Array, Array, Array]:
    """The states after every step of one layer in one direction.

    Args:
        gates: what the input adds to the gates, (T, N, 4H), or packed (rows, 4H).
        hx: (N, P), where P = H without projection.
        cx: (N, H).
        weight: (4H, P).
        projection: (P, H), or None.
        sizes: rows of each step.
        reverse: begin with the last step.

    Returns:
        Every h, in the shape of ``gates`` but for the last size P; every c, (rows, H); and the
        activated gates, (rows, 4H).
    """
    shape, kind, width = gates.shape, gates.dtype, cx.shape[1]
    # tanh(x/2) for all gates but g, with the factor in front of the loop.
    half = np.full(4 * width, 0.5, kind)
    half[2 * width : 3 * width] = 1
    rest = np.full(4 * width, 0.5, kind)
    rest[2 * width : 3 * width] = 0
    activated = gates.reshape(-1, 4 * width) * half
    matrix = np.ascontiguousarray(weight.T) * half
    rows = len(activated)
    cells = np.empty((rows, width), kind)
    hidden = np.empty((rows, len(weight[0])), kind)
    h, c = hx, cx
    for start, stop in rows_in_order(sizes, reverse):
        h, c = carried(h, stop - start, hx), carried(c, stop - start, cx)
        at, out, cell = activated[start:stop], hidden[start:stop], cells[start:stop]
        at += h.dot(matrix)
        np.tanh(at, out=at)
        at *= half
        at += rest
        i, f, m, o = quarters(at)
        np.multiply(f, c, out=cell)
        cell += i * m
        if projection is None:
            np.tanh(cell, out=out)
            out *= o
        else:
            np.matmul(o * np.tanh(cell), projection.T, out=out)
        h, c = out, cell
    return hidden.reshape((*shape[:-1], hidden.shape[1])), cells, activated
