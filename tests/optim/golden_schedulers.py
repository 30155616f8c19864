"""Schedulers: rates step by step, closed forms, states, combinations, refusals, warnings."""

import functools
import types
from typing import Any

from tests.answers import sessions


def digits(value: Any) -> str:
    """A rate to twelve digits, so that another C library may round its cosine otherwise."""
    return f"{float(value):.12g}"


def optimizer_of(torch: Any, kind: str = "SGD", tensor: bool = False, **options: Any) -> Any:
    """Two groups with rates of their own."""
    a, b = (torch.nn.Parameter(torch.ones(2)) for _ in range(2))
    rates = [torch.tensor(0.05), torch.tensor(0.5)] if tensor else [0.05, 0.5]
    options = {"momentum": 0.9} | options if kind == "SGD" else options
    groups = [{"params": a, "lr": rates[0]}, {"params": b, "lr": rates[1]}]
    return getattr(torch.optim, kind)(groups, lr=rates[0], **options)


def advance(*stepping: Any, times: int = 1) -> None:
    for _ in range(times):
        for each in stepping:
            each.step()


def rates(optimizer: Any) -> list[str]:
    return [digits(group["lr"]) for group in optimizer.param_groups]


def shown(value: Any) -> Any:
    """A state with its numbers as digits."""
    if isinstance(value, dict):
        kind = "" if type(value) is dict else type(value).__name__
        return [kind, {str(k): shown(v) for k, v in value.items()}]
    if isinstance(value, (list, tuple)):
        return [shown(v) for v in value]
    return digits(value) if isinstance(value, float) else repr(value)


def drive(torch: Any, make: Any, steps: int = 12, **options: Any) -> Any:
    """The rates of every step, and what the scheduler and the optimizer hold in the end."""
    optimizer = optimizer_of(torch, **options)
    scheduler = make(optimizer)
    seen = [rates(optimizer)]
    for _ in range(steps):
        advance(optimizer, scheduler)
        seen.append(rates(optimizer))
        assert [digits(lr) for lr in scheduler.get_last_lr()] == seen[-1]
    groups = [{k: v for k, v in g.items() if k != "params"} for g in optimizer.param_groups]
    return [seen, shown(scheduler.state_dict()), shown(groups)]


def _makers(torch: Any) -> dict[str, Any]:
    """One of each scheduler that a step changes without being told anything."""
    s, swa = torch.optim.lr_scheduler, torch.optim.swa_utils.SWALR
    return {
        "average": lambda o: swa(o, 0.02),
        "average, linear": lambda o: swa(o, [0.2, 0.1], 4, anneal_strategy="linear"),
        "average, at once": lambda o: swa(o, 0.02, anneal_epochs=0),
        "lambda": lambda o: s.LambdaLR(o, lambda e: 0.95**e),
        "lambdas": lambda o: s.LambdaLR(o, [lambda e: 1 / (e + 1), lambda e: e % 3]),
        "multiplicative": lambda o: s.MultiplicativeLR(o, lambda e: 0.9 if e % 2 else 1.0),
        "step": lambda o: s.StepLR(o, 3),
        "step, rising": lambda o: s.StepLR(o, step_size=2, gamma=1.5),
        "milestones": lambda o: s.MultiStepLR(o, [7, 2, 4, 4], gamma=0.5),
        "constant": lambda o: s.ConstantLR(o),
        "constant, short": lambda o: s.ConstantLR(o, factor=0.25, total_iters=3),
        "linear": lambda o: s.LinearLR(o),
        "linear, falling": lambda o: s.LinearLR(o, 1.0, 0.1, total_iters=8),
        "exponential": lambda o: s.ExponentialLR(o, 0.9),
        "polynomial": lambda o: s.PolynomialLR(o),
        "polynomial, root": lambda o: s.PolynomialLR(o, total_iters=9, power=0.5),
        "cosine": lambda o: s.CosineAnnealingLR(o, 4),
        "cosine, floor": lambda o: s.CosineAnnealingLR(o, T_max=5, eta_min=0.01),
        "restarts": lambda o: s.CosineAnnealingWarmRestarts(o, 3),
        "restarts, longer": lambda o: s.CosineAnnealingWarmRestarts(o, 2, 2, 0.001),
        "one cycle": lambda o: s.OneCycleLR(o, 0.1, total_steps=13),
        "cyclic": lambda o: s.CyclicLR(o, 0.01, 0.1, step_size_up=3),
        "sequence": lambda o: s.SequentialLR(
            o, [s.ConstantLR(o, 0.1, 3), s.ExponentialLR(o, 0.9), s.StepLR(o, 2)], [3, 8]
        ),
        "chain": lambda o: s.ChainedScheduler([s.ConstantLR(o, 0.1, 4), s.ExponentialLR(o, 0.9)]),
    }


