"""Anomaly mode: turning it on and off; which operation was the first to make nan or infinity."""

import re
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nanotorch as torch
from nanotorch import nn
from nanotorch._core.call_site import relative_path
from nanotorch._core.op import OPS, Array, op
from nanotorch.autograd.anomaly import nonfinite_level
from nanotorch.autograd.anomaly_mode import (
    NonFiniteWarning,
    first_nonfinite,
    set_detect_anomaly,
)
from tests.autograd.golden_function import leaf, make
from tests.autograd.watching import failure_of, found_in, line_of, watching
from tests.ops.cases import Case, cases
from tests.several import in_threads


def kernels() -> list[bool]:
    """Of each operation, whether its own kernel is called."""
    return [o.namespace["kernel"] is o.called for o in OPS.values()]


def test_kernels_are_watched_in_the_mode_and_as_they_were_after_it() -> None:
    views = [o.view for o in OPS.values()]

    def fail() -> None:
        with set_detect_anomaly(False):
            assert all(kernels())
            raise ValueError("inside")

    assert all(kernels())
    with set_detect_anomaly(True):
        assert kernels() == views
        with pytest.raises(ValueError, match="inside"):
            fail()
        assert kernels() == views
        with set_detect_anomaly(True, check_nan=False):
            assert all(kernels())
    assert all(kernels())


def inverted(input: Array) -> Array:
    """``1 / input``."""
    return 1 / input


def test_operations_that_are_declared_in_the_mode_are_watched() -> None:
    before = dict(OPS)
    try:
        with watching() as told:
            op(method=False, public=False)(inverted)(torch.zeros(2))
    finally:
        for name in set(OPS) - set(before):
            del OPS[name]
    assert [text.partition(",")[0] for text in told] == ["inverted gave inf in all 2 elements"]


def test_threads_leave_the_mode_in_any_order() -> None:
    entered, left = threading.Barrier(2), threading.Event()
    seen: list[bool] = []

    def work(number: int) -> None:
        with set_detect_anomaly(True):
            entered.wait()
            if number:
                left.wait()
                seen.append(torch.is_anomaly_enabled())
        if not number:
            left.set()

    in_threads(work, 2)
    assert seen == [True]
    assert not torch.is_anomaly_enabled()
    assert all(kernels())


def test_watching_changes_no_result() -> None:
    def run() -> list[bytes]:
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
        optimizer = torch.optim.Adam(net.parameters())
        for _ in range(3):
            optimizer.zero_grad()
            nn.functional.mse_loss(net(torch.randn(5, 3)), torch.randn(5, 1)).backward()
            optimizer.step()
        return [p.detach().numpy().tobytes() for p in net.parameters()]

    plain = run()
    with watching() as told:
        assert run() == plain
    assert told == []
    assert first_nonfinite() is None


def test_the_record_of_a_phase_that_there_is_not() -> None:
    with pytest.raises(ValueError, match="phase is 'sideways', but must be 'forward', 'backward'"):
        first_nonfinite("sideways")


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
        f"    at {relative_path(__file__)}:{found.line}, in forward: return torch.log(x)  # told",
        "    in module Net.body.1.1 (Log)",
        "    input: float32 of shape [1, 3], from 0 to 2.5",
        "    result: float32 of shape [1, 3], -inf in 1, else from -0.693147 to 0.916291",
    ]


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
    "random numbers": (lambda: torch.empty(3).normal_(1e39), "a random fill gave inf in all 3"),
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


def unchecked() -> None:
    with set_detect_anomaly(True, check_nan=False):
        torch.zeros(1).log()


def infinity_then_nan() -> None:
    for _ in range(3):
        low = torch.zeros(2).log()
        low * 0
        low.exp().log() - torch.full((2,), -INF)


def nested_contexts() -> None:
    with set_detect_anomaly(True):
        torch.zeros(1).log()
    with set_detect_anomaly(True, check_nan=False), set_detect_anomaly(False):
        pass
    torch.zeros(1).log()


def step(gradient: float, lr: float) -> None:
    w = torch.ones(2, requires_grad=True)
    w.grad = torch.tensor([gradient, 1.0])
    torch.optim.SGD([w], lr=lr).step()


