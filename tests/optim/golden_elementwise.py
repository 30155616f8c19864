"""Optimizers of a step size for every element: options, states, layouts, refusals."""

import copy
import functools
import itertools
import pickle
from typing import Any

from tests.answers import numbers, raised
from tests.optim.golden_sgd import feed, laid_out, start, trajectory, with_closures
from tests.optim.golden_state import made, plain

KINDS = ("Adadelta", "Adagrad", "Adamax", "ASGD", "NAdam", "RAdam", "RMSprop", "Rprop")
# One combination of options per optimizer that needs all of its state.
FULL: dict[str, dict[str, Any]] = {
    "Adadelta": {"rho": 0.8, "weight_decay": 0.1},
    "Adagrad": {"lr_decay": 0.1, "initial_accumulator_value": 0.5},
    "Adamax": {"betas": (0.5, 0.9), "maximize": True},
    "ASGD": {"t0": 2, "lambd": 0.1},
    "NAdam": {"decoupled_weight_decay": True, "weight_decay": 0.1},
    "RAdam": {"betas": (0.5, 0.9), "weight_decay": 0.1},
    "RMSprop": {"momentum": 0.9, "centered": True},
    "Rprop": {"etas": (0.3, 1.5), "step_sizes": (0.01, 0.2)},
}


def last(torch: Any, make: Any, steps: int, dtype: Any = None) -> Any:
    """Where a trajectory ends: parameters, state, counts of writes."""
    seen, state, versions = trajectory(torch, make, steps, dtype)
    return [seen[-1], state, versions]


def along(torch: Any, kind: str, steps: int = 12, **choices: Any) -> Any:
    """All combinations of the choices, the last also in double precision; the defaults."""
    make = getattr(torch.optim, kind)
    combinations = [
        dict(zip(choices, values, strict=True)) for values in itertools.product(*choices.values())
    ]
    answers = [last(torch, lambda ps: make(ps, lr=0.05, **given), steps) for given in combinations]
    given = combinations[-1]
    double = last(torch, lambda ps: make(ps, lr=0.05, **given), steps, torch.float64)
    return [*answers, double, last(torch, make, steps)]


def adadelta(torch: Any) -> Any:
    return along(torch, "Adadelta", rho=(0.9, 0.4), weight_decay=(0, 0.1), maximize=(False, True))


def adagrad(torch: Any) -> Any:
    return along(
        torch, "Adagrad", lr_decay=(0, 0.1), weight_decay=(0, 0.1),
        initial_accumulator_value=(0, 0.5), maximize=(False, True),
    )  # fmt: skip


def adamax(torch: Any) -> Any:
    betas = ((0.9, 0.999), (0.3, 0.5))
    return along(torch, "Adamax", betas=betas, weight_decay=(0, 0.1), maximize=(False, True))


def asgd(torch: Any) -> Any:
    return along(
        torch, "ASGD", lambd=(1e-4, 0.1), alpha=(0.75, 0.2), t0=(1e6, 5), weight_decay=(0, 0.1),
        maximize=(True,),
    )  # fmt: skip


def nadam(torch: Any) -> Any:
    return along(
        torch, "NAdam", betas=((0.9, 0.999), (0.3, 0.5)), weight_decay=(0, 0.1),
        momentum_decay=(4e-3, 0.1), decoupled_weight_decay=(False, True), maximize=(True,),
    )  # fmt: skip


def radam(torch: Any) -> Any:
    return along(
        torch, "RAdam", betas=((0.9, 0.999), (0.3, 0.5), (0.5, 0.8)), weight_decay=(0, 0.1),
        decoupled_weight_decay=(False, True), maximize=(False, True),
    )  # fmt: skip


def rmsprop(torch: Any) -> Any:
    return along(
        torch, "RMSprop", alpha=(0.99, 0.5), momentum=(0, 0.9), centered=(False, True),
        weight_decay=(0, 0.1), maximize=(True,),
    )  # fmt: skip


