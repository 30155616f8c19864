"""Lazy layers: before their first input, at it and after, in state dicts."""

import copy
import warnings
from typing import Any

from tests.answers import given, sessions


def _model(torch: Any) -> Any:
    warnings.simplefilter("ignore")
    nn = torch.nn
    return nn.Sequential(nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(3))


session = sessions(lambda torch: given(torch, _model, copy=copy))
lazy = session("""
before
    m = _model()
    repr(m), repr(m[3].weight), repr(m[1].running_mean), list(m.state_dict()), m[3].weight.shape
    m[3].bias.numel(), m[3].has_uninitialized_params(), torch.nn.parameter.is_lazy(m[3].bias)
    m[3].in_features, isinstance(m[3], nn.Linear), type(copy.deepcopy(m[3])).__name__
at the first input
    m = _model()
    parameters = list(m.parameters())
    optimizer = torch.optim.SGD(parameters, lr=0.1)
    y = m(torch.ones(2, 1, 5, 5))
    repr(m), y
    _ = y.sum().backward()
    _ = optimizer.step()
    parameters[-1] is m[3].bias, type(m[3].weight).__name__, m(torch.ones(2, 1, 5, 5))
    [len(part._forward_pre_hooks) for part in m]
of every kind
    _ = warnings.simplefilter("ignore")
    cases = [
        (nn.LazyLinear(2, bias=False, dtype=torch.float64), (1, 3)),
        (nn.LazyLinear(2).double(), (3,)), (nn.LazyConv1d(2, 3, padding=1), (4, 5)),
        (nn.LazyConv3d(2, 1, groups=2), (1, 4, 2, 2, 2)), (nn.LazyConvTranspose1d(2, 3), (2, 4, 5)),
        (nn.LazyConvTranspose2d(2, 3), (4, 5, 5)), (nn.LazyBatchNorm1d(), (3, 4)),
        (nn.LazyInstanceNorm2d(), (1, 2, 3, 3)),
    ]
    for layer, shape in cases:
        before = repr(layer)
        kind = getattr(layer, "weight", torch.ones(1)).dtype
        x = torch.linspace(-1, 2, torch.Size(shape).numel()).reshape(shape).to(kind)
        before, numbers(layer(x)), repr(layer)
states
    _ = warnings.simplefilter("ignore")
    lazy, linear = nn.LazyLinear(2), nn.Linear(3, 2)
    repr(lazy.load_state_dict(linear.state_dict())), lazy.has_uninitialized_params()
    lazy.weight.shape, repr(lazy), torch.equal(lazy(torch.ones(3)), linear(torch.ones(3)))
    repr(lazy)
    other = nn.LazyLinear(2)
    repr(other.load_state_dict(nn.LazyLinear(2).state_dict())), other.has_uninitialized_params()
    raised(lambda: linear.load_state_dict(nn.LazyLinear(2).state_dict())).split(":")[0]
    nn.LazyConv2d(2, 3)(torch.ones(3))
parameters
    _ = warnings.simplefilter("ignore")
    p, b = nn.UninitializedParameter(), nn.UninitializedBuffer()
    repr(p), p.requires_grad, repr(b), b.requires_grad
    _ = p.materialize((2, 3))
    _ = b.materialize((4,))
    type(p).__name__, p.shape, p.is_leaf, type(b).__name__, b.shape
""")
