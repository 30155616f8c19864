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
from tests.compile.beside import array, compare, of_leaf, usual

ROWS = torch.tensor([0, 1, 2, 0, 1])  # an index, out of bounds at some calls


def classifying(model: Any, optimizer: Any = None) -> Any:
    x = array(5, 3)
    return usual(model, optimizer, lambda: F.cross_entropy(model(x), ROWS))


def in_the_loss() -> Any:
    """After dropout has drawn and the running means have moved."""
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.3), nn.Linear(4, 3))
    return classifying(model, optim.SGD(model.parameters(), lr=0.1, momentum=0.9))


def in_the_loss_of_accumulated_gradients() -> Any:
    step, state = classifying(nn.Linear(3, 3))
    return lambda: [step() for _ in range(2)], state


def before_the_gradients_are_dropped() -> Any:
    model, x = nn.Linear(3, 3), array(5, 3)
    optimizer = optim.Adam(model.parameters(), lr=0.1)

    def step() -> Any:
        loss = F.cross_entropy(model(x), ROWS)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step, lambda: [*model.parameters()]


def after_another_step() -> Any:
    a, b, x = nn.Linear(3, 3), nn.Linear(3, 3), array(5, 3)
    optimizer = optim.SGD(a.parameters(), lr=0.1, momentum=0.9)
    first, state = usual(a, optimizer, lambda: a(x).pow(2).sum())
    then, other = classifying(b, optim.Adam(b.parameters(), lr=0.1))
    return lambda: (first(), then()), lambda: [*state(), *other()]


def in_an_index_at_the_end() -> Any:
    w, buffer = array(3).requires_grad_(), torch.zeros(3)

    def step() -> Any:
        w.grad = None
        buffer.add_(1)
        (w * buffer).sum().backward()
        return w.detach()[ROWS].sum()

    return step, lambda: [w, buffer]


def in_a_gather() -> Any:
    return of_leaf(lambda w: torch.gather(w, 0, ROWS).pow(2))


SCENES = [
    in_the_loss, in_the_loss_of_accumulated_gradients, before_the_gradients_are_dropped,
    after_another_step, in_an_index_at_the_end, in_a_gather,
]  # fmt: skip


@pytest.mark.parametrize(
    ("make", "failing"),
    [*((make, (6, 7, 11)) for make in SCENES),
     # In the traced call, in the compared one, in the first replay.
     *((in_the_loss, (when,)) for when in (1, 2, 3))],
)  # fmt: skip
def test_an_error_in_the_middle(make: Callable[[], Any], failing: tuple[int, ...]) -> None:
    step = compare(make, 14, between=lambda n, _: ROWS.__setitem__(2, 9 if n in failing else 2))
    assert [n for n, part in enumerate(step.found) if isinstance(part[0], type)] == [*failing]


def test_an_error_after_python_has_changed_something_is_not_had_twice() -> None:
    """What a step did in Python before an error in the traced call cannot be put back."""
    model, x, counts = nn.Linear(3, 3), array(5, 3), {"calls": 0}
    rows = ROWS.clone()

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