def rprop(torch: Any) -> Any:
    return along(
        torch, "Rprop", etas=((0.5, 1.2), (0.3, 1.7)), step_sizes=((1e-6, 50), (0.01, 0.05)),
        maximize=(False, True),
    )  # fmt: skip


def a_decay_that_it_has_not(torch: Any) -> Any:
    """A group's option of another optimizer is kept, and has no effect."""
    for later in (False, True):
        p = torch.tensor([1.0, -2.0, 0.05, 0.3], dtype=torch.float64, requires_grad=True)
        optimizer = torch.optim.Rprop([{"params": [p], **({} if later else {"weight_decay": 0.9})}])
        for step in range(6):
            if later and step == 3:
                optimizer.param_groups[0]["weight_decay"] = 0.9
            p.grad = torch.cos(p.detach() * 3)
            optimizer.step()
        yield [numbers(p), optimizer.param_groups[0]["weight_decay"]]


def rates_as_tensors(torch: Any) -> Any:
    for kind, options in FULL.items():
        make = getattr(torch.optim, kind)
        for lr in (torch.tensor(0.02), torch.tensor([0.02])):
            yield last(torch, lambda ps: make(ps, lr=lr, **options), 8)


def changed_options(torch: Any) -> Any:
    """What schedulers change between steps; one parameter joins late."""
    for kind, options in FULL.items():
        params, optimizer = made(torch, kind, steps=1, **options)
        for step, lr in enumerate((0.5, 0.25, 1e-3), 1):
            group = optimizer.param_groups[0]
            group["lr"] = lr
            if "betas" in group:
                group["betas"] = (0.5 + lr / 2, 0.99)
            feed(torch, params, step)
            if step > 1:
                params[2].grad = torch.ones(2)
            optimizer.step()
        yield numbers(params)


def groups(torch: Any) -> Any:
    for kind in KINDS:
        a, b, c = start(torch)
        optimizer = getattr(torch.optim, kind)([{"params": a}, {"params": b, "lr": 0.5}], lr=0.1)
        optimizer.add_param_group({"params": c, "maximize": True})
        for step in range(3):
            feed(torch, [a, b], step)
            c.grad = torch.ones(2)
            optimizer.step()
        yield [optimizer, numbers((a, b, c)), plain(optimizer.state_dict())]


def structures(torch: Any) -> Any:
    for kind, options in FULL.items():
        for given in ({}, options):
            _, optimizer = made(torch, kind, **given)
            yield [optimizer, plain(optimizer.state_dict())]
        fresh = getattr(torch.optim, kind)(start(torch))
        yield [fresh, plain(fresh.state_dict())]


def round_trips(torch: Any) -> Any:
    """A restored or copied optimizer goes on as the first would have."""
    for kind, options in FULL.items():
        params, optimizer = made(torch, kind, **options)
        copied = [torch.nn.Parameter(p.detach().clone()) for p in params]
        other = getattr(torch.optim, kind)(copied, lr=99.0)
        other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
        runs = [(params, optimizer), (copied, other)]
        for twin in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
            runs.append((twin.param_groups[0]["params"], twin))
        for ps, o in runs:
            for step in (7, 8):
                feed(torch, ps, step)
                o.step()
            yield [o, numbers(ps)]


def older_states(torch: Any) -> Any:
    """Numbers in place of tensors, options that did not exist; doubles from floats."""
    for kind, options in FULL.items():
        _, optimizer = made(torch, kind, **options)
        state = copy.deepcopy(optimizer.state_dict())
        for held in state["state"].values():
            for name in ("step", "mu_product", "eta", "mu"):
                if name in held:
                    held[name] = held[name].item()
        for name in ("foreach", "maximize", "differentiable", "capturable", "fused",
                     "decoupled_weight_decay", "centered"):  # fmt: skip
            state["param_groups"][0].pop(name, None)
        doubles = [p.detach().double().requires_grad_() for p in start(torch)]
        other = getattr(torch.optim, kind)(doubles)
        other.load_state_dict(state)
        held = other.state[doubles[0]]
        feed(torch, doubles, 1)
        yield [other, list(other.param_groups[0]),
               {name: [t.dtype, list(t.shape)] for name, t in held.items()}]  # fmt: skip


