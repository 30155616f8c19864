"""Dropout of elements and channels: the same seed drops the same."""

import math
from typing import Any

from tests.answers import given, sessions


def ramp(torch: Any, *shape: int) -> Any:
    return torch.arange(math.prod(shape)).reshape(shape) / 8 + 1


session = sessions(lambda torch: given(torch, ramp))
dropout = session("""
values
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
refusals
    x = ramp(2, 4, 3)
    nn.Dropout1d(1.5), nn.Dropout2d(1.5), nn.Dropout3d(1.5), nn.Dropout2d(0.1, True)
    F.dropout1d(ramp(2, 3, 4, 5)), F.dropout2d(x, 2), F.dropout3d(x, 2), F.dropout1d(x, 2)
    warned(lambda: F.dropout2d(x)), warned(lambda: F.dropout2d(x[0]))
    warned(lambda: F.dropout3d(x)), F.dropout2d(x[0, 0])
    tuple(F.dropout1d(torch.ones(2, 0, 3)).shape)
""")
