"""L-BFGS, with and without line search."""

import functools
from typing import Any

from tests.answers import numbers, sessions

# Of a few terms, in a valley whose curvature, 200, is by what roundings are magnified.
ROUNDING = {"depth": 200, "terms": 16}


def problem(torch: Any, steep: float, sign: float = 1.0, **options: Any) -> Any:
    """Rosenbrock's function of several parameters; an optimizer, a closure, a count of calls."""
    kind = torch.float64
    x = torch.nn.Parameter(torch.tensor([-1.5, 2.0, 0.7, -0.3], dtype=kind))
    y = torch.nn.Parameter(torch.tensor([[0.5, 0.2]], dtype=kind))
    unused = torch.nn.Parameter(torch.zeros(2, dtype=kind))
    optimizer = torch.optim.LBFGS([x, y, unused], **options)
    calls: list[int] = []

    def closure() -> Any:
        calls.append(1)
        optimizer.zero_grad()
        valley = ((1 - x[:-1]) ** 2).sum() + steep * ((x[1:] - x[:-1] ** 2) ** 2).sum()
        loss = sign * (valley + (y**4).sum() + (x[0] * y).sum())
        loss.backward()
        return loss

    return optimizer, closure, calls


def kinds(value: Any) -> Any:
    """What an entry of the state is made of."""
    if isinstance(value, list):
        inside = [kinds(v) for v in value]
        return [len(inside), sorted({str(v) for v in inside})]
    return str(list(value.shape)) if hasattr(value, "shape") else type(value).__name__


def run(torch: Any, steep: float, steps: int, sign: float = 1.0, **options: Any) -> Any:
    optimizer, closure, calls = problem(torch, steep, sign, **options)
    losses = [optimizer.step(closure).detach() for _ in range(steps)]
    params = optimizer.param_groups[0]["params"]
    state = optimizer.state_dict()["state"]
    return [
        numbers(torch.stack(losses)), numbers(params), [p._version for p in params],
        len(calls), {str(k): {n: kinds(v) for n, v in s.items()} for k, s in state.items()},
        [state[0]["func_evals"], state[0]["n_iter"]] if state else None,
    ]  # fmt: skip


def _names(torch: Any) -> dict[str, Any]:
    return {
        "fixed": functools.partial(run, torch), "make": torch.optim.LBFGS,
        "search": functools.partial(run, torch, line_search_fn="strong_wolfe"),
        "searching": functools.partial(torch.optim.LBFGS, line_search_fn="strong_wolfe"),
        "parameter": lambda value: torch.nn.Parameter(torch.tensor([value], dtype=torch.float64)),
        "one": torch.nn.Parameter(torch.ones(1)), "other": torch.nn.Parameter(torch.ones(1)),
    }  # fmt: skip


session = sessions(_names)

steps = session("""
without line search
    fixed(1.0, 1, lr=0.1), fixed(1.0, 2, lr=0.1), fixed(1.0, 1, max_iter=5)
    fixed(100.0, 2, lr=0.1, history_size=3, max_iter=6), fixed(1.0, 3, lr=0.1, max_iter=1)
    fixed(1.0, 1, lr=0.1, max_eval=3), fixed(1.0, 1, lr=torch.tensor(0.1))
    fixed(1.0, 2, -1.0, lr=0.1, max_iter=4, maximize=True)
    fixed(1.0, 1, lr=0.1, tolerance_grad=1.0)
    fixed(1.0, 1, lr=0.1, tolerance_change=0.1), fixed(1.0, 1, tolerance_grad=1e3)
    fixed(1.0, 1, lr=0.0)
with line search
    search(1.0, 1), search(100.0, 1), search(100.0, 1, lr=0.1, history_size=3)
    search(100.0, 1, lr=0.001), search(100.0, 1, lr=30), search(1.0, 1, lr=torch.tensor(0.5))
    search(100.0, 3, max_iter=4, max_eval=5), search(100.0, 1, max_iter=10, max_eval=2)
    search(1.0, 1, -1.0, maximize=True)
of functions of which a search finds the far wall, a cliff, or no end
    def closure():
        o.zero_grad()
        loss = ((p - shift) ** power).sum() + (5 * p).sin().sum() if power else -p.sum()
        loss.backward()
        return loss
    for power, shift in ((2, 50.0), (4, 3.0), (6, -2.0), (8, 1.5), (0, 0)):
        p = parameter(0.1 if power else 1.0)
        o = searching([p], max_iter=4 if power else 3)
        numbers(o.step(closure)), numbers(p), o.state[p]["func_evals"]
arguments
    o, empty = make([one], line_search_fn="golden"), make([{"params": []}])
    def closure():
        one.grad = torch.ones(1)
        return torch.tensor(1.0)
    make([one], lr=-1), make([one], lr=torch.ones(2)), make([{"params": one}, {"params": other}])
    make([]), o.step(), o.step(closure), o.state_dict()["state"][0]["n_iter"]
    numbers(empty.step(closure)), make([one]), make([one], max_iter=7, lr=torch.tensor(0.5))
    one._version
""")
