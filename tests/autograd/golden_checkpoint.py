"""Checkpoints, both ways of computing again."""

import functools
import warnings
from collections.abc import Callable
from typing import Any

from tests.answers import raised, warned
from tests.autograd.golden_function import leaf

BOTH = (True, False)


def counted(function: Callable[..., Any]) -> tuple[Callable[..., Any], list[int]]:
    """The function, and how often it has run."""
    runs = [0]

    def run(*args: Any, **kwargs: Any) -> Any:
        runs[0] += 1
        return function(*args, **kwargs)

    return run, runs


def _ways(torch: Any) -> list[Callable[..., Any]]:
    """`checkpoint`, both ways."""
    checkpoint = torch.utils.checkpoint.checkpoint
    return [functools.partial(checkpoint, use_reentrant=way) for way in BOTH]


def default_way(torch: Any) -> Any:
    module = torch.utils.checkpoint
    return warned(lambda: module.checkpoint(lambda x: x * 2, leaf(torch, 1.0)))


def keywords(torch: Any) -> Any:
    checkpoint = torch.utils.checkpoint.checkpoint
    x, w = leaf(torch, 1.0), leaf(torch, 3.0)

    def function(x: Any, w: Any) -> Any:
        return x.exp() * w

    y = checkpoint(function, x, w=w, use_reentrant=False)
    y.backward()
    return [
        y, x.grad, w.grad, raised(checkpoint, function, x, w=w, use_reentrant=True),
        raised(checkpoint, function, x, w, use_reentrant=True, context_fn=lambda: None),
        raised(checkpoint, function, x, w, use_reentrant=True, other=1),
    ]  # fmt: skip


def nothing_requires_grad(torch: Any) -> Any:
    checkpoint = torch.utils.checkpoint.checkpoint
    answers = []
    for way in BOTH:
        function, runs = counted(lambda x: x * 2)
        texts = warned(lambda way=way, f=function: checkpoint(f, torch.ones(1), use_reentrant=way))
        with torch.no_grad(), warnings.catch_warnings(action="ignore"):
            y = checkpoint(function, torch.ones(1), use_reentrant=way)
        answers.append([texts, y, runs])
    w = leaf(torch, 2.0)
    checkpoint(lambda x: x * w, torch.ones(1), use_reentrant=False).backward()
    return [answers, w.grad]


def random_numbers(torch: Any) -> Any:
    """The second run draws what the first drew, and the stream goes on as if it had not run."""
    for checkpoint in _ways(torch):
        for preserve in BOTH:
            torch.manual_seed(0)
            drawn: list[Any] = []

            def function(x: Any, drawn: list[Any] = drawn) -> Any:
                drawn.append(torch.rand(4))
                return x * drawn[-1]

            x = torch.ones(4, requires_grad=True)
            y = checkpoint(function, x, preserve_rng_state=preserve)
            torch.rand(3)
            y.sum().backward()
            yield [torch.equal(drawn[0], drawn[1]), x.grad, torch.rand(1)]


def second_passes(torch: Any) -> Any:
    for checkpoint in _ways(torch):
        function, runs = counted(lambda x: x.exp())
        x = leaf(torch, 1.0)
        y = checkpoint(function, x)
        y.backward(retain_graph=True)
        y.backward()
        yield [runs, x.grad, raised(y.backward)]


def gradients_of_inputs(torch: Any) -> Any:
    checkpoint = torch.utils.checkpoint.checkpoint
    x = leaf(torch, 1.0)
    y = checkpoint(lambda x: x.exp() * x, x, use_reentrant=False)
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    (h,) = torch.autograd.grad(g, x)
    reentrant = checkpoint(lambda x: x.exp(), x, use_reentrant=True)
    return [g, h, raised(torch.autograd.grad, reentrant, x), raised(reentrant.backward, inputs=[x])]


def what_is_no_tensor(torch: Any) -> Any:
    for checkpoint in _ways(torch):
        x = leaf(torch, 1.0)
        y = checkpoint(lambda x, k, d: (x * k, d, 3), x, 2, {"a": 1})
        y[0].backward()
        yield [y[1:], x.grad]


def constant_outputs(torch: Any) -> Any:
    for checkpoint in _ways(torch):
        x = leaf(torch, 2.0)
        y = checkpoint(lambda x: (x * 2, x.detach()), x)
        y[0].backward()
        none = checkpoint(lambda x: x.detach(), x)
        yield [x.grad, y[1].requires_grad, raised(none.backward)]


def nested(torch: Any) -> Any:
    checkpoint = torch.utils.checkpoint.checkpoint
    for way in BOTH:
        inner, runs = counted(lambda x: x.exp().sin())
        outer, outer_runs = counted(
            lambda x, way=way, inner=inner: checkpoint(inner, x, use_reentrant=way) * x
        )
        x = leaf(torch, 1.0)
        y = checkpoint(outer, x, use_reentrant=way)
        y.backward()
        yield [y.detach(), runs, outer_runs, x.grad]


def writes_in_between(torch: Any) -> Any:
    """Inputs are saved like any tensor: a write to them is found."""
    for checkpoint in _ways(torch):
        x = leaf(torch, 2.0) * 1
        y = checkpoint(lambda x: x.exp(), x)
        x.add_(1)
        yield raised(y.backward)


def errors(torch: Any) -> Any:
    checkpoint = torch.utils.checkpoint.checkpoint
    return [raised(checkpoint, lambda x: 1 / 0, leaf(torch, 1.0), use_reentrant=w) for w in BOTH]


def another_second_run(torch: Any) -> Any:
    checkpoint = torch.utils.checkpoint.checkpoint

    def attempt(first: Any, second: Any, **options: Any) -> Any:
        runs = [first, second]
        x = leaf(torch, 1.0, 2.0)
        y = checkpoint(lambda x: runs.pop(0)(x), x, use_reentrant=False, **options)
        # PyTorch's advice after the first lines is about its own compiler.
        error = raised(y.sum().backward).split("\n.\n")[0].split(".\n\n")[0].rstrip(".")
        error = error.split("\ntensor at position")[0]
        return [error, x.grad]

    def once(x: Any) -> Any:
        return x.exp()

    def twice(x: Any) -> Any:
        return x.exp().exp()

    def narrow(x: Any) -> Any:
        return x[:1].exp().expand(2)

    return [
        attempt(once, twice), attempt(twice, once), attempt(once, narrow),
        attempt(once, narrow, determinism_check="none"),
    ]  # fmt: skip


def early_stops(torch: Any) -> Any:
    """The second run ends with the last tensor that is needed, unless told otherwise."""
    module = torch.utils.checkpoint

    def attempt(**options: bool) -> list[str]:
        log: list[str] = []

        def function(x: Any) -> Any:
            y = x.exp()
            log.append("exp")
            return y + 1

        module.checkpoint(function, leaf(torch, 1.0), use_reentrant=False, **options).backward()
        return log

    return [attempt(), attempt(early_stop=False)]
