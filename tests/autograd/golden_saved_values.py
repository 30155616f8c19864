"""What nodes keep: what may be written to before a backward pass, and what a second pass lacks."""

from typing import Any

from tests.answers import raised as whole_text


def _raised(call: Any) -> Any:
    return whole_text(call)[:130]


def _leaf(torch: Any, *values: float) -> Any:
    return torch.tensor(values or (1.0, 2.0, 3.0), requires_grad=True)


def _twice(torch: Any, of: Any, *given: Any) -> Any:
    out = of(*given)
    loss = out.sum() if out.ndim else out
    loss.backward()
    return _raised(loss.backward)


def second_passes(torch: Any) -> Any:
    square = torch.ones(3, 3)
    forms = {
        "trapezoid": lambda x: torch.trapezoid(x),
        "trapezoid of steps": lambda x: torch.trapezoid(x, dx=2.0),
        "trapezoid at places": lambda x: torch.trapezoid(x, torch.tensor([0.0, 1.0, 3.0])),
        "addmm": lambda x: torch.addmm(x, square, square),
        "addcmul": lambda x: torch.addcmul(x, torch.ones(3), torch.ones(3)),
        "linear": lambda x: torch.nn.functional.linear(square, square, x),
        "fmod": lambda x: torch.fmod(x, torch.ones(3)),
        "remainder": lambda x: torch.remainder(x, torch.ones(3)),
        "index_add": lambda x: x.index_add(0, torch.tensor([0, 2]), torch.ones(2)),
        "scatter_add": lambda x: x.scatter_add(0, torch.tensor([0, 2]), torch.ones(2)),
        "angle": lambda x: x.angle(),
        "div to floor": lambda x: torch.div(x, torch.ones(3), rounding_mode="floor"),
        "mul": lambda x: x * 2,
        "mean": lambda x: x.mean(),
    }
    return {name: _twice(torch, form, _leaf(torch)) for name, form in forms.items()}


def _written(torch: Any, of: Any, which: int | None, frozen: tuple[int, ...]) -> Any:
    """A backward pass after an operand, or the result, has been written to."""
    leaves = [_leaf(torch, 1.5, -2.0, 3.0), _leaf(torch, 0.5, 2.0, -1.0)]
    given = [x.detach().clone() if k in frozen else x * 1 for k, x in enumerate(leaves)]
    out = of(*given)
    with torch.no_grad():
        (out if which is None else given[which]).mul_(2)
    return _raised(lambda: (out.sum().backward(), [x.grad for x in leaves])[1])


def writes_between(torch: Any) -> Any:
    forms = {
        "copysign": torch.copysign, "to zero": lambda a, b: torch.div(a, b, rounding_mode="trunc"),
        "down": lambda a, b: torch.div(a, b, rounding_mode="floor"),
        "addcdiv": lambda a, b: torch.addcdiv(a, a, b), "maximum": torch.maximum,
    }  # fmt: skip
    return {
        f"{name} {which} {frozen}": _written(torch, form, which, frozen)
        for name, form in forms.items()
        for which in (None, 0, 1)
        for frozen in ((), (0,), (1,))
    }


def indices_changed(torch: Any) -> Any:
    for index in (torch.tensor([True, False, True]), torch.tensor([0, 2])):
        for value in (0.0, torch.zeros(1), torch.zeros(2, requires_grad=True)):
            at = index.clone()
            x = _leaf(torch) * 1
            x[at] = value
            at.copy_(at.flip(0) if at.dtype == torch.int64 else at.logical_not())
            yield _raised(lambda x=x: x.sum().backward())