# What is warned of, and that it is what is remembered first.
TOLD: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "infinity, then nan": (infinity_then_nan, ["log gave -inf in all 2", "mul gave nan in all 2"]),
    "nan alone": (lambda: (torch.zeros(2) / 0, torch.zeros(2).log()), ["div gave nan in all 2"]),
    "nested contexts": (nested_contexts, ["log gave -inf, from finite"]),
    "a step": (lambda: step(1e30, 1e30), ["SGD.step gave -inf in 1 of 2 elements, from finite"]),
    "a step out of infinity": (lambda: step(INF, 1.0), []),
    "what is not looked at": (unchecked, []),
    "finite numbers": (lambda: (torch.ones(3) * 2).exp().log().sum(), []),
    "a mask of infinities": (lambda: attention(torch.ones(2, 2), torch.eye(2) > 0), []),
    "a mask that is added": (lambda: (torch.ones(2) + torch.tensor([0.0, -INF])).softmax(0), []),
    "infinity as an argument": (lambda: torch.ones(2).clamp(max=INF) * INF, []),
    "infinities that are written": (
        lambda: torch.zeros(2).fill_(INF).masked_fill_(torch.tensor([True, False]), NAN), [],
    ),
    "nan that was there": (lambda: torch.tensor([NAN, 1.0]).exp().sum(), []),
    "infinity that was there": (lambda: torch.tensor([INF]).exp().sqrt(), []),
    "memory as it was": (lambda: torch.empty(100).mul_(1), []),
    "views": (lambda: torch.full((2, 2), NAN)[0].T.reshape(-1).unsqueeze(0).split(1, 1), []),
    "integers": (lambda: torch.tensor([1, 2]) // torch.tensor([2, 1]), []),
    "comparisons": (lambda: torch.tensor([NAN, INF]).isfinite() | (torch.ones(2) > NAN), []),
    "inside one operation": (
        lambda: nn.functional.binary_cross_entropy(*[torch.tensor([0.0, 1.0])] * 2), [],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("call", "begins"), TOLD.values(), ids=TOLD)
def test_what_is_told(call: Callable[[], Any], begins: list[str]) -> None:
    with watching() as told:
        call()
    assert len(told) == len(begins)
    assert all(map(str.startswith, told, begins)), told
    assert [str(found) for found in [first_nonfinite()] if found] == told[:1]
    with watching():  # another record
        assert first_nonfinite() is None


def is_clean(case: Case) -> bool:
    """Whether a sample makes finite results of finite numbers, and shows all of them."""
    # A loss of labels that do not fit is infinite before `zero_infinity` hides it.
    if case.name.startswith("info of ") or "zero_infinity" in case.sample.kwargs:
        return False
    try:
        call = case.call("float32")
        return not nonfinite_level(call.tensors) and not nonfinite_level(call())
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

    with pytest.warns(NonFiniteWarning) as caught, set_detect_anomaly(True):
        in_threads(lambda _: load(), 1)
    (told,) = caught
    assert issubclass(NonFiniteWarning, UserWarning)
    assert (told.filename, told.lineno) == (__file__, line_of(__file__, "in a worker"))
    assert first_nonfinite().line == told.lineno  # type: ignore[union-attr]


def test_sqrt_at_zero() -> None:
    def run() -> None:
        x = leaf(torch, 0.0, 1.0)
        (x.sqrt() * torch.tensor([0.0, 1.0])).sum().backward()  # the call

    text, where = failure_of(run)
    assert text == "Function 'SqrtBackward0' returned nan values in its 0th output."
    assert where.splitlines() == [
        "in the backward pass SqrtBackward0 gave nan in 1 of 2 elements, from finite gradients",
        f"    for the call at {relative_path(__file__)}:{line_of(__file__, '# the call')}, in run: "
        "(x.sqrt() * torch.tensor([0.0, 1.0])).sum().backward()  # the call",
        "    grad_output: float32 of shape [2], from 0 to 1",
        "    result: float32 of shape [2], from 0 to 1",
        "    gradient of input: float32 of shape [2], nan in 1, else 0.5",
        "No operation of the forward pass had made such a value.",
    ]
    found = first_nonfinite()
    assert (found.op, found.phase) == ("SqrtBackward0", "backward")  # type: ignore[union-attr]
    assert found is first_nonfinite("backward")
    assert first_nonfinite("forward") is None


def test_the_forward_pass_is_told_first() -> None:
    net, x = Log(), leaf(torch, 0.0, 1.0)
    text, where = failure_of(lambda: torch.where(x > 0, net(x), x).sum().backward())
    assert text == "Function 'LogBackward0' returned nan values in its 0th output."
    before, after = where.split("\nthen ")
    assert before.startswith("in the forward pass log gave -inf in 1 of 2 elements")
    assert after.startswith("in the backward pass LogBackward0 gave nan in 1 of 2 elements")
    for part in (before, after):
        assert "    in module Log\n" in part
        assert "    input: float32 of shape [2], from 0 to 1\n" in part
    assert first_nonfinite("forward").op == "log"  # type: ignore[union-attr]


def test_infinity_alone_is_remembered_without_a_word() -> None:
    x = leaf(torch, 0.0)
    with watching() as told:
        x.sqrt().backward()
    assert told == []
    assert x.grad.item() == INF
    assert str(first_nonfinite()).startswith("SqrtBackward0 gave inf, from finite gradients")


def user_function(forward: Any, backward: Any) -> Any:
    return make(torch, lambda ctx, x: forward(x), lambda ctx, g: backward(g)).apply


def infinity_first() -> None:
    (leaf(torch, 0.0, 1.0) * 0).sqrt().sum().backward()


def an_earlier_pass() -> None:
    x = leaf(torch, 0.0)
    torch.zeros(1).log()
    x.sqrt().backward()
    (x.exp() * (x + 1).log()).backward()
    (x.sqrt() * 0).backward()


def a_write_to_a_view() -> None:
    base = leaf(torch, 1.0, 1.0) * 1
    base[:1].sub_(1).sqrt_()  # a write to a view
    (base * torch.tensor([0.0, 1.0])).sum().backward()


def gradients_of_gradients() -> None:
    x = leaf(torch, 0.0)
    (g,) = torch.autograd.grad(x**1.5, x, create_graph=True)  # what it is the gradient of
    (g * 0).backward()


def the_line_in_a_users_backward() -> None:
    function = user_function(lambda x: x * 1, lambda g: g / 0 * 0)  # in the user's backward
    function(leaf(torch, 1.0)).backward()


def elsewhere(x: Any) -> Any:
    return torch.from_numpy(x.detach().numpy() * np.float32(NAN))


def a_hook() -> None:
    y = leaf(torch, 1.0) * 1
    y.register_hook(lambda g: g.log() - g.log() / 0)  # in the hook
    y.backward()


def given_to_backward() -> None:
    (leaf(torch, 1.0, 1.0) * 2).backward(torch.tensor([NAN, 1.0]))


SQRT = "in the backward pass SqrtBackward0 gave "
# What fails, the parts of the story as they begin, what else is told.
STORIES: list[tuple[Any, list[str], str]] = [
    (infinity_first, [SQRT + "inf in all 2 elements, from",
                      "in the backward pass MulBackward0 gave nan in all 2 elements, from gr"], ""),
    (an_earlier_pass, ["before an earlier backward pass log gave -inf", SQRT + "nan"], ""),
    (a_write_to_a_view, [""], "    result: float32 of shape [1], 0\n"),
    (a_write_to_a_view, [""], "# a write to a view"),
    (gradients_of_gradients, ["in the backward pass PowBackward0 gave nan"],
     "# what it is the gradient of"),
    (the_line_in_a_users_backward,
     ["in the backward pass div gave inf, from finite inputs",
      "in the backward pass MineBackward gave nan, from finite gradients"], "# in the user's"),
    (lambda: user_function(elsewhere, elsewhere)(leaf(torch, 1.0)).backward(),
     ["in the forward pass Mine gave nan", "in the backward pass MineBackward gave nan"], ""),
    (a_hook, ["in the backward pass div gave nan, from finite inputs"], "# in the hook"),
    (given_to_backward,
     ["in the backward pass MulBackward0 was given nan in 1 of 2 elements of"],
     "\nIt was passed to backward(), it came from a hook, or finite gradients added up to it."),
    (lambda: (leaf(torch, 1.0, 1.0) * torch.tensor([NAN, 1.0])).sum().backward(),
     ["in the forward pass mul was given nan in 1 of 2 elements of other\n"], ""),
]  # fmt: skip


@pytest.mark.parametrize(("run", "parts", "beyond"), STORIES)
def test_the_story(run: Any, parts: list[str], beyond: str) -> None:
    text, where = failure_of(run)
    assert re.match(r"Function '\S+' returned nan values in its 0th output\.$", text)
    found = where.split("\nthen ")
    assert all(map(str.startswith, found, parts)), where
    assert len(found) >= len(parts)
    line = (
        f"{relative_path(__file__)}:{line_of(__file__, beyond)}"
        if beyond.startswith("#")
        else beyond
    )
    assert line in where


def test_only_what_the_mode_saw_is_said_of_the_forward_pass() -> None:
    y = leaf(torch, 0.0).sqrt() * 0  # before the mode
    _, where = failure_of(y.backward)
    assert f":{line_of(__file__, '# before the mode')}, in test_only_what" in where
    assert where.endswith("gradient of input: float32 of shape [1], nan")
    with set_detect_anomaly(True):
        y = leaf(torch, 0.0).sqrt() * 0
    _, where = failure_of(y.backward)  # the mode was off in between
    assert where.endswith("gradient of input: float32 of shape [1], nan")
