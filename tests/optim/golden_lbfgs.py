"""L-BFGS, with and without line search."""

from typing import Any

from tests.answers import numbers, raised

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


def fixed(torch: Any) -> Any:
    return [
        run(torch, 1.0, 1, lr=0.1), run(torch, 1.0, 2, lr=0.1), run(torch, 1.0, 1, max_iter=5),
        run(torch, 100.0, 2, lr=0.1, history_size=3, max_iter=6),
        run(torch, 1.0, 3, lr=0.1, max_iter=1), run(torch, 1.0, 1, lr=0.1, max_eval=3),
        run(torch, 1.0, 1, lr=torch.tensor(0.1)),
        run(torch, 1.0, 2, -1.0, lr=0.1, max_iter=4, maximize=True),
        run(torch, 1.0, 1, lr=0.1, tolerance_grad=1.0),
        run(torch, 1.0, 1, lr=0.1, tolerance_change=0.1),
        run(torch, 1.0, 1, tolerance_grad=1e3), run(torch, 1.0, 1, lr=0.0),
    ]  # fmt: skip


def searching(torch: Any) -> Any:
    wolfe = {"line_search_fn": "strong_wolfe"}
    return [
        run(torch, 1.0, 1, **wolfe), run(torch, 100.0, 1, **wolfe),
        run(torch, 100.0, 1, **wolfe, lr=0.1, history_size=3),
        run(torch, 100.0, 1, **wolfe, lr=0.001), run(torch, 100.0, 1, **wolfe, lr=30),
        run(torch, 1.0, 1, **wolfe, lr=torch.tensor(0.5)),
        run(torch, 100.0, 3, **wolfe, max_iter=4, max_eval=5),
        run(torch, 100.0, 1, **wolfe, max_iter=10, max_eval=2),
        run(torch, 1.0, 1, -1.0, **wolfe, maximize=True),
    ]  # fmt: skip


def bounded_searches(torch: Any) -> Any:
    """Functions of which a search finds the far wall, a cliff, or no end."""
    for power, shift in ((2, 50.0), (4, 3.0), (6, -2.0), (8, 1.5)):
        p = torch.nn.Parameter(torch.tensor([0.1], dtype=torch.float64))
        optimizer = torch.optim.LBFGS([p], line_search_fn="strong_wolfe", max_iter=4)

        def closure() -> Any:
            optimizer.zero_grad()
            loss = ((p - shift) ** power).sum() + (5 * p).sin().sum()
            loss.backward()
            return loss

        loss = optimizer.step(closure)
        yield [numbers(loss), numbers(p), optimizer.state[p]["func_evals"]]
    p = torch.nn.Parameter(torch.tensor([1.0], dtype=torch.float64))
    optimizer = torch.optim.LBFGS([p], line_search_fn="strong_wolfe", max_iter=3)

    def falling() -> Any:
        optimizer.zero_grad()
        loss = -p.sum()
        loss.backward()
        return loss

    optimizer.step(falling)
    yield from [numbers(p), optimizer.state[p]["func_evals"]]


def arguments(torch: Any) -> Any:
    make = torch.optim.LBFGS
    p, q = (torch.nn.Parameter(torch.ones(1)) for _ in range(2))
    optimizer = make([p], line_search_fn="golden")
    empty = make([{"params": []}])

    def closure() -> Any:
        p.grad = torch.ones(1)
        return torch.tensor(1.0)

    return [
        raised(make, [p], lr=-1), raised(make, [p], lr=torch.ones(2)),
        raised(make, [{"params": p}, {"params": q}]), raised(make, []), raised(optimizer.step),
        raised(optimizer.step, closure), optimizer.state_dict()["state"][0]["n_iter"],
        numbers(empty.step(closure)), make([p]), make([p], max_iter=7, lr=torch.tensor(0.5)),
        [p._version],
    ]  # fmt: skip
