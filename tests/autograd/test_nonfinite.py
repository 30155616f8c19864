"""Anomaly mode tells which operation of a forward pass was the first to make nan or infinity."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nanotorch as torch
from nanotorch import nn
from nanotorch._core.anomaly import level_of
from nanotorch._core.call_site import shown
from nanotorch.autograd.anomaly_mode import NonFiniteWarning, first_nonfinite, set_detect_anomaly
from tests.autograd.watching import found_in, line_of, watching
from tests.ops.cases import Case, cases
from tests.several import in_threads

NAN, INF = float("nan"), float("inf")


class Log(nn.Module):
    def forward(self, x: Any) -> Any:
        return torch.log(x)  # told


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.ReLU(), Log()))
        self.unregistered = [Log()]

    def forward(self, x: Any, aside: bool = False) -> Any:
        return self.unregistered[0](x) if aside else self.body(x)


def test_a_module_its_line_and_the_ranges_of_its_inputs() -> None:
    net = Net()
    with torch.no_grad():
        net.body[0].weight.fill_(0.0)
        net.body[0].bias.copy_(torch.tensor([-1.0, 0.5, 2.5]))
    found, told = found_in(lambda: net(torch.ones(1, 2)))
    assert (found.op, found.phase, found.module) == ("log", "forward", "Net.body.1.1 (Log)")
    assert found.file == __file__
    assert found.line == line_of(__file__, "# told")
    assert [str(r) for r in found.inputs] == ["input: float32 of shape [1, 3], from 0 to 2.5"]
    assert found.result.shape == (1, 3)
    assert found.result.count == (0, 0, 1)
    assert told == [str(found)]
    assert str(found).splitlines() == [
        "log gave -inf in 1 of 3 elements, from finite inputs",
        f"    at {shown(__file__)}:{found.line}, in forward: return torch.log(x)  # told",
        "    in module Net.body.1.1 (Log)",
        "    input: float32 of shape [1, 3], from 0 to 2.5",
        "    result: float32 of shape [1, 3], -inf in 1, else from -0.693147 to 0.916291",
    ]


def test_the_warning_stands_at_the_users_line() -> None:
    with pytest.warns(NonFiniteWarning) as caught, set_detect_anomaly(True):
        Log()(torch.zeros(1))
    assert caught[0].filename == __file__
    assert caught[0].lineno == line_of(__file__, "# told")
    assert issubclass(NonFiniteWarning, UserWarning)


def test_a_module_that_is_not_registered_is_named_by_its_class() -> None:
    found, _ = found_in(lambda: Net()(torch.zeros(1), aside=True))
    assert found.module == "Net > Log"
    found, _ = found_in(lambda: Log()(torch.zeros(1)))
    assert found.module == "Log"
    found, _ = found_in(lambda: torch.zeros(1).log())
    assert found.module is None


def reduced(x: Any) -> Any:
    return x[x > 10].mean()


GIVES = {
    "division of zero by zero": (lambda: torch.zeros(3) / 0, "div gave nan in all 3"),
    "division by zero": (lambda: 1 / torch.tensor([0.0, 1.0]), "reciprocal gave inf in 1 of 2"),
    "overflow": (lambda: torch.tensor([100.0, 1.0]).exp(), "exp gave inf in 1 of 2"),
    "an odd root": (lambda: torch.tensor(-8.0) ** 0.5, "pow gave nan, from finite inputs"),
    "a mean of nothing": (lambda: reduced(torch.ones(3)), "mean gave nan, from finite inputs"),
    "a spread of one": (lambda: torch.ones(1).std(), "std gave nan, from finite inputs"),
    "a smaller dtype": (lambda: torch.tensor([1e5]).half(), "to_copy gave inf, from finite inputs"),
    "in place": (lambda: torch.zeros(2).log_(), "log_ gave -inf in all 2"),
    "in place, a smaller dtype": (
        lambda: torch.ones(2).half().mul_(torch.tensor([1e5, 1.0])),
        "mul_ gave inf in 1 of 2 elements, from finite inputs",
    ),
    "an operator in place": (lambda: torch.zeros(2).__itruediv__(0), "div_ gave nan in all 2"),
    "a copy": (
        lambda: torch.zeros(2).copy_(torch.tensor([1e300, 1.0], dtype=torch.float64)),
        "copy_ gave inf in 1 of 2 elements, from finite inputs",
    ),
    "brackets": (
        lambda: torch.zeros(2).__setitem__(0, torch.tensor(1e300, dtype=torch.float64)),
        "index assignment gave inf, from finite inputs",
    ),
    "added at an index": (
        lambda: torch.full((1,), 3e38).index_add_(0, torch.tensor([0]), torch.tensor([3e38])),
        "index_add_ gave inf, from finite inputs",
    ),
    "random numbers": (lambda: torch.empty(3).log_normal_(1e3), "a random fill gave inf in all 3"),
    "out of infinity": (
        lambda: torch.full((2, 2), -INF).softmax(-1),
        "softmax gave nan in all 4 elements, from inputs without nan",
    ),
    "several inputs": (
        lambda: torch.stack([torch.ones(1), torch.zeros(1)]) * torch.full((2, 1), INF),
        "mul gave nan and inf in all 2 elements, from inputs without nan",
    ),
    "bare arrays": (lambda: torch.log(np.zeros(2)), "log gave -inf in all 2"),
}


@pytest.mark.parametrize(("call", "told"), GIVES.values(), ids=GIVES)
@pytest.mark.parametrize("grad_mode", [True, False, None], ids=["grad", "no_grad", "inference"])
def test_what_makes_it(call: Callable[[], Any], told: str, grad_mode: bool | None) -> None:
    def run() -> None:
        with torch.inference_mode() if grad_mode is None else torch.set_grad_enabled(grad_mode):
            call()

    found, warned = found_in(run)
    assert str(found).startswith(told)
    assert warned == [str(found)]
    assert found.file == __file__


def attention(scores: Any, mask: Any) -> Any:
    return scores.masked_fill(mask, -INF).softmax(-1)


SILENT = {
    "finite numbers": lambda: (torch.ones(3) * 2).exp().log().sum(),
    "a mask of infinities": lambda: attention(torch.ones(2, 2), torch.eye(2) > 0),
    "a mask that is added": lambda: (torch.ones(2) + torch.tensor([0.0, -INF])).softmax(0),
    "infinity as an argument": lambda: torch.ones(2).clamp(max=INF) * INF,
    "infinities that are written": lambda: (
        torch.zeros(2).fill_(INF).masked_fill_(torch.tensor([True, False]), NAN)
    ),
    "nan that was there": lambda: torch.tensor([NAN, 1.0]).exp().sum(),
    "infinity that was there": lambda: torch.tensor([INF]).exp().sqrt(),
    "memory as it was": lambda: torch.empty(100).mul_(1),
    "views": lambda: torch.full((2, 2), NAN)[0].T.reshape(-1).unsqueeze(0).split(1, 1),
    "integers": lambda: torch.tensor([1, 2]) // torch.tensor([2, 1]),
    "comparisons": lambda: torch.tensor([NAN, INF]).isfinite() | (torch.ones(2) > NAN),
    "inside one operation": lambda: nn.functional.binary_cross_entropy(
        torch.tensor([0.0, 1.0]), torch.tensor([0.0, 1.0])
    ),
}


@pytest.mark.parametrize("call", SILENT.values(), ids=SILENT)
def test_what_is_no_news(call: Callable[[], Any]) -> None:
    with watching() as told:
        call()
    assert told == []
    assert first_nonfinite() is None


def is_clean(case: Case) -> bool:
    """Whether a sample makes finite results of finite numbers, and shows all of them."""
    if case.name.startswith("info of "):
        return False
    try:
        call = case.call("float32")
        return not level_of(call.tensors) and not level_of(call())
    except Exception:
        return False


@pytest.mark.parametrize(
    "part", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 16))]
)
def test_operations_put_together_of_others_give_no_false_alarm(part: int) -> None:
    clean = [case for index, case in enumerate(cases()) if index % 16 == part and is_clean(case)]
    assert len(clean) > 100
    for case in clean:
        with watching() as told:
            case.call("float32")()
        assert told == [], case


def test_one_warning_of_infinity_and_one_of_nan() -> None:
    with watching() as told:
        for _ in range(3):
            low = torch.zeros(2).log()
            low * 0
            low.exp().log() - torch.full((2,), -INF)
    assert [text.partition(",")[0] for text in told] == [
        "log gave -inf in all 2 elements",
        "mul gave nan in all 2 elements",
    ]
    assert first_nonfinite().op == "log"  # type: ignore[union-attr]


def test_nan_first_is_all_that_is_told() -> None:
    with watching() as told:
        torch.zeros(2) / 0
        torch.zeros(2).log()
    assert [text.partition(",")[0] for text in told] == ["div gave nan in all 2 elements"]


def test_the_warning_as_an_error_stops_there() -> None:
    x = torch.zeros(2)
    with warnings.catch_warnings(), set_detect_anomaly(True):
        warnings.simplefilter("error", NonFiniteWarning)
        with pytest.raises(NonFiniteWarning, match="log_ gave -inf"):
            x.log_()
    assert x.tolist() == [0.0, 0.0]
    with watching() as told:  # and the mode is none the worse
        torch.zeros(2).log()
    assert len(told) == 1


def test_other_threads_are_watched() -> None:
    def load() -> None:
        torch.zeros(2).log()  # in a worker

    with watching() as told:
        in_threads(lambda _: load(), 1)
    assert len(told) == 1
    assert first_nonfinite().line == line_of(__file__, "in a worker")  # type: ignore[union-attr]


def test_a_step_of_an_optimizer() -> None:
    w = torch.ones(2, requires_grad=True)
    w.grad = torch.tensor([1e30, 1.0])
    found, told = found_in(torch.optim.SGD([w], lr=1e30).step)
    assert str(found).startswith("SGD.step gave -inf in 1 of 2 elements, from finite inputs")
    assert len(told) == 1
    w.grad = torch.tensor([INF, 1.0])
    with watching() as told:
        torch.optim.SGD([w], lr=1.0).step()
    assert [text.partition(",")[0] for text in told] == []
