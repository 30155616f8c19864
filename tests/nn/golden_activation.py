"""The further activations as modules: what they print, compute, draw and refuse."""

import math
from typing import Any

from tests.answers import name_of, numbers, raised, warned


def ramp(torch: Any, *shape: int) -> Any:
    count = math.prod(shape)
    return (torch.arange(count).reshape(shape) - count / 2) / 3


def layers(torch: Any) -> list[Any]:
    nn = torch.nn
    return [
        nn.GLU(), nn.GLU(0),
        nn.Hardsigmoid(), nn.Hardswish(), nn.Mish(), nn.PReLU(), nn.PReLU(4, 0.3),
    ]  # fmt: skip


def in_place(torch: Any) -> Any:
    nn = torch.nn
    for layer in (nn.Hardsigmoid(True), nn.Hardswish(True), nn.Mish(True),
                  nn.ELU(inplace=True), nn.SELU(True),
                  nn.LeakyReLU(inplace=True), nn.SiLU(True), nn.Hardtanh(inplace=True),
                  nn.ReLU6(True), nn.ReLU(True)):  # fmt: skip
        leaf = ramp(torch, 8).requires_grad_()
        x = leaf * 2
        out = layer(x)
        out.sin().sum().backward()
        node = out.grad_fn
        inner = type(node.next_functions[0][0]).__name__
        yield from [[out is x, type(node).__name__, inner, numbers(out), numbers(leaf.grad)],
                    raised(layer, leaf)]  # fmt: skip


def gumbel(torch: Any) -> Any:
    F = torch.nn.functional
    for hard in (False, True):
        for dim in (-1, 0):
            x = ramp(torch, 3, 4).requires_grad_()
            out = F.gumbel_softmax(x, 0.7, hard, dim=dim)
            (out * ramp(torch, 3, 4)).sum().backward()
            yield [numbers(out), numbers(x.grad), name_of(out.grad_fn)]
    yield from [warned(lambda: F.gumbel_softmax(ramp(torch, 2), eps=1e-3)), torch.rand(1)]


def refusals(torch: Any) -> Any:
    nn, F, x = torch.nn, torch.nn.functional, torch.ones(2, requires_grad=True)
    whole = torch.ones(2, dtype=torch.int64)

    def backward(function: Any, *args: Any) -> str:
        return raised(function(x * -1, *args).sum().backward)

    return [
        raised(nn.Hardtanh, 2, 1), warned(lambda: nn.Hardtanh(min_value=-3, max_value=2)),
        backward(F.elu_, -1.0),
        backward(F.leaky_relu_, -1.0), raised(F.elu, whole),
        raised(F.silu, whole), raised(F.leaky_relu, whole), raised(F.gelu, whole),
        raised(F.softplus, whole), raised(F.logsigmoid, whole), raised(F.selu, whole),
        F.hardtanh(whole), raised(F.prelu, x, 0.5), raised(F.prelu, x, torch.ones(3)),
        raised(F.glu, torch.ones(3)), raised(F.relu_, x),
    ]  # fmt: skip