def _names(torch: Any) -> dict[str, Any]:
    s = torch.optim.lr_scheduler
    public = {name: value for name, value in vars(s).items() if isinstance(value, type)}
    return public | {
        "made": functools.partial(optimizer_of, torch), "types": types, "rates": rates,
        "o": optimizer_of(torch), "SWALR": torch.optim.swa_utils.SWALR, "advance": advance,
        "drive": functools.partial(drive, torch), "digits": digits, "shown": shown,
        "makers": _makers(torch),
    }  # fmt: skip


session = sessions(_names)

order_of_calls = session("""
the scheduler first
    scheduler = StepLR(o, 2)
    warned(scheduler.step), warned(scheduler.step)
before anybody looks
    o.step()
    warned(StepLR(o, 2).step)
two schedulers
    scheduler, other = StepLR(o, 2), StepLR(o, 3)
    o.step(), warned(scheduler.step), warned(other.step)
a step that is replaced
    scheduler = StepLR(o, 2)
    o.step = lambda: None
    warned(scheduler.step), warned(scheduler.step)
a step that was replaced before
    called = []
    o.step = types.MethodType(lambda self: called.append(1), o)
    scheduler = StepLR(o, 2)
    o.step(), warned(scheduler.step), called
hooks
    hooked = []
    _ = o.register_step_post_hook(lambda *_: hooked.append(1))
    scheduler = StepLR(o, 2)
    o.step(lambda: 3), hooked, warned(scheduler.get_lr), o.step.__name__
""")

arguments = session("""
of schedulers
    StepLR(3, 2), LambdaLR(o, [abs]), MultiplicativeLR(o, [abs]), MultiplicativeLR(o, 3)
    ConstantLR(o, 1.5), ConstantLR(o, -1), LinearLR(o, 0), LinearLR(o, 0.5, 2), LinearLR(o, 1.5)
    CosineAnnealingWarmRestarts(o, 0), CosineAnnealingWarmRestarts(o, 1.5)
    CosineAnnealingWarmRestarts(o, 1, 0), CosineAnnealingWarmRestarts(o, 1, eta_min="a")
    SWALR(o, 1, anneal_strategy="a"), SWALR(o, 1, -1), SWALR(o, 1, 1.5), SWALR(3, 1)
of cycles
    plain, over = made("Adagrad"), OneCycleLR(o, 0.1, total_steps=1)
    CyclicLR(3, 1, 2), CyclicLR(o, [1], 2), CyclicLR(o, 1, [2]), CyclicLR(o, 1, 2, mode="a")
    CyclicLR(plain, 1, 2), CyclicLR(o, 1, 2, base_momentum=[1]), OneCycleLR(3, 1)
    OneCycleLR(o, 1), OneCycleLR(o, 1, 0), OneCycleLR(o, 1, 1.5), OneCycleLR(o, 1, epochs=3)
    OneCycleLR(o, 1, epochs=0, steps_per_epoch=1), OneCycleLR(o, 1, epochs=1, steps_per_epoch=0.5)
    OneCycleLR(o, 1, 2, pct_start=2.0), OneCycleLR(o, 1, 2, pct_start=1)
    OneCycleLR(o, 1, 2, anneal_strategy="a"), OneCycleLR(plain, 1, 2), OneCycleLR(o, [1], 2)
    warned(over.step), over.step()
of several
    one, two, plateau = StepLR(o, 2), StepLR(made(), 2), ReduceLROnPlateau(o)
    SequentialLR(o, [], []), SequentialLR(o, [one], [2]), SequentialLR(o, [one, plateau], [2])
    SequentialLR(o, [3], []), SequentialLR(o, [one, two], [2]), ChainedScheduler([])
    ChainedScheduler([one, two]), ChainedScheduler([plateau]), ChainedScheduler([one, 3])
of plateaus
    scheduler = ReduceLROnPlateau(o, patience=0, min_lr=[0.1, 0.1])
    other = ReduceLROnPlateau(o, patience=0)
    _ = o.add_param_group({"params": torch.nn.Parameter(torch.ones(1))})
    _ = other.step(1.0), other.step(2.0), scheduler.step(1.0)
    rates(o), scheduler.step(2.0), warned(lambda: other.step(0, 7)), other.last_epoch
    other.get_lr(), ReduceLROnPlateau(o, factor=1.0), ReduceLROnPlateau(o, mode="less")
    ReduceLROnPlateau(o, threshold_mode="less"), ReduceLROnPlateau(o, min_lr=[1.0])
    ReduceLROnPlateau(3)
""")

