"""An error in the middle of a replay is the step's own, and leaves behind what the step leaves."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nanotorch as torch
from nanotorch import nn, optim
from nanotorch.compile.codegen import Rollback
from nanotorch.compile.tape import OUTSIDE, TEMPORARY, Entry, Ref, Storage
from nanotorch.nn import functional as F
from tests.compile.beside import array, flat, of_leaf, snapshot, usual

Scene = tuple[Callable[[], Any], list[Any], Any]  # a step, its tensors, an index


def index() -> Any:
    return torch.tensor([0, 1, 2, 0, 1])


def classifying(model: Any, optimizer: Any = None, times: int = 1) -> Scene:
    x, target = array(5, 3), index()
    step, _ = usual(model, optimizer, lambda: F.cross_entropy(model(x), target))
    return lambda: [step() for _ in range(times)], [*model.parameters(), *model.buffers()], target


def in_the_loss() -> Scene:
    """After dropout has drawn and the running means have moved."""
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.3), nn.Linear(4, 3))
    return classifying(model, optim.SGD(model.parameters(), lr=0.1, momentum=0.9))


def in_the_loss_of_accumulated_gradients() -> Scene:
    return classifying(nn.Linear(3, 3), times=2)


def before_the_gradients_are_dropped() -> Scene:
    model, x, target = nn.Linear(3, 3), array(5, 3), index()
    optimizer = optim.Adam(model.parameters(), lr=0.1)

    def step() -> Any:
        loss = F.cross_entropy(model(x), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step, list(model.parameters()), target


def after_another_step() -> Scene:
    a, x = nn.Linear(3, 3), array(5, 3)
    first, _ = usual(a, optim.SGD(a.parameters(), lr=0.1, momentum=0.9), lambda: a(x).pow(2).sum())
    b = nn.Linear(3, 3)
    then, tensors, target = classifying(b, optim.Adam(b.parameters(), lr=0.1))
    return lambda: (first(), then()), [*a.parameters(), *tensors], target


def in_an_index_at_the_end() -> Scene:
    w, buffer, rows = array(3).requires_grad_(), torch.zeros(3), index()

    def step() -> Any:
        w.grad = None
        buffer.add_(1)
        (w * buffer).sum().backward()
        return w.detach()[rows].sum()

    return step, [w, buffer], rows


def in_a_gather() -> Scene:
    rows = index()
    step, state = of_leaf(lambda w: torch.gather(w, 0, rows).pow(2))
    return step, state(), rows


SCENES = [
    in_the_loss, in_the_loss_of_accumulated_gradients, before_the_gradients_are_dropped,
    after_another_step, in_an_index_at_the_end, in_a_gather,
]  # fmt: skip


def run(make: Callable[[], Scene], compiled: bool) -> list[Any]:
    """Calls of which some fail: results or errors, and the state after each."""
    torch.manual_seed(0)
    step, tensors, rows = make()
    function = torch.compile(step, fullgraph=True) if compiled else step
    found: list[Any] = []
    for n in range(14):
        rows[2] = 9 if n in (6, 7, 11) else 2
        try:
            found.append(flat(function()))
        except Exception as error:
            found.append([type(error), str(error), repr(error.__context__)])
        found.append(snapshot(tensors))
    if compiled:
        assert function.report().plans  # type: ignore[attr-defined]
    return found


@pytest.mark.parametrize("make", SCENES)
def test_an_error_in_a_replay(make: Callable[[], Scene]) -> None:
    expected = run(make, compiled=False)
    assert any(isinstance(part[0], type) for part in expected[12:14])
    assert run(make, compiled=True) == expected


@pytest.mark.parametrize("when", [1, 2, 3])
def test_an_error_while_a_step_is_captured_ends_nothing(when: int) -> None:
    """It comes in the traced call, in the compared one, or in the first replay."""
    torch.manual_seed(0)
    plain, _, rows = in_the_loss()
    torch.manual_seed(0)
    original, _, own = in_the_loss()
    step = torch.compile(original, fullgraph=True)
    state = torch.get_rng_state()
    for n in range(8):
        rows[2] = own[2] = 9 if n == when else 2
        found: list[Any] = []
        for function in (plain, step):
            torch.set_rng_state(state)
            try:
                found.append(flat(function()))
            except IndexError as error:
                found.append(str(error))
        state = torch.get_rng_state()
        assert found[0] == found[1]
    assert step.report().plans


def test_an_error_after_python_has_changed_something_is_not_had_twice() -> None:
    """What a step did in Python before an error in the traced call cannot be put back."""
    model, x, counts = nn.Linear(3, 3), array(5, 3), {"calls": 0}
    rows = index()

    def step() -> Any:
        if counts["calls"] or rows is None:
            counts["calls"] += 1
        return F.cross_entropy(model(x.detach()), rows).detach()

    compiled = torch.compile(step)
    compiled()
    counts["calls"], rows[2] = 1, 9
    with pytest.raises(IndexError, match="out of bounds"):
        compiled()
    assert counts["calls"] == 2


def test_what_cannot_be_put_back_is_raised_as_it_is() -> None:
    def written(kind: str, number: int) -> Entry:
        base = np.zeros(3)
        ref = Ref(Storage(base, kind, number), base)
        return Entry("ufunc", np.add, (ref, ref), {}, [ref], False)

    entries = [written(TEMPORARY, 0), written(OUTSIDE, 1), written(TEMPORARY, 2)]
    rollback = Rollback(entries, False)
    assert (rollback.limit, rollback.saved) == (1, {})

    def raised(line: int) -> Exception:
        space: dict[str, Any] = {}
        exec(compile("\n" * (line - 1) + "1 / 0", "replay", "exec"), space)
        return ZeroDivisionError()

    for line in (1, 2, 3):
        try:
            raised(line)
        except ZeroDivisionError as error:
            inner = error.with_traceback(error.__traceback__.tb_next.tb_next)  # type: ignore[union-attr]
            if line <= 2:
                rollback.put_back(inner, 1, [0, 1, 2])
            else:
                with pytest.raises(ZeroDivisionError):
                    rollback.put_back(inner, 1, [0, 1, 2])
