"""Lazy layers: before their first input, at it and after, in state dicts."""

import copy
import warnings
from typing import Any

from tests.answers import numbers, raised


def _model(torch: Any) -> Any:
    warnings.simplefilter("ignore")
    nn = torch.nn
    return nn.Sequential(nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(3))


def before(torch: Any) -> Any:
    m = _model(torch)
    yield repr(m), repr(m[3].weight), repr(m[1].running_mean), list(m.state_dict())
    yield raised(lambda: m[3].weight.shape), raised(lambda: m[3].bias.numel())
    yield m[3].has_uninitialized_params(), torch.nn.parameter.is_lazy(m[3].bias), m[3].in_features
    yield isinstance(m[3], torch.nn.Linear), type(copy.deepcopy(m[3])).__name__


def at_the_first_input(torch: Any) -> Any:
    m = _model(torch)
    parameters = list(m.parameters())
    optimizer = torch.optim.SGD(parameters, lr=0.1)
    y = m(torch.ones(2, 1, 5, 5))
    yield repr(m), y
    y.sum().backward()
    optimizer.step()
    yield parameters[-1] is m[3].bias, type(m[3].weight).__name__, m(torch.ones(2, 1, 5, 5))
    yield [len(part._forward_pre_hooks) for part in m]


def of_every_kind(torch: Any) -> Any:
    warnings.simplefilter("ignore")
    nn = torch.nn
    cases = [
        (nn.LazyLinear(2, bias=False, dtype=torch.float64), (1, 3)),
        (nn.LazyLinear(2).double(), (3,)),
        (nn.LazyConv1d(2, 3, padding=1), (4, 5)),
        (nn.LazyConv3d(2, 1, groups=2), (1, 4, 2, 2, 2)),
        (nn.LazyConvTranspose1d(2, 3), (2, 4, 5)),
        (nn.LazyConvTranspose2d(2, 3), (4, 5, 5)),
        (nn.LazyBatchNorm1d(), (3, 4)),
        (nn.LazyInstanceNorm2d(), (1, 2, 3, 3)),
    ]
    for layer, shape in cases:
        before = repr(layer)
        kind = getattr(layer, "weight", torch.ones(1)).dtype
        x = torch.linspace(-1, 2, torch.Size(shape).numel()).reshape(shape).to(kind)
        yield before, numbers(layer(x)), repr(layer)


def states(torch: Any) -> Any:
    warnings.simplefilter("ignore")
    nn = torch.nn
    lazy, linear = nn.LazyLinear(2), nn.Linear(3, 2)
    yield repr(lazy.load_state_dict(linear.state_dict())), lazy.has_uninitialized_params()
    yield lazy.weight.shape, repr(lazy)
    yield torch.equal(lazy(torch.ones(3)), linear(torch.ones(3))), repr(lazy)
    other = nn.LazyLinear(2)
    yield repr(other.load_state_dict(nn.LazyLinear(2).state_dict()))
    yield other.has_uninitialized_params()
    yield raised(lambda: linear.load_state_dict(nn.LazyLinear(2).state_dict())).split(":")[0]
    yield raised(lambda: nn.LazyConv2d(2, 3)(torch.ones(3)))


def parameters(torch: Any) -> Any:
    warnings.simplefilter("ignore")
    p, b = torch.nn.UninitializedParameter(), torch.nn.UninitializedBuffer()
    yield repr(p), p.requires_grad, repr(b), b.requires_grad
    p.materialize((2, 3))
    b.materialize((4,))
    yield type(p).__name__, p.shape, p.is_leaf, type(b).__name__, b.shape
