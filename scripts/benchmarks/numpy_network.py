"""A classifier of dense layers in bare NumPy; `numpy_by_hand` explains its speed.

A column is a row of the batch: a bias is then added to whole rows. Transposes are views, which the
matrix product reads as they are.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy import add, divide, dot, exp, greater, log, maximum, multiply, subtract

from benchmarks.numpy_by_hand import Trainable, constant
from benchmarks.problems import Array, Network, Step


@dataclass(frozen=True)
class Layer:
    """A dense layer: its parameters and their gradients, input and output, and the output's."""

    weight: Array
    bias: Array
    weight_gradient: Array
    bias_gradient: Array
    input: Array
    out: Array
    gradient: Array


def layers(problem: Network, x: Array, trainable: Trainable) -> list[Layer]:
    """The layers of the network, each reading the output of the one before."""
    made, h = [], x.T
    for i in range(0, len(trainable.parameters), 2):
        weight, bias = trainable.parameters[i : i + 2]
        gw, gb = trainable.gradients[i : i + 2]
        out, gradient = np.empty((2, len(weight), problem.rows), np.float32)
        made.append(Layer(weight, bias[:, None], gw, gb, h, out, gradient))
        h = out
    return made


def forward(hidden: list[Layer]) -> Callable[[], None]:
    """Products, biases and ReLU.

    The maximum is taken with an array of zeros: NumPy vectorizes that, but not with a number.
    """
    work = [(a.weight, a.input, a.bias, a.out, np.zeros_like(a.out)) for a in hidden]

    def run() -> None:
        for weight, h, bias, out, zeros in work:
            dot(weight, h, out)
            add(out, bias, out)
            maximum(out, zeros, out=out)

    return run


def head(last: Layer, classes: Array) -> Step:
    """The last layer and mean(log Σ exp z - z[class]), with the gradient softmax(z) - one-hot.

    The one-hot targets are divided by the number of rows beforehand.
    """
    weight, h, bias, z, gradient = last.weight, last.input, last.bias, last.out, last.gradient
    h_t, weight_gradient, bias_gradient = h.T, last.weight_gradient, last.bias_gradient
    rows = z.shape[1]
    targets = np.zeros_like(z)
    targets[classes, np.arange(rows)] = 1 / rows
    all_z, all_targets, n = z.reshape(-1), targets.reshape(-1), constant(rows)
    ones, shares = np.ones(rows, np.float32), np.full(rows, 1 / rows, np.float32)
    per_class, (totals, buffer) = np.ones(len(z), np.float32), np.empty((2, rows), np.float32)

    def run() -> Any:
        dot(weight, h, z)
        add(z, bias, z)
        maximum.reduce(z, 0, out=buffer)
        subtract(z, buffer, z)
        exp(z, gradient)
        dot(per_class, gradient, totals)
        log(totals, buffer)
        loss = dot(buffer, shares) - dot(all_z, all_targets)
        multiply(totals, n, totals)
        divide(gradient, totals, gradient)
        subtract(gradient, targets, gradient)
        dot(gradient, h_t, weight_gradient)
        dot(gradient, ones, bias_gradient)
        return loss

    return run


def backward(network: list[Layer]) -> Callable[[], None]:
    """From the gradient of the last layer's output to those of all parameters before it."""
    work = [
        (
            above.weight.T,
            above.gradient,
            layer.gradient,
            layer.out,
            np.empty(layer.out.shape, bool),
            layer.input.T,
            layer.weight_gradient,
            layer.bias_gradient,
        )
        for layer, above in pairwise(network)
    ][::-1]
    nought, ones = constant(0), np.ones(network[0].out.shape[1], np.float32)

    def run() -> None:
        for weight_t, above, gradient, out, mask, h_t, weight_gradient, bias_gradient in work:
            dot(weight_t, above, gradient)
            greater(out, nought, mask)
            multiply(gradient, mask, gradient)
            dot(gradient, h_t, weight_gradient)
            dot(gradient, ones, bias_gradient)

    return run


def classifier(problem: Network) -> Step:
    """A step of a network of ReLU layers with softmax cross entropy."""
    x, classes = problem.batch()
    trainable = Trainable(problem.parameters())
    network = layers(problem, x, trainable)
    to_last, at_last = forward(network[:-1]), head(network[-1], classes)
    from_last, update = backward(network), trainable.update

    def step() -> Any:
        to_last()
        loss = at_last()
        from_last()
        update()
        return loss

    return step
