"""Optimizers, step by step over their options; arguments, groups, closures, hooks, states."""

import copy
import functools
import itertools
import pickle
import sys
from typing import Any

from tests.answers import numbers, sessions


def start(torch: Any, dtype: Any = None) -> list[Any]:
    """Two parameters with values and a frozen one."""
    g = torch.Generator().manual_seed(1)
    shapes = ((3, 2), (4,), (2,))
    kind = dtype or torch.float32
    return [torch.nn.Parameter(torch.randn(s, generator=g).to(kind)) for s in shapes]


def feed(torch: Any, params: list[Any], step: int) -> None:
    """Gradients that depend on the step only; the last parameter never has one."""
    g = torch.Generator().manual_seed(100 + step)
    for p in params[:2]:
        p.grad = torch.randn(p.shape, generator=g).to(p.dtype)


def trajectory(torch: Any, make: Any, steps: int = 6, dtype: Any = None) -> Any:
    params = start(torch, dtype)
    optimizer = make(params)
    seen = []
    for step in range(steps):
        feed(torch, params, step)
        optimizer.step()
        if step in (0, 1, steps - 1):
            seen.append(numbers(params))
    state = {str(k): {n: numbers(t) for n, t in v.items()}
             for k, v in optimizer.state_dict()["state"].items()}  # fmt: skip
    return [seen, state, [p._version for p in params]]


def made(torch: Any, kind: str, steps: int = 3, **options: Any) -> Any:
    params = start(torch)
    options = {"lr": 0.1} | options
    optimizer = getattr(torch.optim, kind)(params, **options)
    for step in range(steps):
        feed(torch, params, step)
        optimizer.step()
    return params, optimizer


def forms(torch: Any) -> Any:
    """What positions and tensors mean among the arguments."""
    SGD, Adam, AdamW = torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW
    betas = (torch.tensor(0.5), torch.tensor(0.75))
    for make in (
        lambda ps: SGD(ps, 0.05), lambda ps: SGD(ps, 0.05, 0.9, 0.1, 0.01),
        lambda ps: SGD(ps, torch.tensor(0.05), 0.9, 0, 0.01, True),
        lambda ps: Adam(ps, 0.1, (0.5, 0.9), 1e-3),
        lambda ps: Adam(ps, 0.1, weight_decay=0.3, decoupled_weight_decay=True),
        lambda ps: AdamW(ps, torch.tensor(0.01), amsgrad=True),
    ):  # fmt: skip
        yield trajectory(torch, make, 12, torch.float64)
    yield trajectory(torch, lambda ps: Adam(ps, 0.1, betas))
    for kind, other in itertools.product((torch.float32, torch.float64), repeat=2):
        close = torch.tensor(0.9, dtype=kind), torch.tensor(0.999, dtype=kind)
        yield trajectory(torch, lambda ps: Adam(ps, 0.1, close), 3, other)


def layouts(torch: Any) -> Any:
    """Parameters and gradients that are not contiguous, empty, or of no dimension."""
    for make in (
        lambda ps: torch.optim.SGD(ps, 0.1, 0.9, nesterov=True, weight_decay=0.1),
        lambda ps: torch.optim.Adam(ps, 0.1, amsgrad=True),
    ):  # fmt: skip
        values = torch.arange(12.0).reshape(3, 4)
        given = values.t(), torch.tensor(2.0), torch.empty(0, 3), torch.ones(4, 3)
        params = [torch.nn.Parameter(t) for t in given]
        optimizer = make(params)
        for _ in range(3):
            for p in params:
                p.grad = torch.ones(p.shape) * 0.5
            params[3].grad = torch.ones(3, 4).t()
            optimizer.step()
        state = [numbers(t) for s in optimizer.state.values() for t in s.values()]
        yield [numbers(params), state, numbers(values)]


def _names(torch: Any) -> dict[str, Any]:
    return {
        "SGD": torch.optim.SGD, "Adam": torch.optim.Adam, "AdamW": torch.optim.AdamW,
        "p": [torch.nn.Parameter(torch.ones(1))], "params": start(torch),
        "feed": functools.partial(feed, torch), "log": [], "sys": sys, "functools": functools,
        "start": functools.partial(start, torch), "copy": copy, "pickle": pickle,
        "made": functools.partial(made, torch),
    }  # fmt: skip


session = sessions(_names)

