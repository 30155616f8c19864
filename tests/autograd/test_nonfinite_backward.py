"""Anomaly mode tells where nan in a gradient comes from, in both passes."""

from typing import Any

import numpy as np

import nanotorch as torch
from nanotorch import nn
from nanotorch._core.call_site import shown
from nanotorch.autograd.anomaly_mode import first_nonfinite, set_detect_anomaly
from tests.autograd.golden_function import leaf, make
from tests.autograd.watching import failure_of, line_of, watching

NAN, INF = float("nan"), float("inf")


class Log(nn.Module):
    def forward(self, x: Any) -> Any:
        return torch.log(x)


def test_sqrt_at_zero() -> None:
    def run() -> None:
        x = leaf(torch, 0.0, 1.0)
        (x.sqrt() * torch.tensor([0.0, 1.0])).sum().backward()  # the call

    text, where = failure_of(run)
    assert text == "Function 'SqrtBackward0' returned nan values in its 0th output."
    assert where.splitlines() == [
        "in the backward pass SqrtBackward0 gave nan in 1 of 2 elements, from finite gradients",
        f"    for the call at {shown(__file__)}:{line_of(__file__, '# the call')}, in run: "
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


def test_infinity_first_then_nan() -> None:
    def run() -> None:
        x = leaf(torch, 0.0, 1.0)
        (x * 0).sqrt().sum().backward()

    text, where = failure_of(run)
    assert text == "Function 'MulBackward0' returned nan values in its 0th output."
    first, then = where.split("\nthen ")
    assert first.startswith("in the backward pass SqrtBackward0 gave inf in all 2 elements, from")
    assert then.startswith("in the backward pass MulBackward0 gave nan in all 2 elements, from gr")
    assert first_nonfinite().op == "SqrtBackward0"  # type: ignore[union-attr]


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


def test_each_backward_pass_has_its_own_story() -> None:
    x = leaf(torch, 0.0)

    def run() -> None:
        torch.zeros(1).log()
        x.sqrt().backward()
        (x.exp() * (x + 1).log()).backward()
        (x.sqrt() * 0).backward()

    _, where = failure_of(run)
    before, after = where.split("\nthen ")
    assert before.startswith("before an earlier backward pass log gave -inf")
    assert after.startswith("in the backward pass SqrtBackward0 gave nan")


def test_a_write_to_a_view() -> None:
    def run() -> None:
        base = leaf(torch, 1.0, 1.0) * 1
        base[:1].sub_(1).sqrt_()
        (base * torch.tensor([0.0, 1.0])).sum().backward()

    text, where = failure_of(run)
    assert text.startswith("Function 'torch::autograd::CopySlices' returned nan")
    assert f"for the call at {shown(__file__)}:{line_of(__file__, 'base[:1].sub_(1)')}" in where
    assert "    result: float32 of shape [1], 0\n" in where


def test_gradients_of_gradients() -> None:
    def run() -> None:
        x = leaf(torch, 0.0)
        (g,) = torch.autograd.grad(x**1.5, x, create_graph=True)  # what it is the gradient of
        (g * 0).backward()

    _, where = failure_of(run)
    assert where.startswith("in the backward pass PowBackward0 gave nan")
    assert f":{line_of(__file__, '# what it is the gradient of')}, in run" in where


def user_function(forward: Any, backward: Any) -> Any:
    return make(torch, lambda ctx, x: forward(x), lambda ctx, g: backward(g)).apply


def test_the_line_in_a_users_backward() -> None:
    function = user_function(lambda x: x * 1, lambda g: g / 0 * 0)  # in the user's backward

    text, where = failure_of(lambda: function(leaf(torch, 1.0)).backward())
    assert text == "Function 'MineBackward' returned nan values in its 0th output."
    first, then = where.split("\nthen ")
    assert first.startswith("in the backward pass div gave inf, from finite inputs")
    assert then.startswith("in the backward pass MineBackward gave nan, from finite gradients")
    assert f":{line_of(__file__, '# in the user')}" in where


def test_users_functions_that_compute_elsewhere() -> None:
    def elsewhere(x: Any) -> Any:
        return torch.from_numpy(x.detach().numpy() * np.float32(NAN))

    function = user_function(elsewhere, elsewhere)
    _, where = failure_of(lambda: function(leaf(torch, 1.0)).backward())
    assert where.startswith("in the forward pass Mine gave nan")
    assert "\nthen in the backward pass MineBackward gave nan" in where


def test_a_hook_that_makes_it() -> None:
    def run() -> None:
        y = leaf(torch, 1.0) * 1
        y.register_hook(lambda g: g.log() - g.log() / 0)  # in the hook
        y.backward()

    _, where = failure_of(run)
    assert where.startswith("in the backward pass div gave nan, from finite inputs")
    assert f":{line_of(__file__, '# in the hook')}" in where


def test_what_nothing_has_made() -> None:
    x = leaf(torch, 1.0, 1.0)
    _, where = failure_of(lambda: (x * 2).backward(torch.tensor([NAN, 1.0])))
    assert where.startswith("in the backward pass MulBackward0 was given nan in 1 of 2 elements of")
    assert where.endswith(
        "\nIt was passed to backward(), it came from a hook, or finite gradients added up to it."
    )
    _, where = failure_of(lambda: (x * torch.tensor([NAN, 1.0])).sum().backward())
    assert where.startswith("in the forward pass mul was given nan in 1 of 2 elements of other\n")


def test_only_what_the_mode_saw_is_said_of_the_forward_pass() -> None:
    y = leaf(torch, 0.0).sqrt() * 0  # before the mode
    _, where = failure_of(y.backward)
    assert f":{line_of(__file__, '# before the mode')}, in test_only_what" in where
    assert where.endswith("gradient of input: float32 of shape [1], nan")
    with set_detect_anomaly(True):
        y = leaf(torch, 0.0).sqrt() * 0
    _, where = failure_of(y.backward)  # the mode was off in between
    assert where.endswith("gradient of input: float32 of shape [1], nan")
