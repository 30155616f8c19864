"""Layers: what they are made of, print, compute and refuse."""

from typing import Any

from tests.answers import bits, name_of, numbers, raised, slopes, warned
from tests.nn.golden_activation import ramp


def linear(torch: Any) -> Any:
    nn = torch.nn
    layer = nn.Linear(3, 2)
    for shape in ((3,), (4, 3), (2, 4, 3), (0, 3)):
        x = ramp(torch, *shape).requires_grad_()
        layer.zero_grad()
        out = layer(x)
        out.sum().backward()
        yield [numbers(out), numbers(x.grad), numbers(layer.weight.grad)]
    plain = nn.Linear(3, 2, bias=False, dtype=torch.float64)
    yield from [
        layer, plain, plain.bias, plain(ramp(torch, 1, 3).double()).dtype,
        raised(layer, ramp(torch, 2, 4)), raised(plain, ramp(torch, 1, 3)),
        raised(layer, torch.ones(1, 3, dtype=torch.int64)),
        raised(nn.Linear, -1, 2), warned(lambda: nn.Linear(0, 2)), list(layer.__dict__)[-2:],
    ]  # fmt: skip


def activations(torch: Any) -> Any:
    nn = torch.nn
    modules = [
        nn.ReLU(), nn.ReLU6(), nn.Tanh(), nn.Sigmoid(), nn.LogSigmoid(), nn.Softsign(),
        nn.Tanhshrink(), nn.Softmax(1), nn.Softmin(1), nn.LogSoftmax(1), nn.LeakyReLU(0.2),
        nn.ELU(0.7), nn.SELU(), nn.GELU(), nn.GELU("tanh"), nn.SiLU(), nn.Softplus(2, 3),
        nn.Hardtanh(-0.5, 2),
    ]  # fmt: skip
    for module in modules:
        for scale in (1.0, 100.0):
            x = (ramp(torch, 3, 4) * scale).requires_grad_()
            out = module(x)
            out.pow(2).sum().backward()
            yield [name_of(out.grad_fn), numbers(out), numbers(x.grad)]


def activation_errors(torch: Any) -> Any:
    nn, x = torch.nn, ramp(torch, 2, 3)
    return [
        warned(lambda: nn.Softmax()(x)), warned(lambda: nn.LogSoftmax()(x[0])),
        warned(lambda: nn.Softmin()(ramp(torch, 2, 2, 2))), warned(
            lambda: nn.functional.softmax(x)), raised(nn.GELU("other"), x),
        raised(nn.Softmax(3), x),
    ]  # fmt: skip


def shapes(torch: Any) -> Any:
    nn, x = torch.nn, ramp(torch, 2, 3, 4)
    return [
        tuple(nn.Flatten()(x).shape), tuple(nn.Flatten(0, 1)(x).shape),
        tuple(nn.Unflatten(1, (3, 1))(x).shape), tuple(nn.Unflatten(-1, [2, -1])(x).shape),
        nn.Identity()(x) is x, raised(nn.Unflatten, 1, 3), raised(nn.Unflatten, 1, (2.0, 2)),
    ]  # fmt: skip


def dropout(torch: Any) -> Any:
    nn, x = torch.nn, torch.rand(40, 30)
    for p in (0.1, 0.25, 0.5, 0.9, 1.0):
        yield from [bits(nn.functional.dropout(x, p)), bits(nn.Dropout(p)(x.t())),
                    bits(nn.Dropout(p)(x.double()))]  # fmt: skip
    layer = nn.Dropout(0.4)
    leaf = torch.ones(10, requires_grad=True)
    out = layer(leaf)
    out.sum().backward()
    layer.eval()
    written = torch.ones(8)
    same = nn.Dropout(0.5, inplace=True)(written) is written
    yield from [
        bits(out), bits(leaf.grad), name_of(out.grad_fn), layer(leaf) is leaf,
        nn.Dropout(0.0)(leaf) is leaf, same, bits(written), torch.rand(2), raised(nn.Dropout, 1.5),
        raised(nn.functional.dropout, x, -0.1), tuple(nn.Dropout()(torch.ones(0, 3)).shape),
    ]  # fmt: skip


def batch_norm_errors(torch: Any) -> Any:
    nn = torch.nn
    layer = nn.BatchNorm1d(3)
    F = nn.functional
    return [
        raised(layer, torch.ones(3)), raised(layer, torch.ones(2, 3, 4, 5)),
        raised(layer, torch.ones(2, 4)), raised(layer, torch.ones(1, 3)),
        raised(nn.BatchNorm1d(3, eps=-1.0), torch.ones(2, 3)),
        raised(F.batch_norm, torch.ones(2, 3), None, None),
        raised(F.batch_norm, torch.ones(2, 3), torch.ones(2), torch.ones(3)),
        raised(F.batch_norm, torch.ones(2, 3), torch.ones(3), torch.ones(3), torch.ones(2)),
        raised(F.batch_norm, torch.ones(3), None, None, training=True),
    ]  # fmt: skip


def layer_norm(torch: Any) -> Any:
    nn = torch.nn
    F, x = nn.functional, ramp(torch, 2, 3, 4).sin()
    for layer in (nn.LayerNorm(4), nn.LayerNorm((3, 4), 1e-2), nn.LayerNorm(4, bias=False),
                  nn.LayerNorm([4], elementwise_affine=False)):  # fmt: skip
        leaf = x.clone().requires_grad_()
        out = layer(leaf)
        (out * x.cos()).sum().backward()
        grads = slopes(layer.parameters())
        yield [layer, dict(layer.state_dict()), name_of(out.grad_fn), numbers(out), grads]
    yield from [
        raised(F.layer_norm, x, (2,)), raised(F.layer_norm, x, (9, 2, 3, 4)),
        raised(F.layer_norm, x, (4,), torch.ones(2)), raised(F.layer_norm, x, ()),
        raised(F.layer_norm, x, (4,), None, torch.ones(2)), raised(F.layer_norm, x, 4),
        raised(F.layer_norm, x.long(), (4,)), nn.LayerNorm(3).normalized_shape,
        raised(F.layer_norm, x, (4,), torch.ones(4).double()), nn.LayerNorm([2, 3]).weight.shape,
    ]  # fmt: skip
