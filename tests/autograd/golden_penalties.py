"""Penalties on gradients of networks that are linear in pieces: their gradients are zeros or None.

The gradient has a history wherever PyTorch's has one. `backward` refuses what has none.
"""

import math
from collections.abc import Callable
from typing import Any


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


def convolutions(torch: Any) -> Any:
    functional = torch.nn.functional
    return [
        _penalised(torch, functional.conv1d, (1, 1, 4), (1, 1, 2), (1,)),
        _penalised(torch, functional.conv2d, (1, 1, 3, 3), (1, 1, 2, 2), (1,)),
        _penalised(torch, functional.conv3d, (1, 1, 2, 2, 2), (1, 1, 2, 2, 2)),
        _penalised(torch, functional.conv_transpose2d, (1, 1, 2, 2), (1, 1, 2, 2)),
    ]


def pools(torch: Any) -> Any:
    functional, picture = torch.nn.functional, (1, 1, 4, 4)
    layers = [
        lambda x: functional.max_pool2d(x, 2), lambda x: functional.avg_pool2d(x, 2),
        lambda x: functional.adaptive_avg_pool2d(x, 3),
        lambda x: functional.adaptive_max_pool2d(x, 2), lambda x: functional.max_pool1d(x[0], 2),
        lambda x: functional.avg_pool1d(x[0], 2),
        lambda x: functional.max_pool3d(x[None], (1, 2, 2)),
        lambda x: functional.avg_pool3d(x[None], (1, 2, 2)),
        lambda x: functional.interpolate(x, (2, 2), mode="area"),
    ]  # fmt: skip
    return [_penalised(torch, layer, picture) for layer in layers]


def activations(torch: Any) -> Any:
    functional = torch.nn.functional
    return [
        _penalised(torch, functional.prelu, (4,), (1,)),
        _penalised(torch, lambda x: functional.leaky_relu(x.clone(), inplace=True), (4,)),
        _penalised(torch, lambda x: functional.leaky_relu(x), (4,)),
        _penalised(torch, lambda x: functional.relu(x.clone(), inplace=True), (4,)),
    ]


def losses(torch: Any) -> Any:
    labels = torch.tensor([0, 2])
    return [
        _penalised(torch, lambda x: torch.nn.functional.nll_loss(x, labels), (2, 3)),
        _penalised(
            torch, lambda x: torch.nn.functional.nll_loss(x, labels.view(1, 2, 1)), (1, 3, 2, 1)
        ),
    ]


def grids(torch: Any) -> Any:
    def sampled(x: Any, grid: Any) -> Any:
        return torch.nn.functional.grid_sample(x, grid, align_corners=False)

    return _penalised(torch, sampled, (1, 1, 2, 2), (1, 1, 2, 2))[1:]
