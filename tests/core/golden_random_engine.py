"""Random graphs with random hooks, run by random calls: who was told what, in which order."""

import random
from typing import Any

from tests.answers import raised


def summed(t: Any) -> str | None:
    """One number that tells whether values are right and in their places."""
    if t is None:
        return None
    return f"{sum(v * (k + 1) for k, v in enumerate(t.detach().flatten().tolist())):.7g}"


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
