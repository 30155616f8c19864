"""Random programs of views and writes: values, histories, gradients and errors of each."""

import random
from collections.abc import Callable
from typing import Any

from tests.answers import name_of, raised

Step = tuple[str, Callable[..., Any]]


def views(rng: random.Random, t: Any) -> Step | None:
    """A random view of a tensor."""
    steps: list[Step] = []
    if t.dim() >= 1:
        k = rng.randrange(t.size(0))
        low = rng.randrange(t.size(0))
        steps += [
            (f"[{k}]", lambda t: t[k]), (f"[{low}:]", lambda t: t[low:]),
            ("[::2]", lambda t: t[::2]), ("unsqueeze", lambda t: t.unsqueeze(0)),
            ("detach", lambda t: t.detach()), ("narrow", lambda t: t.narrow(-1, 0, 1)),
            ("unbind", lambda t: t.unbind(0)[k]), ("[...]", lambda t: t[...]),
        ]  # fmt: skip
    if t.dim() >= 2:
        steps += [
            ("transpose", lambda t: t.transpose(0, 1)),
            ("[:, 0]", lambda t: t[:, 0]),
            ("diagonal", lambda t: t.diagonal()),
        ]
        if t.is_contiguous():
            steps.append(("view", lambda t: t.view(-1)))
    return rng.choice(steps) if steps and t.dim() < 4 else None


def writes(rng: random.Random, t: Any, other: Any) -> Step:
    """A random write to a tensor, with another as operand where it fits."""
    steps: list[Step] = [
        ("mul_ 2", lambda t, o: t.mul_(2.0)), ("add_ 1", lambda t, o: t.add_(1.0)),
        ("sin_", lambda t, o: t.sin_()), ("zero_", lambda t, o: t.zero_()),
        ("fill_", lambda t, o: t.fill_(0.5)), ("square out", lambda t, o: t * t),
        ("exp_", lambda t, o: t.mul_(0.1).exp_()),
    ]  # fmt: skip
    if other.shape == t.shape or other.dim() == 0:
        steps += [
            ("mul_ other", lambda t, o: t.mul_(o)),
            ("add_ other", lambda t, o: t.add_(o)),
            ("copy_ other", lambda t, o: t.copy_(o)),
            ("copy_ clone", lambda t, o: t.copy_(o.clone())),
            ("[...] = other", lambda t, o: t.__setitem__(..., o)),
        ]
    return rng.choice(steps)


def attempt(step: Step, *operands: Any) -> tuple[str, Any, str]:
    """Take one step: its name, what it made, and the error's text if there was one."""
    made: list[Any] = []
    text = raised(lambda: made.append(step[1](*operands)))
    return step[0], made[0] if made else None, text


def summed(t: Any) -> str:
    """One number that tells whether values are right and in their places."""
    return f"{sum(v * (k + 1) for k, v in enumerate(t.flatten().tolist())):.8g}"


def state(t: Any) -> Any:
    """What a tensor says of its history; the error, where asking for that is one."""
    text = raised(lambda: t.grad_fn)
    if not text.startswith("no error"):
        return text
    return [name_of(t.grad_fn), t.requires_grad, t._version, t._is_view()]


def run_program(torch: Any, seed: int) -> Any:
    """One program: what it did, what its tensors say of themselves, the gradients."""
    rng = random.Random(seed)
    leaves = [
        (torch.arange(12.0, dtype=torch.float64).reshape(3, 4) / 8 + k).requires_grad_()
        for k in range(2)
    ]
    constant = torch.ones(3, 4, dtype=torch.float64)
    live = [leaves[0] * 1, leaves[1] * 2, constant]
    told: list[Any] = []
    for _ in range(rng.randint(3, 12)):
        t, other = rng.choice(live), rng.choice(live)
        step = views(rng, t) if rng.random() < 0.5 else None
        if step is not None:
            name, made, text = attempt(step, t)
        else:
            name, made, text = attempt(writes(rng, t, other), t, other)
        told.append(name if text.startswith("no error") else [name, text])
        if made is not None and (step is not None or name == "square out"):
            live.append(made)
    states = [state(t) for t in live]
    usable = [t for t, seen in zip(live, states, strict=True) if isinstance(seen, list)]
    text = raised(lambda: sum((t * (k + 1)).sum() for k, t in enumerate(usable)).backward())
    values = [summed(t.detach()) for t in usable]
    grads = [None if leaf.grad is None else summed(leaf.grad) for leaf in leaves]
    return [told, states, text, values, grads]


def programs_0(torch: Any) -> Any:
    return [run_program(torch, seed) for seed in range(60)]


def programs_1(torch: Any) -> Any:
    return [run_program(torch, seed) for seed in range(60, 120)]


def programs_2(torch: Any) -> Any:
    return [run_program(torch, seed) for seed in range(120, 180)]