use = session("""
arguments
    leafless = torch.ones(1, requires_grad=True) * 2
    SGD(p, lr=-1), SGD(p, momentum=-1), SGD(p, weight_decay=-1), SGD(p, nesterov=True)
    SGD(p, momentum=1, dampening=1, nesterov=True), SGD(p, lr=torch.ones(2)), SGD(p, lr="a")
    SGD([]), SGD(p[0]), SGD([1]), SGD([leafless]), SGD([torch.nn.Linear]), Adam(p, lr=-1)
    Adam(p, eps=-1), Adam(p, betas=(1.0, 0.5)), Adam(p, betas=(0.5, -1.0))
    Adam(p, weight_decay=-1), Adam(p, betas=(0, 0.5)), Adam(p, lr=torch.ones(2))
    AdamW(p, betas=(0.5, torch.tensor(0.5))), AdamW(p, eps=float("nan"))
    SGD([{"params": p}, {"params": p}]), SGD([{"params": set(p)}])
    SGD([("a", p[0]), torch.nn.Parameter(torch.ones(1))]), warned(lambda: SGD(set(p)))
    warned(lambda: SGD([p[0], p[0]])), raised(torch.optim.Optimizer, p, {}).split("<")[0]
    SGD(p, fused=True, foreach=True)
groups
    (a, b, c), extra = params, torch.ones(1, requires_grad=True)
    o = SGD([{"params": [a]}, {"params": b, "lr": 0.5, "note": "mine"}], lr=0.1, momentum=0.9)
    o, [sorted(g) for g in o.param_groups], o.add_param_group({"params": c, "weight_decay": 0.2})
    o, o.add_param_group({"params": [a]}), o.add_param_group([a])
    o.add_param_group({"params": [1]}), o.add_param_group({"params": [("n", extra)]})
    [len(g["params"]) for g in o.param_groups]
    a.grad, b.grad = torch.ones(3, 2), torch.ones(4)
    o.step(), numbers(a), numbers(b), numbers(c), Adam([a]), AdamW([a], lr=torch.tensor(0.5))
zeroing
    o = SGD(params, lr=0.1)
    _ = feed(params, 0)
    kept = params[0].grad
    o.zero_grad(set_to_none=False), params[0].grad is kept, kept, params[2].grad, o.zero_grad()
    (params[0].grad,) = torch.autograd.grad((params[0] ** 3).sum(), params[0], create_graph=True)
    o.zero_grad(set_to_none=False), [p.grad for p in params[1:]], params[0].grad
hooks
    def note(name):
        return lambda o, args, kwargs: log.append([name, type(o).__name__, len(args), list(kwargs)])
    o = SGD(params, lr=0.1)
    _ = feed(params, 0)
    first, _ = o.register_step_pre_hook(note("pre")), o.register_step_post_hook(note("post"))
    o.step(), o.step(closure=lambda: 3), o.step(lambda: 3), first.remove()
    with o.register_step_pre_hook(lambda o, args, _: ((args[0], lambda: "replaced"), {})):
        o.step()
    _ = o.register_step_pre_hook(lambda o, args, kwargs: 3)
    raised(o.step).split("must")[1], log
hooks of a user's optimizer, whose step knows nothing of hooks
    class Own(torch.optim.Optimizer):
        def __init__(self, params, lr=0.1):
            super().__init__(params, {"lr": lr})
        @torch.no_grad()
        def step(self):
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        p.add_(p.grad, alpha=-group["lr"])
                        self.state[p]["count"] = self.state[p].get("count", 0) + 1
    o = Own(params, lr=0.1)
    _ = o.register_step_pre_hook(lambda *_: log.append("pre"))
    _ = o.register_step_post_hook(lambda *_: log.append("post")), feed(params, 0)
    o.step(), o, numbers(params[0]), list(o.state_dict()["state"]), log
required options
    class Own(torch.optim.Optimizer):
        pass
    required = sys.modules[f"{torch.__name__}.optim.optimizer"].required
    Own(p, {"lr": required}), Own(p, {}).step()
    Own([{"params": p, "lr": 1}], {"lr": required})
copies
    for make in (functools.partial(SGD, lr=0.1, momentum=0.9), functools.partial(Adam, lr=0.1)):
        params = start()
        o = make(params)
        _ = feed(params, 0), o.step()
        for other in (copy.deepcopy(o), pickle.loads(pickle.dumps(o))):
            copied = other.param_groups[0]["params"]
            for step in (1, 2):
                _ = feed(copied, step), other.step()
            other, numbers(copied), copied[0] is params[0], list(other.state_dict()["state"])
        numbers(params)
""")

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
