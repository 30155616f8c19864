"""Results compared by `torch.testing.assert_close`."""

from typing import Any

import numpy as np

from tests.answers import raised


def _told(torch: Any, *args: Any, **options: Any) -> str:
    return raised(torch.testing.assert_close, *args, **options)


def tensors(torch: Any) -> Any:
    o, nan = torch.ones(2, 2), float("nan")
    part = torch.tensor([[1.0, 1.5], [0.0, 3.0]])
    return [
        _told(torch, o, o + 1e-6), _told(torch, o, o * 1.1), _told(torch, o, part),
        _told(torch, part, o), _told(torch, o, torch.ones(2)), _told(torch, o, o.double()),
        _told(torch, o, o.double(), check_dtype=False), _told(torch, o * nan, o * nan),
        _told(torch, o * nan, o * nan, equal_nan=True), _told(torch, o.long(), o.long() * 2),
        _told(torch, o.bool(), ~o.bool()), _told(torch, torch.tensor(1.0), torch.tensor(2.0)),
        _told(torch, torch.tensor(1), torch.tensor(2)), _told(torch, o.half(), o.half() * 1.01),
        _told(torch, o.double(), o.double() + 1e-6),
        _told(torch, torch.zeros(2, 3).t(), torch.zeros(3, 2), check_stride=True),
        _told(torch, o, torch.nn.Parameter(o)),
        _told(torch, o, torch.nn.Parameter(o), allow_subclasses=False).partition(" of type")[0],
        _told(torch, torch.zeros(0, 2), torch.zeros(0, 2)),
    ]  # fmt: skip


def other_values(torch: Any) -> Any:
    o = torch.ones(2)
    return [
        _told(torch, 1.0, 1.1), _told(torch, 1.0, 1.0 + 1e-9), _told(torch, 1, 2),
        _told(torch, 1, 1.0), _told(torch, 1, 1.0, check_dtype=False), _told(torch, True, False),
        _told(torch, None, None), _told(torch, "a", "a"), _told(torch, np.ones(2), np.ones(2) * 2),
        _told(torch, [o, o], [o, o * 2]), _told(torch, (o, [o, {"k": o}]), (o, [o, {"k": o + 1}])),
        _told(torch, {"a": o}, {"b": o}), _told(torch, [o], [o, o]),
        _told(torch, o, o * 2, rtol=1.0, atol=1.0), _told(torch, o, o * 2, rtol=0.0, atol=0.1),
        _told(torch, o, o, rtol=1.0), _told(torch, o, o, atol=1.0),
        _told(torch, o, o * 2, msg="differs"),
        _told(torch, o, o * 2, msg=lambda text: f"Look: {text}"),
    ]  # fmt: skip
