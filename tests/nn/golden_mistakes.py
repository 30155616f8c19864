"""Layers and losses that get what they cannot take: arrays, other shapes, other dtypes."""

import re
from typing import Any

import numpy as np

from tests.answers import raised, sessions


def _line(call: Any, *args: Any, **kwargs: Any) -> str:
    """The first line of the error, or the shape of what is returned."""

    def shape() -> Any:
        result = call(*args, **kwargs)
        result = result[0] if isinstance(result, tuple) else result
        return list(result.shape) if hasattr(result, "shape") else type(result).__name__

    return raised(shape).partition("\n")[0]


session = sessions(lambda torch: {"_line": _line, "np": np, "re": re})
mistakes = session("""
options
    # Values that constructors refuse.
    _line(nn.Dropout, "a"), _line(nn.Softmax, "a"), _line(nn.LogSoftmax, 1.5)
integers
    # Windows over integers, and methods of containers without their argument.
    x = torch.ones(2, 3, 4).long()
    pools = [nn.MaxPool1d(2), nn.MaxPool1d(2, return_indices=True), nn.MaxPool2d(2)]
    [_line(pool, given) for pool in pools for given in (x, x.bool())]
    _line(pools[0], None), _line(nn.ModuleList().pop), _line(nn.Sequential().pop)
inputs
    # Of layers: no tensors, other shapes, other dtypes.
    _ = torch.manual_seed(0)
    layers = [
        nn.Linear(4, 2), nn.Conv1d(4, 2, 3), nn.Conv2d(4, 2, 3), nn.ConvTranspose2d(4, 2, 3),
        nn.MaxPool2d(2), nn.BatchNorm1d(4), nn.BatchNorm2d(4), nn.LayerNorm(4), nn.GroupNorm(2, 4),
        nn.InstanceNorm1d(4), nn.Embedding(4, 2), nn.LSTMCell(4, 2), nn.GRUCell(4, 2), nn.ReLU(),
        nn.Tanh(), nn.Sigmoid(), nn.ELU(), nn.SELU(), nn.SiLU(), nn.GELU(), nn.Mish(),
        nn.LeakyReLU(), nn.Softplus(), nn.LogSigmoid(), nn.Hardtanh(), nn.Hardswish(), nn.ReLU6(),
        nn.Hardsigmoid(), nn.Softsign(), nn.Tanhshrink(), nn.PReLU(), nn.Softmax(1),
        nn.LogSoftmax(1), nn.Dropout(), nn.PixelShuffle(2), nn.Flatten(),
        nn.Upsample(scale_factor=2), nn.CircularPad2d(1), nn.RMSNorm(4),
    ]
    given = [
        None, np.ones((3, 4), np.float32), [1.0, 2.0], torch.ones(3), torch.ones(3, 5),
        torch.ones(2, 4, 5), torch.ones(2, 3, 5, 5), torch.ones(3, 4).bool(),
        torch.ones(3, 4).double(), torch.ones(2, 4, 5, 5).double(), torch.ones(3, 5).double(),
    ]
    {repr(m): [_line(m, x) for x in given] for m in layers}
targets
    # Of losses: numbers and arrays for tensors, shapes that differ, integers.
    half = torch.ones(3, 4) / 2
    losses = [
        nn.MSELoss(), nn.L1Loss(), nn.SmoothL1Loss(), nn.HuberLoss(), nn.BCELoss(),
        nn.BCEWithLogitsLoss(), nn.KLDivLoss(reduction="sum"), nn.PoissonNLLLoss(),
        nn.CrossEntropyLoss(), nn.NLLLoss(), nn.HingeEmbeddingLoss(),
    ]
    whole = torch.ones(3, 4).long()
    pairs = [
        (half, 1.0), (None, half), (half, np.ones(3)), (half, torch.ones(4, 4)),
        (torch.tensor(0.5), torch.tensor(1.0)), (half, whole), (half.half(), half.half()),
    ]
    {repr(loss): [_line(loss, *pair) for pair in pairs] for loss in losses}
    for loss in losses[:8]:
        _line(loss, whole, whole), _line(loss, whole, half)
    nn.HuberLoss()(half, half.double()).dtype, nn.HuberLoss()(half.double(), half).dtype
of nothing
    # Norms of batches without samples, and what they learn from them.
    for layer, shape in [
        (nn.BatchNorm1d(4), (0, 4)), (nn.BatchNorm1d(4), (0, 4, 3)), (nn.BatchNorm1d(4), (2, 4, 0)),
        (nn.BatchNorm2d(4, affine=False), (0, 4, 5, 5)), (nn.InstanceNorm1d(4), (0, 4, 3)),
        (nn.InstanceNorm1d(4), (0, 4)), (nn.GroupNorm(2, 4), (0, 4)),
        (nn.GroupNorm(2, 4), (0, 4, 3)), (nn.LayerNorm(4), (0, 4)),
        (nn.BatchNorm1d(4, momentum=None), (0, 4)),
    ]:
        x = torch.ones(shape, requires_grad=True)
        out = layer(x)
        _ = out.sum().backward()
        grads = [p.grad.tolist() for p in layer.parameters()]
        buffers = [b.tolist() for b in layer.buffers()]
        evaluated = list(layer.eval()(x).shape)
        list(out.shape), str(out.dtype), list(x.grad.shape), grads, buffers, evaluated
half norms
    # Gradients of the parameters are in their precision.
    layer = nn.LayerNorm(4)
    x = torch.linspace(-1, 2, 8).reshape(2, 4).half().requires_grad_()
    out = layer(x)
    _ = out.float().pow(2).sum().backward()
    [str(t.dtype) for t in (out, x.grad, layer.weight.grad)] + [numbers(out)]
classes
    # Weights of another dtype; samples that do not count have no gradient, not minus none.
    x = torch.tensor([[0.5, -1.0, 2.0], [1.0, 0.0, 0.5]], requires_grad=True)
    target = torch.tensor([1, 0])
    for kind in (torch.float64, torch.float16, torch.int64):
        for loss in (F.nll_loss, F.cross_entropy):
            loss(x, target, torch.ones(3, dtype=kind))
    F.nll_loss(torch.tensor(1.0), target)
    _ = F.nll_loss(x, target, ignore_index=0).backward()
    told(x.grad)
    _ = F.nll_loss(x, target, torch.tensor([0.0, 1.0, 1.0])).backward()
    told(x.grad)
convolutions
    x, w = torch.ones(1, 3, 4, 4), torch.ones(1, 3, 2, 2)
    F.conv2d(x, torch.ones(1, 3, 2)), F.conv2d(x, torch.ones(3))
    F.conv2d(x[0], torch.ones(1, 3, 2)), F.conv1d(x[0], w), F.conv2d(x, w, dilation=0)
    F.conv2d(x, w, dilation=(1, 0)), F.conv1d(x[0], torch.ones(1, 4, 2), dilation=0)
    F.conv2d(x, w, stride=0), F.conv_transpose2d(x, torch.ones(3, 3, 2))
    raised(F.conv_transpose1d, torch.ones(1, 1, 2), torch.ones(1, 1, 1), padding=1).split(":")[0]
    F.conv2d(x, w, stride=(1, 1, 1)), F.conv2d(x, w, stride=(2,))
    F.conv1d(x[0], torch.ones(1, 4, 2), padding="same")
rows and steps
    # Tables, cells and heads that get what does not fit.
    cell, pair = nn.LSTMCell(3, 4), torch.ones(2, 4)
    heads = nn.MultiheadAttention(8, 2, batch_first=True)
    x = torch.ones(2, 3, 8)
    F.embedding(torch.tensor([True]), torch.ones(2, 2))
    F.embedding(torch.ones(2, 2), torch.tensor([1]))
    F.embedding(torch.tensor([1.0]), torch.ones(2, 2)), cell(torch.ones(2, 3), pair)
    cell(torch.ones(2, 3), 3), cell(torch.ones(2, 3), (pair,)), cell(torch.ones(2, 3), (pair,) * 3)
    heads(x, x[:1], x[:1]), heads(x, x[:1], x), heads(x[:1], x, x, need_weights=False)
    list(heads(x, x[:, :1], x[:, :1])[0].shape), F.adaptive_avg_pool2d(torch.ones(3), 1)
    F.adaptive_avg_pool3d(torch.ones(3), 1), nn.GELU()(3), nn.GELU("tanh")(3), F.selu(3)
    F.softmax(torch.ones(2, 3).long(), 0), F.softmax(torch.arange(3), 0)
    F.log_softmax(torch.ones(2, 3).long(), 0), F.layer_norm(3, (3,))
    F.log_softmax(torch.ones(2, 3).long(), -1), F.rms_norm([1.0], (1,))
random integers
    # Of no dimensions too; common mistakes.
    randint = torch.randint
    randint(9, ()), randint(2, 9, []), randint(9, size=()), randint(2, high=9, size=(2,))
    torch.normal(0.0, 1.0, ()), torch.normal(0.0, 1.0, size=[]), randint(0, 2), randint(2.0, (2,))
    randint(1, 2, 3), randint(2, (1.0,)), randint(torch.tensor(2.0), (1,))
    randint(3, torch.tensor([1, 2])), randint(1.0, 2, (3,)), randint(2, size=3), randint()
    randint(2, (-1,))
names of types
    # What ``print(type(x))`` writes.
    x = torch.ones(2)
    kinds = [type(x), type(x.shape), type(x.dtype), type(x.device), type(nn.Parameter(x))]
    generator = re.sub("0x[0-9a-f]+", "", repr(torch.Generator()))
    class Mine(torch.Tensor):
        pass
    [repr(kind) for kind in kinds], generator, "Mine" in repr(Mine)
""")
