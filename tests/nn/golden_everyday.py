"""Everyday code that goes wrong, and what types are called."""

import re
from typing import Any

from tests.answers import numbers, raised, told


def half_norms(torch: Any) -> Any:
    """Gradients of the parameters are in their precision."""
    layer = torch.nn.LayerNorm(4)
    x = torch.linspace(-1, 2, 8).reshape(2, 4).half().requires_grad_()
    out = layer(x)
    out.float().pow(2).sum().backward()
    return [str(t.dtype) for t in (out, x.grad, layer.weight.grad)] + [numbers(out)]


def classes(torch: Any) -> Any:
    """Weights of another dtype; samples that do not count have no gradient, not minus none."""
    F, answers = torch.nn.functional, []
    x = torch.tensor([[0.5, -1.0, 2.0], [1.0, 0.0, 0.5]], requires_grad=True)
    target = torch.tensor([1, 0])
    for kind in (torch.float64, torch.float16, torch.int64):
        for loss in (F.nll_loss, F.cross_entropy):
            answers.append(raised(loss, x, target, torch.ones(3, dtype=kind)))
    answers.append(raised(F.nll_loss, torch.tensor(1.0), target))
    F.nll_loss(x, target, ignore_index=0).backward()
    answers.append(told(x.grad))
    F.nll_loss(x, target, torch.tensor([0.0, 1.0, 1.0])).backward()
    return [*answers, told(x.grad)]


def convolutions(torch: Any) -> Any:
    F, x, w = torch.nn.functional, torch.ones(1, 3, 4, 4), torch.ones(1, 3, 2, 2)
    return [
        raised(F.conv2d, x, torch.ones(1, 3, 2)), raised(F.conv2d, x, torch.ones(3)),
        raised(F.conv2d, x[0], torch.ones(1, 3, 2)), raised(F.conv1d, x[0], w),
        raised(F.conv2d, x, w, dilation=0), raised(F.conv2d, x, w, dilation=(1, 0)),
        raised(F.conv1d, x[0], torch.ones(1, 4, 2), dilation=0), raised(F.conv2d, x, w, stride=0),
        raised(F.conv_transpose2d, x, torch.ones(3, 3, 2)),
        raised(F.conv2d, x, w, stride=(1, 1, 1)), F.conv2d(x, w, stride=(2,)),
        F.conv1d(x[0], torch.ones(1, 4, 2), padding="same"),
    ]  # fmt: skip


def rows_and_steps(torch: Any) -> Any:
    """Tables, cells and heads that get what does not fit."""
    nn, F = torch.nn, torch.nn.functional
    cell, pair = nn.LSTMCell(3, 4), torch.ones(2, 4)
    heads = nn.MultiheadAttention(8, 2, batch_first=True)
    x = torch.ones(2, 3, 8)
    return [
        raised(F.embedding, torch.tensor([True]), torch.ones(2, 2)),
        raised(F.embedding, torch.ones(2, 2), torch.tensor([1])),
        raised(F.embedding, torch.tensor([1.0]), torch.ones(2, 2)),
        raised(cell, torch.ones(2, 3), pair), raised(cell, torch.ones(2, 3), 3),
        raised(cell, torch.ones(2, 3), (pair,)), raised(cell, torch.ones(2, 3), (pair,) * 3),
        raised(heads, x, x[:1], x[:1]), raised(heads, x, x[:1], x),
        raised(heads, x[:1], x, x, need_weights=False), list(heads(x, x[:, :1], x[:, :1])[0].shape),
        raised(F.adaptive_avg_pool2d, torch.ones(3), 1),
        raised(F.adaptive_avg_pool3d, torch.ones(3), 1),
        raised(nn.GELU(), 3), raised(nn.GELU("tanh"), 3), raised(F.selu, 3),
        raised(F.softmax, torch.ones(2, 3).long(), 0), raised(F.softmax, torch.arange(3), 0),
        raised(F.log_softmax, torch.ones(2, 3).long(), 0), raised(F.layer_norm, 3, (3,)),
        raised(F.log_softmax, torch.ones(2, 3).long(), -1), raised(F.rms_norm, [1.0], (1,)),
    ]  # fmt: skip


def random_integers(torch: Any) -> Any:
    """Of no dimensions too; common mistakes."""
    randint = torch.randint
    return [
        randint(9, ()), randint(2, 9, []), randint(9, size=()), randint(2, high=9, size=(2,)),
        torch.normal(0.0, 1.0, ()), torch.normal(0.0, 1.0, size=[]), raised(randint, 0, 2),
        raised(randint, 2.0, (2,)), raised(randint, 1, 2, 3), raised(randint, 2, (1.0,)),
        raised(randint, torch.tensor(2.0), (1,)), raised(randint, 3, torch.tensor([1, 2])),
        raised(randint, 1.0, 2, (3,)), raised(randint, 2, size=3), raised(randint),
        raised(randint, 2, (-1,)),
    ]  # fmt: skip


def names_of_types(torch: Any) -> Any:
    """What ``print(type(x))`` writes."""
    x = torch.ones(2)
    kinds = [type(x), type(x.shape), type(x.dtype), type(x.device), type(torch.nn.Parameter(x))]
    generator = re.sub("0x[0-9a-f]+", "", repr(torch.Generator()))

    class Mine(torch.Tensor):  # type: ignore[name-defined, misc]
        pass

    return [[repr(kind) for kind in kinds], generator, "Mine" in repr(Mine)]
