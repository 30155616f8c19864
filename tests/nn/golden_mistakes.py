"""Layers and losses that get what they cannot take: arrays, other shapes, other dtypes."""

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


session = sessions(lambda torch: {"_line": _line, "np": np})
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
""")
