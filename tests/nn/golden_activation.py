"""The further activations as modules: what they print, compute, draw and refuse."""

import math
from typing import Any

from tests.answers import given, sessions


def ramp(torch: Any, *shape: int) -> Any:
    count = math.prod(shape)
    return (torch.arange(count).reshape(shape) - count / 2) / 3


session = sessions(lambda torch: given(torch, ramp))
activation = session("""
layers
    nn.GLU(), nn.GLU(0), nn.Hardsigmoid(), nn.Hardswish(), nn.Mish(), nn.PReLU(), nn.PReLU(4, 0.3)
in place
    for layer in (
        nn.Hardsigmoid(True), nn.Hardswish(True), nn.Mish(True), nn.ELU(inplace=True),
        nn.SELU(True), nn.LeakyReLU(inplace=True), nn.SiLU(True), nn.Hardtanh(inplace=True),
        nn.ReLU6(True), nn.ReLU(True),
    ):
        leaf = ramp(8).requires_grad_()
        x = leaf * 2
        out = layer(x)
        _ = out.sin().sum().backward()
        node = out.grad_fn
        inner = type(node.next_functions[0][0]).__name__
        [out is x, type(node).__name__, inner, numbers(out), numbers(leaf.grad)], layer(leaf)
gumbel
    for hard in (False, True):
        for dim in (-1, 0):
            x = ramp(3, 4).requires_grad_()
            out = F.gumbel_softmax(x, 0.7, hard, dim=dim)
            _ = (out * ramp(3, 4)).sum().backward()
            numbers(out), numbers(x.grad), name_of(out.grad_fn)
    warned(lambda: F.gumbel_softmax(ramp(2), eps=1e-3)), torch.rand(1)
refusals
    x = torch.ones(2, requires_grad=True)
    whole = torch.ones(2, dtype=torch.int64)
    def backward(function, *args):
        return raised(function(x * -1, *args).sum().backward)
    nn.Hardtanh(2, 1), warned(lambda: nn.Hardtanh(min_value=-3, max_value=2))
    backward(F.elu_, -1.0), backward(F.leaky_relu_, -1.0), F.elu(whole), F.silu(whole)
    F.leaky_relu(whole), F.gelu(whole), F.softplus(whole), F.logsigmoid(whole), F.selu(whole)
    F.hardtanh(whole), F.prelu(x, 0.5), F.prelu(x, torch.ones(3)), F.glu(torch.ones(3)), F.relu_(x)
""")
