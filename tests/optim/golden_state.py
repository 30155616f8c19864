"""State dicts of optimizers: structure, round trips, refusals, hooks."""

from typing import Any

from tests.answers import numbers, raised
from tests.optim.golden_sgd import feed, start


def made(torch: Any, kind: str, steps: int = 3, **options: Any) -> Any:
    params = start(torch)
    options = {"lr": 0.1} | options
    optimizer = getattr(torch.optim, kind)(params, **options)
    for step in range(steps):
        feed(torch, params, step)
        optimizer.step()
    return params, optimizer


def plain(state: Any) -> Any:
    """A state dict with its tensors as numbers."""
    return {
        "state": {str(k): {n: numbers(t) for n, t in v.items()} for k, v in state["state"].items()},
        "param_groups": state["param_groups"],
    }


def round_trips(torch: Any) -> Any:
    """A restored optimizer goes on as the first would have."""
    for kind, options in (("SGD", {"momentum": 0.9, "nesterov": True}), ("Adam", {"amsgrad": True}),
                          ("AdamW", {"weight_decay": 0.3})):  # fmt: skip
        params, optimizer = made(torch, kind, **options)
        copied = [torch.nn.Parameter(p.detach().clone()) for p in params]
        other = getattr(torch.optim, kind)(copied, lr=99.0)
        other.load_state_dict(optimizer.state_dict())
        for step in (7, 8):
            for ps, o in ((params, optimizer), (copied, other)):
                feed(torch, ps, step)
                o.step()
        yield [numbers(copied), other]


def conversions(torch: Any) -> Any:
    _, optimizer = made(torch, "Adam")
    doubles = [p.detach().double().requires_grad_() for p in start(torch)]
    other = torch.optim.Adam(doubles)
    other.load_state_dict(optimizer.state_dict())
    state = other.state[doubles[0]]
    older = optimizer.state_dict()
    older["state"][0]["step"] = 5
    older["state"]["mine"] = "kept"
    older["param_groups"][0]["extra"] = [1, 2]
    for missing in ("foreach", "capturable", "amsgrad", "fused"):
        del older["param_groups"][0][missing]
    other.load_state_dict(older)
    restored = other.state[doubles[0]]["step"]
    return [
        {name: [t.dtype, t.device.type] for name, t in state.items()}, restored,
        other.state["mine"], list(other.param_groups[0]), other,
    ]  # fmt: skip


def refusals(torch: Any) -> Any:
    _, optimizer = made(torch, "SGD")
    state = optimizer.state_dict()
    fewer = {"state": {}, "param_groups": [state["param_groups"][0] | {"params": [0]}]}
    return [
        raised(optimizer.load_state_dict, {"state": {}, "param_groups": []}),
        raised(optimizer.load_state_dict, fewer), raised(optimizer.load_state_dict, {}),
    ]  # fmt: skip


def hooks(torch: Any) -> Any:
    log: list[Any] = []
    _, optimizer = made(torch, "SGD", steps=1, momentum=0.9)
    optimizer.register_state_dict_pre_hook(lambda o: log.append("pre"))
    optimizer.register_state_dict_pre_hook(lambda o: log.append("pre, first"), prepend=True)
    handle = optimizer.register_state_dict_post_hook(lambda o, s: {**s, "note": 1})
    optimizer.register_state_dict_post_hook(lambda o, s: log.append(list(s)))
    state = optimizer.state_dict()
    optimizer.register_load_state_dict_pre_hook(lambda o, s: log.append(["load", list(s)]))
    optimizer.register_load_state_dict_pre_hook(
        lambda o, s: {"state": {}, "param_groups": s["param_groups"]}
    )
    optimizer.register_load_state_dict_post_hook(lambda o: log.append(["loaded", len(o.state)]))
    optimizer.load_state_dict(state)
    handle.remove()
    return [log, list(state), list(optimizer.state_dict()), len(optimizer.state)]


def wrappers(torch: Any) -> Any:
    """An optimizer around another, as libraries have them, which has no state of its own."""

    class Around(torch.optim.Optimizer):  # type: ignore[misc]
        def __init__(self, inner: Any) -> None:
            self.inner, self.param_groups = inner, inner.param_groups

        def step(self, closure: Any = None) -> Any:
            return self.inner.step(closure)

    (p, *_), optimizer = made(torch, "SGD")
    p.grad = torch.ones_like(p)
    return [Around(optimizer).step(), p]
