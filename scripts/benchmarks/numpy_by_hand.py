"""The small workloads in bare NumPy, as fast as possible: the limit for a library built on it.

Gradients are in closed form, and each result goes into a buffer made beforehand. These means of
speed are used where measurements show a gain: `np.dot`, which is quicker than `np.matmul` on small
matrices; 0-d arrays as constants, quicker than NumPy scalars or Python numbers; outputs as
positional arguments; sums as products with ones; all parameters in one buffer, so that an update
needs four calls. All is float32, so Python's own arithmetic, though quick, cannot be used.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy import absolute, add, dot, exp, log1p, multiply, negative, subtract, tanh

from benchmarks.problems import (
    CLASSIFIER,
    FUNCTION_LR,
    LR,
    MOMENTUM,
    REGRESSION,
    START,
    Array,
    Epoch,
    Step,
    factors,
)


def constant(value: float) -> Array:
    """A float32 number as a 0-d array."""
    return np.array(value, np.float32)


def one_buffer(arrays: list[Array]) -> tuple[Array, list[Array]]:
    """The arrays' elements in one array, and views of it in their shapes."""
    buffer = np.concatenate([array.ravel() for array in arrays])
    views, start = [], 0
    for array in arrays:
        views.append(buffer[start : start + array.size].reshape(array.shape))
        start += array.size
    return buffer, views


class Trainable:
    """Parameters, their gradients, and SGD with momentum.

    Attributes:
        parameters, gradients: views, in the shapes of the arrays given.
        update: does a step; it overwrites the gradients.
    """

    def __init__(self, arrays: list[Array], lr: float = LR) -> None:
        p, self.parameters = one_buffer(arrays)
        g, self.gradients = one_buffer([np.zeros_like(array) for array in arrays])
        self.update = momentum(p, g, lr)


def momentum(p: Array, g: Array, lr: float) -> Callable[[], None]:
    """v ← momentum · v + g, then p ← p - lr · v."""
    v, kept, rate = np.zeros_like(p), constant(MOMENTUM), constant(lr)

    def update() -> None:
        multiply(v, kept, v)
        add(v, g, v)
        multiply(v, rate, g)
        subtract(p, g, p)

    return update


def funcmin() -> Step:
    """f(x) = |x - t|², with the gradient 2 (x - t)."""
    trainable = Trainable([np.array(START, np.float32)], FUNCTION_LR)
    (x,), (g,) = trainable.parameters, trainable.gradients
    update, t, two = trainable.update, np.array([0, 1], np.float32), constant(2)

    def step() -> Any:
        subtract(x, t, g)
        loss = dot(g, g)
        multiply(g, two, g)
        update()
        return loss

    return step


def rosenbrock() -> Step:
    """With r = x - (1, x0²) and s = (2 r0, 200 r1): f = r·s / 2, gradient (s0 - 2 x0 s1, s1)."""
    trainable = Trainable([np.array(START, np.float32)], FUNCTION_LR)
    (x,), (g,) = trainable.parameters, trainable.gradients
    update, half = trainable.update, np.float32(0.5)
    t, r, product = np.ones(2, np.float32), np.empty(2, np.float32), np.empty(1, np.float32)
    x0, t1, g0, g1 = x[:1], t[1:], g[:1], g[1:]
    weights = np.array([2, 200], np.float32)

    def step() -> Any:
        multiply(x0, x0, t1)
        subtract(x, t, r)
        multiply(r, weights, g)
        loss = dot(r, g) * half
        multiply(x0, g1, product)
        add(product, product, product)
        subtract(g0, product, g0)
        update()
        return loss

    return step


def squares(trainable: Trainable) -> Callable[..., Any]:
    """The mean squared error of a linear model, its gradients, and the update."""
    (weight, b), (gw, gb) = trainable.parameters, trainable.gradients
    w, gradient, update, half = weight[0], gw[0], trainable.update, np.float32(0.5)

    def run(x: Array, y: Array, error: Array, scaled: Array, ones: Array, share: Array) -> Any:
        dot(x, w, error)
        add(error, b, error)
        subtract(error, y, error)
        multiply(error, share, scaled)
        loss = dot(error, scaled) * half
        dot(scaled, x, gradient)
        dot(ones, scaled, gb)
        update()
        return loss

    return run


def buffers(rows: int) -> tuple[Array, ...]:
    """The buffers of `squares` for a batch of ``rows`` rows."""
    error, scaled = np.empty((2, rows), np.float32)
    return error, scaled, np.ones((1, rows), np.float32), constant(2 / rows)


def regression() -> Step:
    """Linear regression."""
    x, y = REGRESSION.batch()
    run, target = squares(Trainable(REGRESSION.parameters())), y[:, 0]
    error, scaled, ones, share = buffers(REGRESSION.rows)
    return lambda: run(x, target, error, scaled, ones, share)