def default_dtypes(torch: Any) -> Any:
    """Counts take the default dtype."""
    torch.set_default_dtype(torch.float64)
    try:
        for kind in (*KINDS, "Adam"):
            params, optimizer = made(torch, kind, steps=1)
            yield {n: t.dtype for n, t in optimizer.state[params[0]].items()}
    finally:
        torch.set_default_dtype(torch.float32)


def layouts(torch: Any) -> Any:
    optim = torch.optim
    makes = [functools.partial(getattr(optim, kind), lr=0.1, **FULL[kind]) for kind in FULL]
    return laid_out(torch, *makes)


def not_finite(torch: Any) -> Any:
    for kind, options in FULL.items():
        p = torch.nn.Parameter(torch.tensor([1.0, 2.0, 3.0, 4.0]))
        optimizer = getattr(torch.optim, kind)([p], lr=0.1, **options)
        for step in range(3):
            bad = float("nan") if step == 1 else float("inf")
            p.grad = torch.tensor([0.5, -0.5, bad, -bad if step == 2 else 0.0])
            optimizer.step()
        yield [repr(p), [repr(t) for t in optimizer.state[p].values()]]


def closures(torch: Any) -> Any:
    return with_closures(torch, *(getattr(torch.optim, kind) for kind in KINDS))


def arguments(torch: Any) -> Any:
    p = [torch.nn.Parameter(torch.ones(1))]
    wrong: dict[str, list[dict[str, Any]]] = {
        "Adadelta": [{"rho": 1.1}, {"eps": -1}, {"weight_decay": -1}],
        "Adagrad": [{"lr_decay": -1}, {"weight_decay": -1}, {"initial_accumulator_value": -1},
                    {"eps": -1}, {"fused": True, "foreach": True},
                    {"fused": True, "differentiable": True}],
        "Adamax": [{"eps": -1}, {"betas": (1.0, 0.5)}, {"betas": (0.5, -1)}, {"weight_decay": -1}],
        "ASGD": [{"lambd": -1}, {"alpha": -1}, {"weight_decay": -1}],
        "NAdam": [{"eps": -1}, {"betas": (1.0, 0.5)}, {"betas": (0.5, -1)}, {"weight_decay": -1},
                  {"momentum_decay": -1}],
        "RAdam": [{"eps": -1}, {"betas": (1.0, 0.5)}, {"betas": (0.5, -1)}, {"weight_decay": -1}],
        "RMSprop": [{"eps": -1}, {"momentum": -1}, {"weight_decay": -1}, {"alpha": -1}],
        "Rprop": [{"etas": (1.0, 1.2)}, {"etas": (0.5, 1.0)}, {"etas": (0, 2)}],
        "SGD": [{"lr": -1}, {"fused": True, "differentiable": True}],
        "Adam": [{"lr": torch.tensor(0.1), "foreach": True}, {"lr": "a"},
                 {"fused": True, "differentiable": True}],
    }  # fmt: skip
    rates: list[dict[str, Any]] = [
        {"lr": -1}, {"lr": float("nan")}, {"lr": torch.ones(2)}, {"lr": "a"},
        {"lr": torch.tensor(-1.0)}, {"nothing": 1},
    ]  # fmt: skip
    return [
        [raised(getattr(torch.optim, kind), p, **given)
         for given in [*(rates if kind in KINDS else []), *cases]]
        for kind, cases in wrong.items()
    ]  # fmt: skip


def capturable(torch: Any) -> Any:
    """Only accelerators capture steps."""
    for kind in (*(k for k in KINDS if k != "Adagrad"), "Adam", "AdamW"):
        p = torch.nn.Parameter(torch.ones(1))
        optimizer = getattr(torch.optim, kind)([p], capturable=True)
        yield raised(optimizer.step)
        p.grad = torch.ones(1)
        yield [raised(optimizer.step), numbers(p)]