uses = session("""
restarts between epochs
    for factor in (1, 2, 3):
        o = made()
        scheduler = CosineAnnealingWarmRestarts(o, 2, factor)
        for epoch in (0.25, 1.5, 2, 3.75, 5.5, 14.25, 1):
            _ = scheduler.step(epoch)
            rates(o), scheduler.last_epoch, digits(scheduler.T_cur), digits(scheduler.T_i)
        _ = scheduler.step()
        rates(o), scheduler.step(-1)
schedulers for a later epoch
    makes = [lambda o: StepLR(o, 3, last_epoch=4), lambda o: ExponentialLR(o, 0.9, last_epoch=4)]
    makes += [lambda o: CosineAnnealingLR(o, 7, last_epoch=4), lambda o: LinearLR(o, last_epoch=2)]
    makes += [lambda o: PolynomialLR(o, last_epoch=2), lambda o: MultiStepLR(o, [5], last_epoch=4)]
    makes += [lambda o: ConstantLR(o, last_epoch=2)]
    makes += [lambda o: LambdaLR(o, lambda e: e, last_epoch=4)]
    makes += [lambda o: CosineAnnealingWarmRestarts(o, 7, last_epoch=4)]
    makes += [lambda o: CyclicLR(o, 0.1, 0.2, 4, last_epoch=4, cycle_momentum=False)]
    for make in makes:
        o = made()
        raised(make, o)
        for group in o.param_groups:
            group["initial_lr"] = group["lr"] * 2
        scheduler = make(o)
        rates(o), o.step()
        for _ in range(3):
            scheduler.step(), rates(o)
sequences of sequences and chains, several schedulers of one optimizer
    inner = lambda o: SequentialLR(o, [LinearLR(o, 0.1, total_iters=2), StepLR(o, 2)], [2])
    drive(lambda o: SequentialLR(o, [inner(o), ExponentialLR(o, 0.5)], [5]))
    drive(lambda o: SequentialLR(o, [ConstantLR(o, 0.1, 2), inner(o)], [4]))
    drive(lambda o: ChainedScheduler([StepLR(o, 2), ExponentialLR(o, 0.9)]))
    drive(lambda o: SequentialLR(o, [StepLR(o, 2), ExponentialLR(o, 0.5)], [0]))
    drive(lambda o: ChainedScheduler((LinearLR(o), StepLR(o, 4)), o))
    first, second = StepLR(o, 2), ExponentialLR(o, 0.9)
    _ = advance(o, first, second, times=5)
    rates(o), first.get_last_lr() == second.get_last_lr()
objects in place of functions have a state of their own
    class Falling:
        def __init__(self, by):
            self.by = by
        def __call__(self, epoch):
            return self.by**epoch
    makes = [lambda o, f: LambdaLR(o, [f, lambda e: 1.0]), MultiplicativeLR]
    for make in (*makes, lambda o, f: CyclicLR(o, 0.1, 0.2, 2, scale_fn=f)):
        state, o = make(made(), Falling(0.5)).state_dict(), made()
        other = make(o, Falling(0.1))
        _ = other.load_state_dict(dict(state)), advance(o, other)
        shown(state), rates(o)
""")

