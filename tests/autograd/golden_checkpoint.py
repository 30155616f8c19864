"""Checkpoints, both ways of computing again."""

import functools
from collections.abc import Callable
from typing import Any

from tests.answers import outcome, sessions
from tests.autograd.golden_function import leaf


def _names(torch: Any) -> dict[str, Any]:
    def counted(function: Callable[..., Any]) -> tuple[Callable[..., Any], list[int]]:
        """The function, and how often it has run."""
        runs = [0]

        def run(*args: Any, **kwargs: Any) -> Any:
            runs[0] += 1
            return function(*args, **kwargs)

        return run, runs

    def attempt(*runs: Any, **options: Any) -> Any:
        """What is told where the second run is another than the first."""
        left, x = [*runs], leaf(torch, 1.0, 2.0)
        y = checkpoint(lambda x: left.pop(0)(x), x, use_reentrant=False, **options)
        # PyTorch's advice after the first lines is about its own compiler.
        error = str(outcome(y.sum().backward)).split("\n.\n")[0].split(".\n\n")[0].rstrip(".")
        return [error.split("\ntensor at position")[0], x.grad]

    checkpoint = torch.utils.checkpoint.checkpoint
    ways = [functools.partial(checkpoint, use_reentrant=way) for way in (True, False)]
    return {
        "checkpoint": checkpoint, "ways": ways, "counted": counted, "attempt": attempt,
        "leaf": functools.partial(leaf, torch), "partial": functools.partial,
        "simple": ways[1], "x": leaf(torch, 1.0), "reentrant": ways[0],
    }  # fmt: skip


session = sessions(_names)

calls = session("""
the default way
    warned(lambda: checkpoint(lambda x: x * 2, x))
keywords
    def function(x, w):
        return x.exp() * w
    w = leaf(3.0)
    y = simple(function, x, w=w)
    _ = y.backward()
    y, x.grad, w.grad, reentrant(function, x, w=w)
    reentrant(function, x, w, context_fn=lambda: None), reentrant(function, x, w, other=1)
nothing requires grad
    for way in ways:
        function, runs = counted(lambda x: x * 2)
        warned(lambda: way(function, torch.ones(1)))
        with torch.no_grad(), warnings.catch_warnings(action="ignore"):
            way(function, torch.ones(1))
        runs
    w = leaf(2.0)
    _ = simple(lambda x: x * w, torch.ones(1)).backward()
    w.grad
what is no tensor
    for way in ways:
        x = leaf(1.0)
        y = way(lambda x, k, d: (x * k, d, 3), x, 2, {"a": 1})
        _ = y[0].backward()
        y[1:], x.grad
constant outputs
    for way in ways:
        x = leaf(2.0)
        y = way(lambda x: (x * 2, x.detach()), x)
        _ = y[0].backward()
        x.grad, y[1].requires_grad, way(lambda x: x.detach(), x).backward()
nested
    for way in ways:
        inner, runs = counted(lambda x: x.exp().sin())
        outer, outer_runs = counted(lambda x: way(inner, x) * x)
        x = leaf(1.0)
        y = way(outer, x)
        _ = y.backward()
        y.detach(), runs, outer_runs, x.grad
errors
    for way in ways:
        way(lambda x: 1 / 0, leaf(1.0))
""")

passes = session("""
random numbers: the second run draws what the first drew, and the stream goes on
    for way in ways:
        for preserve in (True, False):
            def function(x):
                drawn.append(torch.rand(4))
                return x * drawn[-1]
            _ = torch.manual_seed(0)
            drawn, x = [], torch.ones(4, requires_grad=True)
            y = way(function, x, preserve_rng_state=preserve)
            _ = torch.rand(3), y.sum().backward()
            torch.equal(drawn[0], drawn[1]), x.grad, torch.rand(1)
second passes
    for way in ways:
        function, runs = counted(lambda x: x.exp())
        x = leaf(1.0)
        y = way(function, x)
        y.backward(retain_graph=True), y.backward(), runs, x.grad, y.backward()
gradients of inputs
    y = simple(lambda x: x.exp() * x, x)
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    g, torch.autograd.grad(g, x)[0]
    y = reentrant(lambda x: x.exp(), x)
    torch.autograd.grad(y, x), y.backward(inputs=[x])
inputs are saved like any tensor: a write to them is found
    for way in ways:
        x = leaf(2.0) * 1
        y = way(lambda x: x.exp(), x)
        _ = x.add_(1)
        y.backward()
another second run
    once, twice = (lambda x: x.exp()), (lambda x: x.exp().exp())
    narrow = lambda x: x[:1].exp().expand(2)
    attempt(once, twice), attempt(twice, once), attempt(once, narrow)
    attempt(once, narrow, determinism_check="none")
early stops: the second run ends with the last tensor that is needed, unless told otherwise
    for options in ({}, {"early_stop": False}):
        def function(x):
            y = x.exp()
            log.append("exp")
            return y + 1
        log = []
        simple(function, leaf(1.0), **options).backward(), log
""")
