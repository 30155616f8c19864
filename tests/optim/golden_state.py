"""State dicts of optimizers: structure, round trips, refusals, hooks."""

import functools
from typing import Any

from tests.answers import sessions
from tests.optim.golden_sgd import feed, start


def made(torch: Any, kind: str, steps: int = 3, **options: Any) -> Any:
    params = start(torch)
    options = {"lr": 0.1} | options
    optimizer = getattr(torch.optim, kind)(params, **options)
    for step in range(steps):
        feed(torch, params, step)
        optimizer.step()
    return params, optimizer


def _names(torch: Any) -> dict[str, Any]:
    return {
        "made": functools.partial(made, torch), "start": functools.partial(start, torch),
        "feed": functools.partial(feed, torch), "log": [],
    }  # fmt: skip


session = sessions(_names)

states = session("""
conversions
    (_, optimizer), doubles = made("Adam"), [p.detach().double().requires_grad_() for p in start()]
    other = torch.optim.Adam(doubles)
    _ = other.load_state_dict(optimizer.state_dict())
    state, older = other.state[doubles[0]], optimizer.state_dict()
    older["state"][0]["step"] = 5
    older["state"]["mine"] = "kept"
    older["param_groups"][0]["extra"] = [1, 2]
    for missing in ("foreach", "capturable", "amsgrad", "fused"):
        del older["param_groups"][0][missing]
    {name: [t.dtype, t.device.type] for name, t in state.items()}, other.load_state_dict(older)
    other.state[doubles[0]]["step"], other.state["mine"], list(other.param_groups[0]), other
refusals
    _, optimizer = made("SGD")
    load, (group,) = optimizer.load_state_dict, optimizer.state_dict()["param_groups"]
    load({"state": {}, "param_groups": []}), load({})
    load({"state": {}, "param_groups": [group | {"params": [0]}]})
hooks
    _, o = made("SGD", steps=1, momentum=0.9)
    _ = o.register_state_dict_pre_hook(lambda o: log.append("pre"))
    _ = o.register_state_dict_pre_hook(lambda o: log.append("pre, first"), prepend=True)
    handle = o.register_state_dict_post_hook(lambda o, s: {**s, "note": 1})
    _ = o.register_state_dict_post_hook(lambda o, s: log.append(list(s)))
    state = o.state_dict()
    _ = o.register_load_state_dict_pre_hook(lambda o, s: log.append(["load", list(s)]))
    _ = o.register_load_state_dict_pre_hook(lambda o, s: {**s, "state": {}})
    _ = o.register_load_state_dict_post_hook(lambda o: log.append(["loaded", len(o.state)]))
    o.load_state_dict(state), handle.remove(), list(state), list(o.state_dict()), len(o.state), log
a wrapper around another, as libraries have them, which has no state of its own
    class Around(torch.optim.Optimizer):
        def __init__(self, inner):
            self.inner, self.param_groups = inner, inner.param_groups
        def step(self, closure=None):
            return self.inner.step(closure)
    (p, *_), optimizer = made("SGD")
    p.grad = torch.ones_like(p)
    Around(optimizer).step(), p
""")
