"""Where replays do not pay, a compiled function soon runs as it is, and only there."""

import importlib
from collections.abc import Callable
from typing import Any

import pytest

import nanotorch as torch
from nanotorch import nn, optim
from nanotorch.nn import functional as F
from tests.compile.beside import array, caught, flat

X, Y = array(8, 4), torch.tensor([0, 1] * 4)
LEAF = "a leaf that it makes itself"


def forward() -> tuple[Any, Any]:
    """A model, and a function that gives the loss, which is not captured where it is recorded."""
    torch.manual_seed(0)
    model = nn.Linear(4, 2)

    def loss(x: Any, y: Any) -> Any:
        one = torch.ones(2, requires_grad=torch.is_grad_enabled())
        return F.cross_entropy(model(x) * one, y)

    return model, loss


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """How often a step is traced, and what it reaches looked at."""
    module = importlib.import_module("nanotorch.compile.compiler")
    found = {"trace": 0, "of": 0}

    def count(owner: Any, name: str) -> None:
        inner = getattr(owner, name)

        def counted(*args: Any) -> Any:
            found[name] += 1
            return inner(*args)

        monkeypatch.setattr(owner, name, counted)

    count(module.Compiler, "trace")
    count(module.Guards, "of")
    return found


def test_a_loss_that_cannot_be_captured_is_traced_once(counts: dict[str, int]) -> None:
    losses = []
    for compiled in (False, True):
        model, loss = forward()
        f: Any = torch.compile(loss) if compiled else loss
        optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

        def run(f: Any = f, optimizer: Any = optimizer) -> None:
            found = []
            for _ in range(6):
                optimizer.zero_grad()
                out = f(X, Y)
                out.backward()
                optimizer.step()
                found.append(out.item())
            losses.append(found)

        warned = caught(run)
        assert [LEAF in text for text in warned] == [True] * compiled
    assert losses[0] == losses[1]
    assert counts["trace"] == 1
    assert LEAF in f.report().problem
    assert "uncompiled" in str(f.report())


@pytest.mark.filterwarnings("ignore:nanotorch.compile runs")
def test_what_is_recorded_runs_as_it_is_and_the_rest_is_replayed(counts: dict[str, int]) -> None:
    _, loss = forward()
    f = torch.compile(loss)
    expected = loss(X, Y).item()
    for _ in range(6):
        out = f(X, Y)
        assert out.requires_grad
        assert out.grad_fn is not None
        with torch.no_grad():
            assert f(X, Y).item() == expected
    assert len(f.report().plans) == 1
    assert counts["trace"] <= 3  # perhaps once more, for what is used for the first time
    assert LEAF in f.report().problem
    assert "1 captured" in str(f.report())
    looks = counts["of"]
    for _ in range(4):
        f(X, Y)
        with torch.no_grad():
            assert f(X, Y).item() == expected
    assert counts["of"] == looks


def test_an_error_of_fullgraph_comes_at_every_call() -> None:
    def step(x: Any) -> Any:
        return x * x.sum().item()

    f = torch.compile(step, fullgraph=True)
    f(X)
    texts = []
    for _ in range(3):
        with pytest.raises(RuntimeError, match="depend") as caught_error:
            f(X)
        texts.append(str(caught_error.value))
    assert len(set(texts)) == 1


def test_arguments_that_always_lie_in_a_tensor_in_reach(counts: dict[str, int]) -> None:
    data = array(40, 4)

    def step(x: Any) -> Any:
        return x.sum() + data[0, 0]

    f = torch.compile(step, fullgraph=True)
    for n in range(20):
        at = n % 9 * 4
        assert flat(f(data[at : at + 4])) == flat(step(data[at : at + 4]))
    assert counts == {"trace": 0, "of": 2}
    for n in range(6):
        x = array(4, 4, seed=n)
        assert flat(f(x)) == flat(step(x))
    assert f.report().plans
    looks = counts["of"]
    for _ in range(6):
        assert flat(f(data[:4])) == flat(step(data[:4]))
        assert flat(f(x)) == flat(step(x))
    assert counts["of"] == looks


def test_equal_numbers_that_are_set_anew(counts: dict[str, int]) -> None:
    model = nn.Linear(4, 2)

    @torch.no_grad()
    def step(x: Any) -> Any:
        return model(x) * model.scale * model.shift

    f = torch.compile(step, fullgraph=True)
    for n in range(12):
        model.scale, model.shift = float("0.5"), float("-0.0") if n < 8 else 0.0  # type: ignore[assignment]
        assert flat(f(X)) == flat(step(X))
        if n == 4:
            looks = counts["of"]
        assert n != 7 or counts["of"] == looks
    assert len(f.report().plans) == 2


@pytest.mark.filterwarnings("ignore:nanotorch.compile runs")
def test_code_that_is_new_at_every_call(counts: dict[str, int]) -> None:
    space: dict[str, Callable[..., Any]] = {}

    def step(x: Any) -> Any:
        return space["f"](x)

    f = torch.compile(step)
    for n in range(30):
        exec(f"def f(x): return x + {n}", space)
        assert flat(f(X)) == flat(X + n)
    assert counts["trace"] <= 10
