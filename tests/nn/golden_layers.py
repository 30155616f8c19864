"""Layers: what they are made of, print, compute and refuse."""

import math
from typing import Any

from tests.answers import given, sessions


def ramp(torch: Any, *shape: int) -> Any:
    count = math.prod(shape)
    return (torch.arange(count).reshape(shape) - count / 2) / 3


session = sessions(lambda torch: given(torch, ramp))
layers = session("""
linear
    layer = nn.Linear(3, 2)
    for shape in ((3,), (4, 3), (2, 4, 3), (0, 3)):
        x = ramp(*shape).requires_grad_()
        _ = layer.zero_grad()
        out = layer(x)
        _ = out.sum().backward()
        numbers(out), numbers(x.grad), numbers(layer.weight.grad)
    plain = nn.Linear(3, 2, bias=False, dtype=torch.float64)
    layer, plain, plain.bias, plain(ramp(1, 3).double()).dtype, layer(ramp(2, 4)), plain(ramp(1, 3))
    layer(torch.ones(1, 3, dtype=torch.int64)), nn.Linear(-1, 2), warned(lambda: nn.Linear(0, 2))
    list(layer.__dict__)[-2:]
activations
    modules = [
        nn.ReLU(), nn.ReLU6(), nn.Tanh(), nn.Sigmoid(), nn.LogSigmoid(), nn.Softsign(),
        nn.Tanhshrink(), nn.Softmax(1), nn.Softmin(1), nn.LogSoftmax(1), nn.LeakyReLU(0.2),
        nn.ELU(0.7), nn.SELU(), nn.GELU(), nn.GELU("tanh"), nn.SiLU(), nn.Softplus(2, 3),
        nn.Hardtanh(-0.5, 2),
    ]
    for module in modules:
        for scale in (1.0, 100.0):
            x = (ramp(3, 4) * scale).requires_grad_()
            out = module(x)
            _ = out.pow(2).sum().backward()
            name_of(out.grad_fn), numbers(out), numbers(x.grad)
gates
    nn.GLU(), nn.GLU(0), nn.Hardsigmoid(), nn.Hardswish(), nn.Mish(), nn.PReLU(), nn.PReLU(4, 0.3)
activations in place
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
thresholds and shrinkage
    modules = [
        nn.CELU(), nn.CELU(0.5), nn.Hardshrink(), nn.Hardshrink(0.2), nn.Softshrink(0.3),
        nn.Threshold(0.1, 20), nn.RReLU().eval(), nn.RReLU(0.1, 0.3).eval(),
    ]
    for module in modules:
        x = ramp(3, 4).requires_grad_()
        out = module(x)
        _ = out.pow(2).sum().backward()
        repr(module), name_of(out.grad_fn), numbers(out), numbers(x.grad)
    for layer in (nn.CELU(0.5, True), nn.Threshold(0.1, -3.0, True), nn.RReLU(inplace=True)):
        leaf = ramp(8).requires_grad_()
        x = leaf * 2
        out = layer.eval()(x)
        _ = out.sin().sum().backward()
        repr(layer), out is x, name_of(out.grad_fn), numbers(out), numbers(leaf.grad)
    for shape in ((2, 3, 1, 2), (3, 2, 2)):
        numbers(nn.Softmax2d()(ramp(*shape)))
    nn.Softmax2d(), nn.Softmax2d()(ramp(3, 4)), nn.Threshold(1.0), nn.CELU(0)(x), F.celu(x, 0)
    nn.Softshrink(-1)(x), nn.RReLU(0.5, 0.1)(x), nn.RReLU(0.1, float("inf"))(x)
random slopes
    for dtype in (torch.float32, torch.float64):
        for x in (ramp(5, 7), ramp(7, 5).t(), ramp(3), ramp(0)):
            x = x.to(dtype).detach().requires_grad_()
            out = nn.RReLU()(x)
            _ = out.sum().backward()
            name_of(out.grad_fn), bits(out), bits(x.grad)
        y = ramp(9).to(dtype)
        F.rrelu_(y, 0.1, 0.9, True) is y, bits(y), bits(torch.rand(2))
dropout after selu
    for kind, shape in ((nn.AlphaDropout, (5, 6)), (nn.FeatureAlphaDropout, (3, 4, 2))):
        for p in (0.0, 0.3, 1.0):
            for x in (ramp(*shape), ramp(*shape).double(), ramp(*reversed(shape)).mT):
                leaf = x.detach().requires_grad_()
                out = kind(p)(leaf)
                _ = out.sum().backward()
                name_of(out.grad_fn), numbers(out), numbers(leaf.grad), out is leaf
        repr(kind(0.2, True)), kind().eval()(leaf) is leaf, bits(torch.rand(2)), kind(1.5)
    y = ramp(6)
    F.alpha_dropout(y, 0.5, True, True) is y, numbers(y), F.alpha_dropout(y, -1.0)
    F.feature_alpha_dropout(y, 0.5, True), F.alpha_dropout(torch.ones(2).long(), 0.5, True)
bilinear
    layer = nn.Bilinear(2, 3, 4)
    a, b = ramp(5, 2).requires_grad_(), ramp(5, 3).requires_grad_()
    out = layer(a, b)
    _ = out.sum().backward()
    numbers(out), numbers([a.grad, b.grad, *(p.grad for p in layer.parameters())])
    repr(layer), repr(nn.Bilinear(1, 2, 3, bias=False)), list(layer.state_dict())
    numbers(layer.parameters()), nn.Bilinear(0, 1, 1), layer(a, a), layer(a[0], b), layer(a, b[:2])
gumbel
    for hard in (False, True):
        for dim in (-1, 0):
            x = ramp(3, 4).requires_grad_()
            out = F.gumbel_softmax(x, 0.7, hard, dim=dim)
            _ = (out * ramp(3, 4)).sum().backward()
            numbers(out), numbers(x.grad), name_of(out.grad_fn)
    warned(lambda: F.gumbel_softmax(ramp(2), eps=1e-3)), torch.rand(1)
refusals of activations
    x = torch.ones(2, requires_grad=True)
    whole = torch.ones(2, dtype=torch.int64)
    def backward(function, *args):
        return raised(function(x * -1, *args).sum().backward)
    nn.Hardtanh(2, 1), warned(lambda: nn.Hardtanh(min_value=-3, max_value=2))
    backward(F.elu_, -1.0), backward(F.leaky_relu_, -1.0), F.elu(whole), F.silu(whole)
    F.leaky_relu(whole), F.gelu(whole), F.softplus(whole), F.logsigmoid(whole), F.selu(whole)
    F.hardtanh(whole), F.prelu(x, 0.5), F.prelu(x, torch.ones(3)), F.glu(torch.ones(3)), F.relu_(x)
    F.leaky_relu(x, None), F.leaky_relu(x, "a"), F.leaky_relu(x / 0, 1e-50), F.leaky_relu(x, 2)
activation errors
    x = ramp(2, 3)
    warned(lambda: nn.Softmax()(x)), warned(lambda: nn.LogSoftmax()(x[0]))
    warned(lambda: nn.Softmin()(ramp(2, 2, 2))), warned(lambda: F.softmax(x)), nn.GELU("other")(x)
    nn.Softmax(3)(x)
shapes
    x = ramp(2, 3, 4)
    tuple(nn.Flatten()(x).shape), tuple(nn.Flatten(0, 1)(x).shape)
    tuple(nn.Unflatten(1, (3, 1))(x).shape), tuple(nn.Unflatten(-1, [2, -1])(x).shape)
    nn.Identity()(x) is x, nn.Unflatten(1, 3), nn.Unflatten(1, (2.0, 2))
dropout
    x, leaf, written = torch.rand(4, 3), torch.ones(10, requires_grad=True), torch.ones(8)
    bits(F.dropout(x, 0.3)), bits(nn.Dropout(0.3)(x.t()))
    nn.Dropout(0.5, inplace=True)(written) is written, bits(written), nn.Dropout().eval()(leaf)
    nn.Dropout(1.5), F.dropout(x, -0.1), tuple(nn.Dropout()(torch.ones(0, 3)).shape)
dropout of all kinds
    for kind, shape in (
        (nn.Dropout1d, (3, 4, 5)), (nn.Dropout1d, (4, 5)), (nn.Dropout2d, (3, 4, 2, 3)),
        (nn.Dropout2d, (3, 4, 5)), (nn.Dropout2d, (3, 4)), (nn.Dropout3d, (3, 4, 2, 1, 2)),
        (nn.Dropout3d, (4, 2, 1, 2)), (nn.Dropout3d, (4, 2, 3)), (nn.Dropout, (5, 6)),
    ):
        for p in (0.0, 0.3, 0.5, 0.9, 1.0):
            for x in (ramp(*shape), ramp(*shape).double()):
                leaf = x.requires_grad_()
                out = kind(p)(leaf)
                _ = out.sum().backward()
                type(out.grad_fn).__name__, numbers(out), numbers(leaf.grad), out is leaf
        bits(torch.rand(2))
refusals of dropout
    x = ramp(2, 4, 3)
    nn.Dropout1d(1.5), nn.Dropout2d(1.5), nn.Dropout3d(1.5), nn.Dropout2d(0.1, True)
    F.dropout1d(ramp(2, 3, 4, 5)), F.dropout2d(x, 2), F.dropout3d(x, 2), F.dropout1d(x, 2)
    warned(lambda: F.dropout2d(x)), warned(lambda: F.dropout2d(x[0]))
    warned(lambda: F.dropout3d(x)), F.dropout2d(x[0, 0])
    tuple(F.dropout1d(torch.ones(2, 0, 3)).shape)
""")
