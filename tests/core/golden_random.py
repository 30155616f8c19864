"""Random programs of views and writes, and random graphs with hooks, run by random calls."""

import random
from collections.abc import Callable
from typing import Any

from tests.answers import name_of, raised

Step = tuple[str, Callable[..., Any]]


def summed(t: Any) -> str | None:
    """One number that tells whether values are right and in their places."""
    if t is None:
        return None
    return f"{sum(v * (k + 1) for k, v in enumerate(t.detach().flatten().tolist())):.8g}"


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
    grads = [leaf.grad for leaf in leaves]
    return [told, states, text, *([summed(t) for t in ts] for ts in (usable, grads))]


def programs(torch: Any) -> Any:
    return [run_program(torch, seed) for seed in range(180)]


def operation(torch: Any, rng: random.Random, tensors: list[Any]) -> Any:
    """One more tensor of three elements, made of some of those there are."""
    a, b = rng.choice(tensors), rng.choice(tensors)
    choices = [
        lambda: a * b, lambda: a + b, lambda: a.sin(), lambda: a - 0.5 * b,
        lambda: torch.cat([a[:1], b[1:]]), lambda: torch.stack([a, b, a]).sum(0),
        lambda: torch.cat(a.split(1)[::-1]), lambda: a.max() * b, lambda: (a.detach() * b).clone(),
        lambda: (a * 1).mul_(b), lambda: a.reshape(3, 1).expand(3, 2).mean(1),
        lambda: a.float().double(), lambda: torch.where(a > b, a, b), lambda: a / (b * b + 1),
    ]  # fmt: skip
    return rng.choice(choices)()


class Watch:
    """Puts hooks on tensors and nodes and keeps what they saw."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.log = rng, []

    def tensor(self, t: Any, name: str) -> None:
        if self.rng.random() < 0.4:
            factor = self.rng.choice([None, None, 2.0])

            def hook(g: Any) -> Any:
                self.log.append(f"{name} {summed(g)}")
                return None if factor is None or g is None else g * factor

            t.register_hook(hook)
        if t.grad_fn is None and self.rng.random() < 0.3:
            t.register_post_accumulate_grad_hook(
                lambda t: self.log.append(f"{name} post {summed(t.grad)}")
            )
        if t.grad_fn is None:
            return
        if self.rng.random() < 0.3:
            t.retain_grad()
        if self.rng.random() < 0.2:
            t.grad_fn.register_prehook(
                lambda grads: self.log.append(f"{name} pre {[summed(g) for g in grads]}")
            )
        if self.rng.random() < 0.2:
            t.grad_fn.register_hook(
                lambda inputs, outputs: self.log.append(
                    f"{name} node {[summed(g) for g in inputs]} {[summed(g) for g in outputs]}"
                )
            )


def call(torch: Any, rng: random.Random, loss: Any, tensors: list[Any]) -> Any:
    """Run the graph backward in one of the many ways."""
    some = rng.sample(tensors, min(len(tensors), rng.randint(1, 3)))
    retain, create = rng.random() < 0.6, rng.random() < 0.3
    kind = rng.choice(["backward", "grad", "grad", "inputs", "grad unused"])
    if kind == "backward":
        return raised(lambda: loss.backward(retain_graph=retain))
    if kind == "inputs":
        return raised(lambda: loss.backward(inputs=some, retain_graph=retain))
    unused = True if kind == "grad unused" else None
    found: list[Any] = []

    def grad() -> None:
        found.extend(
            torch.autograd.grad(
                loss, some, retain_graph=retain, create_graph=create, allow_unused=unused
            )
        )

    text = raised(grad)
    return [
        text[:90], [summed(g) for g in found], [g is not None and g.requires_grad for g in found],
    ]  # fmt: skip


def run_graph(torch: Any, seed: int) -> Any:
    """One graph: the log of its hooks, what the calls returned, the gradients in the end."""
    rng = random.Random(seed)
    watch = Watch(rng)
    leaves = [
        (torch.arange(3.0, dtype=torch.float64) / 4 + k - 1).requires_grad_()
        for k in range(rng.randint(1, 4))
    ]
    tensors = list(leaves)
    for leaf, name in zip(leaves, "abcd", strict=False):
        watch.tensor(leaf, name)
    for k in range(rng.randint(2, 12)):
        out = operation(torch, rng, tensors)
        if out.requires_grad:
            watch.tensor(out, f"t{k}")
            tensors.append(out)
    loss = sum((t * (k + 1)).sum() for k, t in enumerate(tensors[-3:]))
    calls = [call(torch, rng, loss, tensors) for _ in range(rng.randint(1, 3))]
    grads = [summed(t.grad) if t.is_leaf or t.retains_grad else "-" for t in tensors]
    return [" | ".join(watch.log), calls, grads]


def graphs(torch: Any) -> Any:
    return [run_graph(torch, seed) for seed in range(80)]
