"""The rest of what modules and initializers can do."""

import warnings
from typing import Any

from tests.answers import raised, warned


def former_initializers(torch: Any) -> Any:
    init = torch.nn.init
    names = ["uniform", "normal", "constant", "eye", "xavier_uniform", "xavier_normal",
             "kaiming_uniform", "kaiming_normal", "orthogonal"]  # fmt: skip
    more = {"constant": (0.5,)}
    for name in names:
        yield warned(lambda: getattr(init, name)(torch.empty(3, 2), *more.get(name, ())))


def empty(torch: Any) -> Any:
    layer = torch.nn.Linear(2, 3)
    weight, memory = layer.weight, layer.weight.data_ptr()
    layer.weight.grad = torch.ones(3, 2)
    same = layer.to_empty(device="cpu") is layer
    shared = layer.share_memory() is layer
    return [
        same, shared, layer.weight is weight, weight.data_ptr() != memory, weight.requires_grad,
        tuple(layer.weight.grad.shape), layer.weight.dtype, raised(layer.to_empty),
        raised(layer.xpu), layer.dump_patches,
    ]  # fmt: skip


def former_hooks(torch: Any) -> Any:
    nn = torch.nn
    seen: list[Any] = []

    def note(module: Any, given: Any, of: Any) -> None:
        shapes = [[None if g is None else tuple(g.shape) for g in part] for part in (given, of)]
        seen.append([type(module).__name__, *shapes])

    class Pair(nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any) -> Any:
            return x * 2, x * 3

    class Named(nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any, n: int = 2) -> Any:
            return {"out": x * n}

    class Scaled(nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any, n: int) -> Any:
            return x * n

    x, texts = torch.ones(3, 2, requires_grad=True), []

    def run(module: Any, call: Any) -> None:
        module.register_backward_hook(note)
        with warnings.catch_warnings(record=True, action="always") as caught:
            call(module).sum().backward()
        texts.append([f"{w.category.__name__}: {w.message}" for w in caught])

    run(nn.Linear(2, 2), lambda m: m(x))
    run(nn.Tanh(), lambda m: m(x * 2))
    run(nn.Sequential(nn.Linear(2, 2), nn.ReLU()), lambda m: m(x))
    run(Pair(), lambda m: sum(m(x)))
    run(Named(), lambda m: m(x)["out"])
    run(Scaled(), lambda m: m(x, 3))
    with torch.no_grad():
        layer = nn.Linear(2, 2)
        layer.register_backward_hook(note)
        quiet = tuple(layer(x).shape)
    return [seen, texts, quiet]


def one_kind_of_hooks(torch: Any) -> Any:
    nn = torch.nn
    first, second = nn.Linear(1, 1), nn.Linear(1, 1)
    first.register_backward_hook(lambda *a: None)
    second.register_full_backward_hook(lambda *a: None)
    return [
        raised(first.register_full_backward_hook, lambda *a: None),
        raised(second.register_backward_hook, lambda *a: None),
    ]
