"""Anomaly mode: nan in gradients, and where the forward call stood."""

import warnings
from collections.abc import Callable
from typing import Any

from tests.answers import raised, seen_by
from tests.autograd.golden_function import leaf, make


def told_by(call: Callable[[], Any]) -> list[Any]:
    """The error, and each warning by its first line and the source line it ends with.

    Without those of values that are not finite, which PyTorch does not give.
    """
    with warnings.catch_warnings(record=True, action="always") as caught:
        error = raised(call)
    texts = []
    for warning in caught:
        if warning.category.__name__ == "NonFiniteWarning":
            continue
        text = str(warning.message).split(" (Triggered")[0]
        lines = [line.strip() for line in text.strip().split("\n")]
        texts.append([lines[0], lines[-1]])
    return [error, texts]


def nan_in_a_gradient(torch: Any) -> Any:
    x = torch.tensor([-1.0, 4.0], requires_grad=True)

    def run() -> None:
        with torch.autograd.detect_anomaly():
            y = x.sqrt()
            y.sum().backward()

    return [told_by(run), x.grad, torch.is_anomaly_enabled()]


@seen_by(told_by)
def forward_outside(torch: Any) -> None:
    x = leaf(torch, 0.0)
    y = x.sqrt() * 0
    with torch.autograd.set_detect_anomaly(True):
        y.backward()


@seen_by(told_by)
def writes_to_views(torch: Any) -> None:
    with torch.autograd.set_detect_anomaly(True):
        base = leaf(torch, 1.0, 2.0) * 2
        base[:1].mul_(float("nan"))
        base.sum().backward()


def calculations_in_a_backward_pass(torch: Any) -> Any:
    """A node made by a recorded pass names the call whose gradient it belongs to."""
    inner = make(torch, lambda ctx, g: g * 1, lambda ctx, g: g * float("nan"))
    outer = make(torch, lambda ctx, x: x * 1, lambda ctx, g: inner.apply(g))

    def run(forward_too: bool) -> None:
        x, w = leaf(torch, 1.0), leaf(torch, 1.0)
        y = None if forward_too else outer.apply(x)
        with torch.autograd.set_detect_anomaly(True):
            if forward_too:
                y = outer.apply(x)
            (g,) = torch.autograd.grad(y, x, w, create_graph=True)
            g.sum().backward()

    return [told_by(lambda: run(True)), told_by(lambda: run(False))]


@seen_by(told_by)
def gradients_of_inputs(torch: Any) -> None:
    x = leaf(torch, 1.0)
    with torch.autograd.set_detect_anomaly(True):
        y = x * 1
        torch.autograd.grad(y, x, torch.tensor([float("nan")]))


def switching(torch: Any) -> Any:
    yield from [torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()]
    with torch.autograd.set_detect_anomaly(True, check_nan=False):
        yield from [torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()]
        with torch.autograd.set_detect_anomaly(False):
            yield from [torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()]
        yield from [torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()]
    torch.autograd.set_detect_anomaly(True)
    with warnings.catch_warnings(action="ignore"), torch.autograd.detect_anomaly(check_nan=False):
        yield torch.is_anomaly_check_nan_enabled()
        torch.autograd.set_detect_anomaly(False)
        yield torch.is_anomaly_enabled()
    yield from [torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()]
    torch.autograd.set_detect_anomaly(False)
    yield torch.is_anomaly_enabled()
    yield raised(torch.autograd.set_detect_anomaly, "yes")
    yield raised(torch.autograd.set_detect_anomaly, True, 3)


def where_warnings_are_errors(torch: Any) -> Any:
    """The error is told all the same."""

    def changed() -> None:
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = x.exp()
        with torch.no_grad():
            y.add_(1)
        y.sum().backward()

    def nan() -> None:
        (torch.zeros(1, requires_grad=True).sqrt() * 0).sum().backward()

    def of_a_function() -> None:
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        make(torch, lambda ctx, x: x * 1, lambda ctx, g: 1 / 0).apply(x).sum().backward()

    for failing in (changed, nan, of_a_function):
        with warnings.catch_warnings(action="ignore"):
            mode = torch.autograd.detect_anomaly()
            warnings.simplefilter("error")
            with mode:
                yield raised(failing)
