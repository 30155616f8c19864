"""Objects for files of PyTorch, made by `torch` alone, and their descriptions to the bit."""

import hashlib
from collections import Counter, OrderedDict
from typing import Any


def seeded(torch: Any, model: Any) -> Any:
    """A model whose weights depend on nothing but its shape."""
    with torch.no_grad():
        for number, parameter in enumerate(model.parameters()):
            values = torch.arange(parameter.numel()).reshape(parameter.shape)
            parameter.copy_((values * 37 + number) % 101 / 50 - 1)
    return model


def trained(torch: Any, optimizer: str, **options: Any) -> dict[str, Any]:
    """The checkpoint of a model after two steps."""
    model = seeded(torch, torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)))
    steps = getattr(torch.optim, optimizer)(model.parameters(), lr=0.1, **options)
    schedule = torch.optim.lr_scheduler.StepLR(steps, 1)
    for _ in range(2):
        model(torch.ones(2, 3)).square().sum().backward()
        steps.step()
        schedule.step()
    generator = torch.Generator().manual_seed(3)
    return {
        "model": model.state_dict(), "optimizer": steps.state_dict(), "epoch": 2, "best": 0.25,
        "schedule": schedule.state_dict(), "generator": generator.get_state(),
    }  # fmt: skip


def dtypes(torch: Any) -> Any:
    names = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64"
    values = torch.tensor([0.0, 1.0, 2.5, -3.0, 100.0]).abs()
    return {name: values.to(getattr(torch, name)) for name in names.split()}


def views(torch: Any) -> Any:
    base = torch.arange(24.0).reshape(4, 6)
    halves = torch.arange(8.0).to(torch.bfloat16)
    return {
        "base": base, "row": base[1], "turned": base.t(), "part": base[1:3, ::2], "again": base,
        "wide": torch.ones(1, 3).expand(2, 3), "number": base[2, 3], "none": base[:0],
        "apart": base.clone(), "halves": [halves, halves[2:5], halves.view(2, 4).t()],
    }  # fmt: skip


def attributes(torch: Any) -> Any:
    tensor, parameter = torch.ones(2), torch.nn.Parameter(torch.zeros(2), requires_grad=False)
    tensor.origin, parameter.scale = "here", [1.5]
    needed = torch.ones(3, requires_grad=True)
    return [tensor, parameter, needed, torch.nn.Parameter(torch.ones(1)), needed * 2]


def containers(torch: Any) -> Any:
    shared = [1, {"a": (2, (3, [4, ()]))}]
    ordered = OrderedDict([("z", 1), (3, None), ((1, "b"), shared)])
    ordered.note = {"kept": True}  # type: ignore[attr-defined]
    return [shared, shared, ordered, Counter("abca"), {7}, torch.Size([2, 3]), {True: {}, None: []}]


def values(torch: Any) -> Any:
    return {
        "int": [0, -1, 255, 65536, -(2**31), 2**31, 2**70, -(2**70)],
        "float": [0.1, -0.0, float("inf"), float("nan"), 5e-324], "complex": 1.5 - 2j,
        "text": ["", "é\0\U0001f600", "a" * 300], "bytes": [b"a\xff\0", bytearray(b"xy\x80")],
        "torch": [torch.float16, torch.bfloat16, torch.device("cpu"), torch.strided],
    }  # fmt: skip


def tied(torch: Any) -> Any:
    model = seeded(torch, torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)))
    model[1].weight = model[0].weight
    return {"state": model.state_dict(), "parameters": list(model.parameters())}


def layers(torch: Any) -> Any:
    nn = torch.nn
    parts = nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Embedding(3, 2), nn.LSTM(2, 2), nn.PReLU()
    return seeded(torch, nn.ModuleList(parts)).state_dict()


OBJECTS: dict[str, Any] = {
    "state": lambda torch: seeded(torch, torch.nn.Linear(3, 2)).state_dict(),
    "adam": lambda torch: trained(torch, "AdamW", amsgrad=True),
    "sgd": lambda torch: trained(torch, "SGD", momentum=0.9),
    "dtypes": dtypes, "views": views, "attributes": attributes, "containers": containers,
    "values": values, "tied": tied, "layers": layers,
    "tensor": lambda torch: torch.arange(10).reshape(2, 5),
    "random": lambda torch: [torch.manual_seed(5).get_state(), torch.get_rng_state()],
    "many": lambda torch: {n: [n, -n, str(n)] for n in range(1100)},
    "empty": lambda torch: [{}, [], (), set(), torch.empty(0), torch.empty(2, 0, dtype=torch.long)],
    "halves": lambda torch: seeded(torch, torch.nn.Linear(2, 2)).bfloat16().state_dict(),
}  # fmt: skip


def described(torch: Any, value: Any, seen: dict[Any, int] | None = None) -> Any:
    """A description as JSON; a memory, and what occurs twice, have numbers."""
    seen = {} if seen is None else seen
    kind: Any = type(value)
    if isinstance(value, torch.Tensor):
        plain = value.detach()
        plain = plain.float() if value.dtype is torch.bfloat16 else plain
        again = seen.setdefault(id(value), len(seen))
        memory = seen.setdefault(value.untyped_storage().data_ptr(), len(seen))
        place = [list(value.shape), list(value.stride()), value.storage_offset()]
        bits = hashlib.sha1(plain.numpy().tobytes()).hexdigest()
        own = {name: getattr(value, name) for name in ("origin", "scale") if hasattr(value, name)}
        shown = [str(value.dtype), *place, value.requires_grad, bits, own]
        return [kind.__name__, again, memory if value.numel() else None, *shown]
    if isinstance(value, dict):
        pairs = [[described(torch, part, seen) for part in pair] for pair in value.items()]
        note = getattr(value, "note", None) or dict(getattr(value, "_metadata", {}))
        return [kind.__name__, seen.setdefault(id(value), len(seen)), pairs, repr(note)]
    if isinstance(value, (list, tuple, set)):
        again = seen.setdefault(id(value), len(seen)) if kind is list else None
        return [kind.__name__, again, [described(torch, part, seen) for part in value]]
    return [kind.__name__, value.hex() if kind is float else repr(value)]
