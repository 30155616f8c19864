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
from nanotorch._core.tensor import Tensor
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


@op(method=False, public=False, results=("d_gates", "d_hx", "d_cx"), wide=True)
def sweep_back(
    g_hidden: Array,
    g_cells: Array | None,
    activated: Array,
    squashed: Array,
    before: Array,
    weight: Array,
    sizes: Sizes,
    reverse: bool,
) -> tuple[Array, Array, Array]:
    """What `slopes` composes, for sequences of one length without projection, bit by bit.

    Args:
        squashed: tanh(c) after every step.
        before: c before every step.
    """
    width, count = before.shape[1], sizes[0]
    one = activated.dtype.type(1)
    i, f, m, o = quarters(activated)
    d_gates = one - activated
    d_gates *= activated
    of_i, of_f, of_m, of_o = quarters(d_gates)
    of_i *= m
    of_f *= before
    np.multiply(m, m, out=of_m)
    np.subtract(one, of_m, out=of_m)
    of_m *= i
    of_o *= squashed
    to_cells = squashed * squashed
    np.subtract(one, to_cells, out=to_cells)
    to_cells *= o
    back_h, back_c, d_h, d_c = (np.zeros((count, width), weight.dtype) for _ in range(4))
    for number, (start, stop) in enumerate(rows_in_order(sizes, not reverse)):
        np.copyto(d_h, g_hidden[start:stop])
        if number:
            d_h += back_h
        np.multiply(d_h, to_cells[start:stop], out=d_c)
        if g_cells is not None:
            d_c += g_cells[start:stop]
        if number:
            d_c += back_c
        d = d_gates[start:stop]
        parts = d.reshape(count, 4, width)
        parts[:, :3] *= d_c[:, None]
        parts[:, 3] *= d_h
        np.matmul(d, weight, out=back_h)
        np.multiply(d_c, f[start:stop], out=back_c)
    return d_gates, back_h, back_c


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
    """The gradients of all inputs of `lstm_steps`."""
    g_hidden, g_cells, g_activated = g
    shape, rows = hidden.shape, cells.shape[0]
    hidden = reshape(hidden, (rows, shape[-1]))
    g_hidden = vanishing(hidden) if g_hidden is None else reshape(g_hidden, (rows, shape[-1]))
    squashed, before = tanh(cells), states_before(cells, cx, sizes, reverse)
    d_projection = None
    single = isinstance(cells, Tensor) or g_activated is not None or projection is not None
    if single or sizes[0] != sizes[-1]:
        d_gates, d_hx, d_cx, outputs = composed(
            g_hidden, g_cells, g_activated, activated, squashed, before, weight, projection,
            sizes, reverse,
        )  # fmt: skip
        if projection is not None:
            d_projection = mm(t(outputs), quarters(activated)[3] * squashed)
    else:
        d_gates, d_hx, d_cx = sweep_back(
            g_hidden, g_cells, activated, squashed, before, weight, sizes, reverse
        )
    d_weight = mm(t(d_gates), states_before(hidden, hx, sizes, reverse))
    d_gates = reshape(d_gates, (*shape[:-1], activated.shape[1]))
    return d_gates, d_hx, d_cx, d_weight, d_projection


def composed(
    g_hidden: Any,
    g_cells: Any,
    g_activated: Any,
    activated: Any,
    squashed: Any,
    before: Any,
    weight: Any,
    projection: Any,
    sizes: Sizes,
    reverse: bool,
) -> tuple[Any, Any, Any, Any]:
    """The gradients of gates, hx and cx, from operations; and those of h before projection.

    Going back, the gradients of the gates' inputs are those of a step's h and c times factors,
    which are made for all steps in advance.
    """
    i, f, m, o = quarters(activated)
    width = i.shape[1]
    to_cells = o * (1.0 - squashed * squashed)
    of_i, of_f = m * (i * (1.0 - i)), before * (f * (1.0 - f))
    of_m, of_o = i * (1.0 - m * m), squashed * (o * (1.0 - o))
    of_cells = cat_along((of_i, of_f, of_m), 1)
    own = None
    if g_activated is not None:  # in the derivative of a derivative
        own = g_activated * cat_along((i * (1.0 - i), f * (1.0 - f), 1.0 - m * m, o * (1.0 - o)), 1)
    back_h, back_c, steps, outputs = Returning(), Returning(), [], []
    for start, stop in rows_in_order(sizes, not reverse):
        d_h = back_h.added_to(g_hidden[start:stop])
        outputs.append(d_h)
        if projection is not None:
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
    return d_gates, back_h.initial(), back_c.initial(), cat_along(in_time(outputs, reverse), 0)


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
    wide=True,
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
