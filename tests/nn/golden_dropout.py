"""Dropout of elements and channels: the same seed drops the same."""

import math
from typing import Any

from tests.answers import bits, numbers, raised, warned


def ramp(torch: Any, *shape: int) -> Any:
    return torch.arange(math.prod(shape)).reshape(shape) / 8 + 1


def kinds(torch: Any) -> list[Any]:
    """Each with the shape of an input."""
    nn = torch.nn
    return [
        (nn.Dropout1d, (3, 4, 5)), (nn.Dropout1d, (4, 5)), (nn.Dropout2d, (3, 4, 2, 3)),
        (nn.Dropout2d, (3, 4, 5)), (nn.Dropout2d, (3, 4)), (nn.Dropout3d, (3, 4, 2, 1, 2)),
        (nn.Dropout3d, (4, 2, 1, 2)), (nn.Dropout3d, (4, 2, 3)), (nn.Dropout, (5, 6)),
    ]  # fmt: skip


def values(torch: Any) -> Any:
    for kind, shape in kinds(torch):
        for p in (0.0, 0.3, 0.5, 0.9, 1.0):
            for x in (ramp(torch, *shape), ramp(torch, *shape).double()):
                leaf = x.requires_grad_()
                out = kind(p)(leaf)
                out.sum().backward()
                yield [type(out.grad_fn).__name__, numbers(out), numbers(leaf.grad), out is leaf]
        yield bits(torch.rand(2))


def refusals(torch: Any) -> Any:
    nn, F, x = torch.nn, torch.nn.functional, ramp(torch, 2, 4, 3)
    return [
        *[raised(kind, 1.5) for kind, _ in kinds(torch)], nn.Dropout2d(0.1, True),
        raised(F.dropout1d, ramp(torch, 2, 3, 4, 5)), raised(F.dropout2d, x, 2),
        raised(F.dropout3d, x, 2), raised(F.dropout1d, x, 2), warned(lambda: F.dropout2d(x)),
        warned(lambda: F.dropout2d(x[0])), warned(lambda: F.dropout3d(x)),
        raised(F.dropout2d, x[0, 0]), tuple(F.dropout1d(torch.ones(2, 0, 3)).shape),
    ]  # fmt: skip