rates_of = session("""
tensors
    # They stay the same objects and change in place.
    for name, make in makers.items():
        o = made(tensor=True)
        held = [group["lr"] for group in o.param_groups]
        scheduler = make(o)
        for _ in range(6):
            _ = advance(o, scheduler)
            [f"{float(rate):.5g}" for rate in held]
        [g["lr"] is t for g, t in zip(o.param_groups, held, strict=True)]
        [rate is t for rate, t in zip(scheduler.get_last_lr(), held, strict=True)]
        scheduler.get_last_lr()
cycles
    several = [{"step_size_down": 3}, {"mode": "triangular2"}, {"cycle_momentum": False}]
    several += [{"mode": "exp_range", "gamma": 0.9}, {"scale_fn": lambda x: 1 / x}]
    several += [{"base_momentum": [0.5, 0.6], "max_momentum": [0.7, 0.9]}]
    several += [{"scale_fn": lambda x: 0.9**x, "scale_mode": "iterations"}]
    once = [{"epochs": 3, "steps_per_epoch": 4}, {"total_steps": 12, "three_phase": True}]
    once += [{"total_steps": 12, "anneal_strategy": "linear"}]
    once += [{"total_steps": 12, "cycle_momentum": False}]
    more = {"base_momentum": 0.7, "max_momentum": [0.8, 0.9]}
    once += [more | {"total_steps": 12, "pct_start": 0.5, "div_factor": 10, "final_div_factor": 90}]
    for kind in ("SGD", "Adam"):
        for options in several:
            drive(lambda o: CyclicLR(o, [0.01, 0.02], [0.1, 0.3], 2, **options), kind=kind)
        for options in once:
            drive(lambda o: OneCycleLR(o, [0.1, 0.3], **options), kind=kind)
closed forms
    # Epochs given to `step`, which warns of it where they are deprecated.
    for make in [make for name, make in makers.items() if name not in ("sequence", "chain")]:
        o = made()
        scheduler = make(o)
        _ = o.step()
        for epoch in (5, 2, 9, 0, 3):
            warned(lambda: scheduler.step(epoch)), rates(o)
        scheduler.step(), rates(o), scheduler.last_epoch
plateaus
    metrics = [1.0, 0.9, 0.9, 0.89, 0.91, 0.95, 0.5, 0.6, 0.7, 0.7, 0.8, 0.4, 0.5, 0.5, 0.5]
    several = [{}, {"patience": 1}, {"mode": "max", "patience": 2}, {"patience": 0, "eps": 0.04}]
    several += [{"patience": 1, "cooldown": 2}, {"patience": 0, "factor": 0.5, "min_lr": 0.02}]
    several += [{"patience": 0, "min_lr": [0.01, 0.1]}, {"patience": 1, "threshold": 0.2}]
    several += [{"patience": 1, "threshold": 0.2, "threshold_mode": "abs"}]
    several += [{"patience": 1, "mode": "max", "threshold": 0.1, "threshold_mode": "abs"}]
    for options in several:
        for tensor in (False, True):
            o = made(tensor=tensor)
            scheduler = ReduceLROnPlateau(o, **options)
            for metric in metrics:
                _ = scheduler.step(torch.tensor(metric) if tensor else metric)
                [f"{float(group['lr']):.5g}" for group in o.param_groups]
            scheduler.in_cooldown, list(scheduler.state_dict())
            tensor or shown(scheduler.state_dict())
""")
