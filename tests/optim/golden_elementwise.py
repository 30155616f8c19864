"""Optimizers of a step size for every element: options, states, layouts, refusals."""

import itertools
import math
from typing import Any

from tests.answers import numbers, outcome, raised
from tests.optim.golden_sgd import feed, made, trajectory

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


# Of all combinations of the choices, where the trajectories end.
OF_ADAM = {"weight_decay": (0, 0.1), "amsgrad": (False, True), "maximize": (False, True)}
CHOICES: dict[str, dict[str, Any]] = {
    "SGD": {"momentum": (0, 0.9), "dampening": (0, 0.3), "weight_decay": (0, 0.1),
            "nesterov": (True, False), "maximize": (False, True)},
    "Adam": OF_ADAM, "AdamW": OF_ADAM,
    "Adadelta": {"rho": (0.9, 0.4), "weight_decay": (0, 0.1), "maximize": (False, True)},
    "Adagrad": {"lr_decay": (0, 0.1), "weight_decay": (0, 0.1),
                "initial_accumulator_value": (0, 0.5), "maximize": (False, True)},
    "Adamax": {"betas": ((0.9, 0.999), (0.3, 0.5)), "weight_decay": (0, 0.1),
               "maximize": (False, True)},
    "ASGD": {"lambd": (1e-4, 0.1), "alpha": (0.75, 0.2), "t0": (1e6, 5), "weight_decay": (0, 0.1),
             "maximize": (True,)},
    "NAdam": {"betas": ((0.9, 0.999), (0.3, 0.5)), "weight_decay": (0, 0.1),
              "momentum_decay": (4e-3, 0.1), "decoupled_weight_decay": (False, True),
              "maximize": (True,)},
    "RAdam": {"betas": ((0.9, 0.999), (0.3, 0.5), (0.5, 0.8)), "weight_decay": (0, 0.1),
              "decoupled_weight_decay": (False, True), "maximize": (False, True)},
    "RMSprop": {"alpha": (0.99, 0.5), "momentum": (0, 0.9), "centered": (False, True),
                "weight_decay": (0, 0.1), "maximize": (True,)},
    "Rprop": {"etas": ((0.5, 1.2), (0.3, 1.7)), "step_sizes": ((1e-6, 50), (0.01, 0.05)),
              "maximize": (False, True)},
}  # fmt: skip


def trajectories(torch: Any) -> Any:
    """The last combination also in double precision; the defaults."""
    answers = {}
    for kind, choices in CHOICES.items():
        make = getattr(torch.optim, kind)
        given = [
            dict(zip(choices, one, strict=True)) for one in itertools.product(*choices.values())
        ]
        ends = [outcome(last, torch, lambda ps: make(ps, lr=0.05, **some), 12) for some in given]
        double = last(torch, lambda ps: make(ps, lr=0.05, **given[-1]), 12, torch.float64)
        answers[kind] = [*ends, double, last(torch, make, 12)]
    return answers


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


def closures(torch: Any) -> Any:
    """Three steps with a closure, and one without."""
    for kind in CHOICES:
        p = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
        optimizer = getattr(torch.optim, kind)([p])

        def closure() -> Any:
            optimizer.zero_grad()
            loss = (p**2).sum()
            loss.backward()
            return loss

        with torch.no_grad():
            losses = [optimizer.step(closure) for _ in range(3)]
        yield [numbers(losses), numbers(p), optimizer.step()]


def arguments(torch: Any) -> Any:
    p = [torch.nn.Parameter(torch.ones(1))]
    wrong: dict[str, list[dict[str, Any]]] = {
        "Adadelta": [{"rho": 1.1}, {"eps": -1}, {"weight_decay": -1}],
        "Adagrad": [{"lr_decay": -1}, {"weight_decay": -1}, {"initial_accumulator_value": -1},
                    {"eps": -1}, {"fused": True, "foreach": True},
                    {"fused": True, "differentiable": True}],
        "Adamax": [{"eps": -1}, {"betas": (1.0, 0.5)}, {"betas": (0.5, -1)}, {"weight_decay": -1}],
        "ASGD": [{"lambd": -1}, {"alpha": -1}, {"weight_decay": -1}],
        "NAdam": [{"betas": (1, 0.9), "eps": -1}, {"betas": (1, 0.9), "weight_decay": -1},
                  {"eps": -1}, {"betas": (1.0, 0.5)}, {"betas": (0.5, -1)}, {"weight_decay": -1},
                  {"momentum_decay": -1}],
        "RAdam": [{"eps": -1}, {"betas": (1.0, 0.5)}, {"betas": (0.5, -1)}, {"weight_decay": -1}],
        "RMSprop": [{"alpha": -1, "weight_decay": -1, "momentum": -1},
                    {"eps": -1}, {"momentum": -1}, {"weight_decay": -1}, {"alpha": -1}],
        "Rprop": [{"etas": (1.0, 1.2)}, {"etas": (0.5, 1.0)}, {"etas": (0, 2)}],
        "SGD": [{"lr": -1}, {"fused": True, "differentiable": True}],
        "Adam": [{"lr": "a"}, {"betas": (1.0, 0.9), "eps": -1},
                 {"fused": True, "differentiable": True}, {"lr": torch.ones(()), "foreach": True}],
    }  # fmt: skip
    rates: list[dict[str, Any]] = [
        {"lr": -1}, {"lr": float("nan")}, {"lr": torch.ones(2)}, {"lr": "a"},
        {"lr": torch.tensor(-1.0)}, {"nothing": 1},
    ]  # fmt: skip
    return [
        [raised(getattr(torch.optim, kind), p, **given)
         for given in [*(rates if kind in CHOICES else []), *cases]]
        for kind, cases in wrong.items()
    ]  # fmt: skip


def capturable(torch: Any) -> Any:
    """Only accelerators capture steps."""
    for kind in (kind for kind in CHOICES if kind not in ("Adagrad", "SGD")):
        p = torch.nn.Parameter(torch.ones(1))
        optimizer = getattr(torch.optim, kind)([p], capturable=True)
        yield raised(optimizer.step)
        p.grad = torch.ones(1)
        yield [raised(optimizer.step), numbers(p)]


def gradients_beyond_squares(torch: Any) -> Any:
    """Of which the square, or the square of the average, exceeds single precision."""
    for momentum in (0, 0.9):
        for steps in ((1e19,), (1e20, 1.0), (1e30, 1e30), (1.0, -1e38), (math.inf, 1.0)):
            p = torch.nn.Parameter(torch.full((9,), 2.0))
            optimizer = torch.optim.RMSprop([p], centered=True, momentum=momentum)
            for g in steps:
                p.grad = torch.full((9,), g)
                optimizer.step()
            yield [p[0].item()]
