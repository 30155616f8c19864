"""Layers: what they are made of, print, compute and refuse."""

from tests.answers import given, sessions
from tests.nn.golden_activation import ramp

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
    x = torch.rand(40, 30)
    for p in (0.1, 0.25, 0.5, 0.9, 1.0):
        bits(F.dropout(x, p)), bits(nn.Dropout(p)(x.t())), bits(nn.Dropout(p)(x.double()))
    layer = nn.Dropout(0.4)
    leaf = torch.ones(10, requires_grad=True)
    out = layer(leaf)
    _ = out.sum().backward()
    _ = layer.eval()
    written = torch.ones(8)
    same = nn.Dropout(0.5, inplace=True)(written) is written
    bits(out), bits(leaf.grad), name_of(out.grad_fn), layer(leaf) is leaf
    nn.Dropout(0.0)(leaf) is leaf, same, bits(written), torch.rand(2), nn.Dropout(1.5)
    F.dropout(x, -0.1), tuple(nn.Dropout()(torch.ones(0, 3)).shape)
batch norm errors
    layer = nn.BatchNorm1d(3)
    layer(torch.ones(3)), layer(torch.ones(2, 3, 4, 5)), layer(torch.ones(2, 4))
    layer(torch.ones(1, 3)), nn.BatchNorm1d(3, eps=-1.0)(torch.ones(2, 3))
    F.batch_norm(torch.ones(2, 3), None, None)
    F.batch_norm(torch.ones(2, 3), torch.ones(2), torch.ones(3))
    F.batch_norm(torch.ones(2, 3), torch.ones(3), torch.ones(3), torch.ones(2))
    F.batch_norm(torch.ones(3), None, None, training=True)
layer norm
    x = ramp(2, 3, 4).sin()
    for layer in (
        nn.LayerNorm(4), nn.LayerNorm((3, 4), 1e-2), nn.LayerNorm(4, bias=False),
        nn.LayerNorm([4], elementwise_affine=False),
    ):
        leaf = x.clone().requires_grad_()
        out = layer(leaf)
        _ = (out * x.cos()).sum().backward()
        grads = slopes(layer.parameters())
        layer, dict(layer.state_dict()), name_of(out.grad_fn), numbers(out), grads
    F.layer_norm(x, (2,)), F.layer_norm(x, (9, 2, 3, 4)), F.layer_norm(x, (4,), torch.ones(2))
    F.layer_norm(x, ()), F.layer_norm(x, (4,), None, torch.ones(2)), F.layer_norm(x, 4)
    F.layer_norm(x.long(), (4,)), nn.LayerNorm(3).normalized_shape
    F.layer_norm(x, (4,), torch.ones(4).double()), nn.LayerNorm([2, 3]).weight.shape
""")
