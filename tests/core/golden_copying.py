"""Copies and pickles: memory that is shared, strides, gradients, attributes, hooks."""

import copy
import pickle
import re
import warnings
from typing import Any

from tests.answers import raised, warned


def _pickled(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


WAYS = {"copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": _pickled}


def shared_memory(torch: Any) -> Any:
    """What is copied together stays on one memory."""
    b = torch.arange(6.0).reshape(2, 3)
    for several in ([b, b[:1]], [b[1:], b], [b.detach(), b.data], [b.t(), b[:, 1]], [b, b]):
        first, second = copy.deepcopy(several)
        first[0, 0] = -5
        second[-1] = 7
        yield from [first, second, first is second, second._is_view(), list(second.stride())]
    for way in WAYS.values():
        whole, part = way([b, b[1:]])
        whole[1, 0] = 77
        yield part
    yield b


def shared_by_a_module(torch: Any) -> Any:
    module = torch.nn.Module()
    module.register_buffer("whole", torch.zeros(3))
    module.register_buffer("part", module.whole[1:])
    module.weight = torch.nn.Parameter(torch.ones(2))
    module.seen = module.weight.data
    module.also = module.weight
    twin = copy.deepcopy(module)
    twin.whole[1] = 5
    twin.weight.data[0] = 3
    return [twin.part, twin.seen, twin.also is twin.weight, module.part, list(twin.state_dict())]


def strides(torch: Any) -> Any:
    b = torch.arange(6.0).reshape(2, 3)
    tensors = {
        "expanded": torch.ones(3, 1).expand(3, 4), "transposed": b.t(), "step": b[:, ::2],
        "part": b[1:], "order": torch.zeros(2, 3, 4).permute(2, 0, 1), "number": torch.tensor(3.0),
        "nothing": torch.zeros(0, 3), "one of many": b[1, 1],
    }  # fmt: skip
    told = {}
    for name, x in tensors.items():
        for called, way in WAYS.items():
            for kind in (torch.Tensor.detach, torch.nn.Parameter):
                y = way(kind(x))
                told[f"{name} {called} {kind.__name__}"] = [y, list(y.stride()), y._is_view()]
    return told


def attributes(torch: Any) -> Any:
    """What a user has set, the gradient, and how often the copy was written to."""
    makers = {
        "tensor": lambda: torch.ones(2),
        "leaf": lambda: torch.ones(2, requires_grad=True),
        "parameter": lambda: torch.nn.Parameter(torch.ones(2)),
        "frozen": lambda: torch.nn.Parameter(torch.ones(2), False),
        "buffer": lambda: torch.nn.Buffer(torch.ones(2), persistent=False),
        "integers": lambda: torch.ones(2, dtype=torch.int64),
    }
    told = {}
    for name, make in makers.items():
        for called, way in WAYS.items():
            x = make()
            x.note = [1]
            if x.requires_grad:
                x.sum().backward()
            y = way(x)
            held = [getattr(y, "note", None), getattr(y, "persistent", None), y.requires_grad]
            same = hasattr(y, "note") and y.note is x.note
            told[f"{name} {called}"] = [*held, same, y.grad, y._version, type(y) is type(x)]
    return told


def not_leaves(torch: Any) -> Any:
    leaf = torch.ones(2, requires_grad=True)
    made = leaf * 2
    part = torch.ones(2, 2, requires_grad=True)[0]
    for x in (made, part):
        for way in WAYS.values():
            yield raised(way, x)
    y = copy.copy(made)
    y.detach()[0] = 9
    yield from [y.is_leaf, y.grad_fn is None, made]


def hooks(torch: Any) -> Any:
    """Hooks are lost, with a warning where they are on a plain tensor."""
    for kind in (torch.Tensor.clone, torch.nn.Parameter):
        for called, way in WAYS.items():
            x = kind(torch.ones(2)).requires_grad_()
            x.register_hook(lambda g: g * 3)
            x.register_post_accumulate_grad_hook(print)
            texts = [re.sub("<function.*?>", "<function>", t) for t in warned(lambda: way(x))]
            with warnings.catch_warnings(action="ignore"):
                y = way(x)
            (y * 1).sum().backward()
            yield [called, texts, y.grad]