def cross_entropy(y: Array) -> tuple[Array, Array, Step]:
    """Binary cross entropy of logits, the mean over a batch.

    With p the probability that logit z stands for, the loss -y log p - (1 - y) log (1 - p) is
    log(1 + exp(-|z|)) + |z| / 2 + (1/2 - y) z: one product of what `terms` holds with `shares`. Its
    gradient p - y is tanh(z / 2) / 2 + 1/2 - y.

    Returns:
        A row for the logits, a row for their gradient, and the function that computes that and the
        loss.
    """
    rows = len(y)
    terms, shares = np.empty((2, 3, rows), np.float32)
    shares[:] = np.array([[1], [0.5], [0.5]]) / rows
    shares[2] -= y / rows
    (logs, size, z), offset, gradient = terms, shares[2], np.empty((1, rows), np.float32)
    all_terms, all_shares, delta = terms.ravel(), shares.ravel(), gradient[0]
    half, half_share = constant(0.5), constant(0.5 / rows)

    def run() -> Any:
        absolute(z, size)
        negative(size, logs)
        exp(logs, logs)
        log1p(logs, logs)
        multiply(z, half, delta)
        tanh(delta, delta)
        multiply(delta, half_share, delta)
        add(delta, offset, delta)
        return dot(all_terms, all_shares)

    return terms[2:], gradient, run


def classifier() -> Step:
    """Two hidden layers of tanh, binary cross entropy of logits.

    A column is a row of the batch: then the layers of bias and tanh run along the longer axis.
    """
    rows, hidden = CLASSIFIER.rows, CLASSIFIER.widths[1]
    x, y = CLASSIFIER.batch()
    z, d3, loss_of_z = cross_entropy(y[:, 0])
    trainable = Trainable(CLASSIFIER.parameters())
    w1, b1, w2, b2, w3, b3 = trainable.parameters
    gw1, gb1, gw2, gb2, gw3, gb3 = trainable.gradients
    update, xt, c1, c2, w2t, w3t = trainable.update, x.T, b1[:, None], b2[:, None], w2.T, w3.T
    h1, h2, d1, d2 = np.empty((4, hidden, rows), np.float32)
    h1t, h2t, ones, one = h1.T, h2.T, np.ones(rows, np.float32), constant(1)

    def step() -> Any:
        dot(w1, xt, h1)
        add(h1, c1, h1)
        tanh(h1, h1)
        dot(w2, h1, h2)
        add(h2, c2, h2)
        tanh(h2, h2)
        dot(w3, h2, z)
        add(z, b3, z)
        loss = loss_of_z()
        dot(d3, h2t, gw3)
        dot(d3, ones, gb3)
        dot(w3t, d3, d2)
        multiply(h2, h2, h2)
        subtract(one, h2, h2)
        multiply(d2, h2, d2)
        dot(d2, h1t, gw2)
        dot(d2, ones, gb2)
        dot(w2t, d2, d1)
        multiply(h1, h1, h1)
        subtract(one, h1, h1)
        multiply(d1, h1, d1)
        dot(d1, x, gw1)
        dot(d1, ones, gb1)
        update()
        return loss

    return step


def chain(length: int) -> Step:
    """A product with the same factors, forward and backward, in place."""
    start, factor = factors()
    trainable = Trainable([start])
    (x,), (g,) = trainable.parameters, trainable.gradients
    update, h, ones = trainable.update, np.empty_like(x), np.ones(x.size, np.float32)
    flat = h.ravel()

    def step() -> Any:
        multiply(x, factor, h)
        for _ in range(length - 1):
            multiply(h, factor, h)
        loss = dot(flat, ones)
        g.fill(1)
        for _ in range(length):
            multiply(g, factor, g)
        update()
        return loss

    return step


class Slices:
    """A loader: slices of the arrays, which are permuted first if it shuffles."""

    def __init__(self, problem: Epoch) -> None:
        self.problem, self.arrays = problem, problem.data()
        self.generator = np.random.default_rng(0)

    def __iter__(self) -> Iterator[tuple[Array, Array]]:
        (x, y), size = self.arrays, self.problem.batch
        if self.problem.shuffled:
            order = self.generator.permutation(len(x))
            x, y = x.take(order, 0), y.take(order, 0)
        for start in range(0, len(x), size):
            yield x[start : start + size], y[start : start + size]


def training_epoch(problem: Epoch) -> Step:
    """A step of linear regression on every batch."""
    run, loader = squares(Trainable(problem.parameters())), Slices(problem)
    made = {rows: buffers(rows) for rows in {problem.batch, problem.rows % problem.batch}}

    def train() -> Any:
        for x, y in loader:
            loss = run(x, y[:, 0], *made[len(x)])
        return loss

    return train
