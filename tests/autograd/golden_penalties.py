"""Penalties on gradients of networks that are linear in pieces: their gradients are zeros or None.

The gradient has a history wherever PyTorch's has one. `backward` refuses what has none.
"""

import functools
import math
from collections.abc import Callable
from typing import Any

from tests.answers import sessions


def _penalised(torch: Any, layer: Callable[..., Any], *shapes: tuple[int, ...]) -> Any:
    """Of the first input: the penalty's gradient by each of those that are not frozen."""
    answers = []
    for frozen in range(2 ** (len(shapes) - 1)):
        counts = [math.prod(shape) for shape in shapes]
        given = [torch.arange(n).float().sub(1.5).view(s) for n, s in zip(counts, shapes)]  # noqa: B905
        free = [t.requires_grad_() for k, t in enumerate(given) if not k or not frozen >> k - 1 & 1]
        (g,) = torch.autograd.grad(layer(*given).sum(), given[0], create_graph=True)
        (g * g).sum().backward()
        answers.append([g.requires_grad, *[None if t.grad is None else t.grad for t in free]])
    return answers


def _names(torch: Any) -> dict[str, Any]:
    return {
        "of": functools.partial(_penalised, torch), "F": torch.nn.functional,
        "labels": torch.tensor([0, 2]), "picture": (1, 1, 4, 4),
    }  # fmt: skip


penalties = sessions(_names)("""
convolutions
    of(F.conv1d, (1, 1, 4), (1, 1, 2), (1,)), of(F.conv2d, (1, 1, 3, 3), (1, 1, 2, 2), (1,))
    of(F.conv3d, (1, 1, 2, 2, 2), (1, 1, 2, 2, 2))
    of(F.conv_transpose2d, (1, 1, 2, 2), (1, 1, 2, 2))
pools
    of(lambda x: F.max_pool2d(x, 2), picture), of(lambda x: F.avg_pool2d(x, 2), picture)
    of(lambda x: F.adaptive_avg_pool2d(x, 3), picture)
    of(lambda x: F.adaptive_max_pool2d(x, 2), picture), of(lambda x: F.max_pool1d(x[0], 2), picture)
    of(lambda x: F.avg_pool1d(x[0], 2), picture)
    of(lambda x: F.max_pool3d(x[None], (1, 2, 2)), picture)
    of(lambda x: F.avg_pool3d(x[None], (1, 2, 2)), picture)
    of(lambda x: F.interpolate(x, (2, 2), mode="area"), picture)
activations
    of(F.prelu, (4,), (1,)), of(lambda x: F.leaky_relu(x.clone(), inplace=True), (4,))
    of(lambda x: F.leaky_relu(x), (4,)), of(lambda x: F.relu(x.clone(), inplace=True), (4,))
losses
    of(lambda x: F.nll_loss(x, labels), (2, 3))
    of(lambda x: F.nll_loss(x, labels.view(1, 2, 1)), (1, 3, 2, 1))
grids
    of(lambda x, grid: F.grid_sample(x, grid, align_corners=False), (1, 1, 2, 2), (1, 1, 2, 2))[1:]
""")
