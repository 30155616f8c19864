"""What cannot be replayed runs as it is, after one warning that names the line."""

import contextlib
import functools
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nanotorch as torch
from nanotorch import nn, optim
from tests.compile.beside import array, caught, compare, flat, usual

SETTINGS = {"factor": 2.0}
GENERATOR = np.random.default_rng(0)
COUNTS = np.zeros(3)


def scene(loss: Callable[[Any, Any], Any], trains: bool = True) -> Any:
    """A step that gives a loss of a linear model, and trains it; the tensors that it changes."""
    model = nn.Linear(4, 2)
    optimizer, x = optim.SGD(model.parameters(), lr=0.1, momentum=0.5), array(3, 4)
    if not trains:
        return (lambda: loss(model, x)), lambda: [*model.parameters()]
    return usual(model, optimizer, lambda: loss(model, x))


def count() -> float:
    SETTINGS["factor"] += 1.0
    return SETTINGS["factor"]


def counted() -> float:
    COUNTS[0] += 1
    return float(COUNTS[0])


def halved(weight: Any) -> None:
    weight.data = weight.data * 0.5


# What depends on values, and is not only read: see READS.
LOSSES: dict[str, Callable[[Any, Any], Any]] = {
    "branch": lambda m, x: (out := m(x).pow(2).mean()) * (2 if out > 0.5 else 1),
    "print": lambda m, x: (m(x).sum(), print("a step"))[0],
    "repr": lambda m, x: (out := m(x).sum(), repr(out))[0],
    "a generator of NumPy's": lambda m, x: m(x).sum() * float(GENERATOR.normal()),
    "an array that changes": lambda m, x: m(x).sum() * counted(),
    "a dict that changes": lambda m, x: m(x).sum() * count(),
    "picking": lambda m, x: (out := m(x))[out > 0].sum() + out.sum(),
    "finding": lambda m, x: (out := m(x)).sum() + out.nonzero().sum(),
    "freezing": lambda m, x: (m.bias.requires_grad_(not m.bias.requires_grad), m(x).sum())[1],
    "other memory": lambda m, x: (halved(m.weight), m(x).sum())[1],
    "a graph that is kept": lambda m, x: (out := m(x).sum(), out.backward(retain_graph=True))[0],
    "a leaf": lambda m, x: m(x) * torch.ones(2, requires_grad=True),
}
RETURNED = ("a graph that is kept", "a leaf")


@pytest.mark.parametrize("name", LOSSES)
def test_the_step_runs_as_it_is(name: str) -> None:
    states = []
    for wrapped in (False, True):
        SETTINGS["factor"], COUNTS[0] = 2.0, 0
        globals()["GENERATOR"] = np.random.default_rng(0)
        torch.manual_seed(0)
        step, state = scene(LOSSES[name], trains=name not in RETURNED)
        found: list[Any] = []

        def run() -> None:
            function = torch.compile(step) if wrapped else step
            for _ in range(6):
                found.append(flat(function()))
                found.append(flat(state()))

        warned = caught(run)
        assert len(warned) == wrapped, warned
        if wrapped:
            codes = LOSSES[name].__code__, step.__code__
            places = [f" {code.co_filename}:{code.co_firstlineno}: " for code in codes]
            assert any(place in warned[0] for place in places), warned
        states.append(found)
    if "NumPy" not in name:
        assert states[0] == states[1]


def test_fullgraph_raises_instead() -> None:
    step, _ = scene(LOSSES["branch"])
    compiled = torch.compile(step, fullgraph=True)
    compiled()
    with pytest.raises(RuntimeError, match=r"test_fallback\.py:\d+: .*depend"):
        compiled()


def test_an_optimizer_of_ones_own_runs_as_it_is() -> None:
    class Mine(optim.Optimizer):
        def __init__(self, params: Any) -> None:
            super().__init__(params, {"lr": 0.1})
            self.count = 0

        def step(self, closure: Any = None) -> None:
            self.count += 1
            with torch.no_grad():
                for p in self.param_groups[0]["params"]:
                    p -= p.grad * (0.1 / self.count)

    def make() -> Any:
        model, x = nn.Linear(4, 2), array(3, 4)
        return usual(model, Mine(model.parameters()), lambda: model(x).sum())

    with pytest.warns(UserWarning, match="count"):
        compare(make, compiles=False)


def test_a_print_is_printed_every_time(capsys: Any) -> None:
    step, _ = scene(LOSSES["print"])
    compiled = torch.compile(step)
    (warned,) = caught(lambda: [compiled() for _ in range(4)])
    assert "print" in warned
    assert capsys.readouterr().out == "a step\n" * 4


def test_a_wrong_replay_is_noticed(monkeypatch: Any) -> None:
    """A negative control: if a replay made another call than the step, nobody would use it."""
    memory = importlib.import_module("nanotorch.compile.tape")
    monkeypatch.setitem(memory.OPERATORS, np.multiply, "{} + {}")
    x = torch.tensor([1.0, 2.0], requires_grad=True)

    def step() -> Any:
        x.grad = None
        loss = x[0] * x[1]
        loss.backward()
        return loss

    compiled = torch.compile(step)
    found: list[Any] = []
    (warned,) = caught(lambda: found.extend(compiled().item() for _ in range(5)))
    assert "came out otherwise" in warned
    assert found == [2.0] * 5
    assert compiled.report().problem in warned


LAST, DONE = None, False


def keep(loss: Any) -> Any:
    global LAST
    LAST = loss.detach()
    return loss


def test_a_global_that_is_only_assigned_is_assigned_every_time() -> None:
    step, _ = scene(lambda model, x: keep(model(x).sum()))
    compiled = torch.compile(step)

    def run() -> None:
        for _ in range(5):
            loss = compiled()
            assert LAST.item() == loss.item()

    (warned,) = caught(run)
    assert "`LAST` changes" in warned


def test_a_global_that_is_set_to_the_same_each_time() -> None:
    def step() -> Any:
        global DONE
        DONE = True
        return torch.ones(1)

    compiled = torch.compile(step)

    def run() -> None:
        for _ in range(8):
            globals()["DONE"] = False
            compiled()
            assert DONE

    (warned,) = caught(run)
    assert "`DONE` changes" in warned


@pytest.mark.parametrize("when", ["before", "later"])
def test_hooks_of_an_optimizers_steps_are_called(when: str) -> None:
    def losses(compiled: bool) -> list[float]:
        torch.manual_seed(0)
        model = torch.nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        x = torch.ones(2, 4)

        @torch.no_grad()
        def clamp(*_: Any) -> None:
            for p in model.parameters():
                p.clamp_(-0.05, 0.05)

        def step() -> Any:
            optimizer.zero_grad()
            loss = model(x).pow(2).mean()
            loss.backward()
            optimizer.step()
            return loss

        run = torch.compile(step) if compiled else step
        if when == "before":
            optimizer.register_step_post_hook(clamp)
        found = [run().item() for _ in range(6)]
        if when == "later":
            optimizer.register_step_post_hook(clamp)
        return found + [run().item() for _ in range(4)]

    expected = losses(compiled=False)
    with pytest.warns(UserWarning, match="has hooks of its steps"):
        assert losses(compiled=True) == expected


def test_a_rate_that_is_a_tensor_keeps_its_precision() -> None:
    def values(compiled: bool) -> list[Any]:
        p = torch.nn.Parameter(torch.tensor([0.3, 1.7, -0.9]))
        optimizer = torch.optim.Adam([p], lr=torch.tensor(0.1))

        def step() -> Any:
            optimizer.zero_grad()
            loss = (p**2).sum()
            loss.backward()
            optimizer.step()
            return loss

        run = torch.compile(step) if compiled else step
        return [run().item() for _ in range(8)] + p.tolist()

    expected = values(compiled=False)
    with pytest.warns(UserWarning, match="is a tensor, with a precision of its own"):
        assert values(compiled=True) == expected


CALLS = 6


class Scene:
    """A leaf and what might count the calls."""

    def __init__(self) -> None:
        self.w = torch.ones(2, requires_grad=True)
        self.found: list[Any] = []


def hook(scene: Scene) -> Any:
    w, found = scene.w, scene.found
    w.register_hook(found.append)

    def step() -> None:
        w.grad = None
        (w * 2).sum().backward()

    return step, lambda: len(found)


def method(scene: Scene) -> Any:
    record, found = scene.found.append, scene.found

    def step() -> Any:
        record(1)
        return torch.ones(1)

    return step, lambda: len(found)


def on_function(scene: Scene) -> Any:
    def counter() -> None: ...

    return counting(counter)


def on_tensor(scene: Scene) -> Any:
    return counting(scene.w)


def on_optimizer(scene: Scene) -> Any:
    return counting(optim.SGD([scene.w], lr=0.1))


def counting(holder: Any) -> Any:
    """A step that counts its calls in an attribute."""
    holder.calls = 0

    def step() -> Any:
        holder.calls += 1
        return torch.ones(1)

    return step, lambda: holder.calls


@pytest.mark.parametrize("make", [hook, method, on_function, on_tensor, on_optimizer])
def test_every_call_counts(make: Any) -> None:
    step, count = make(Scene())
    compiled = torch.compile(step)
    assert len(caught(lambda: [compiled() for _ in range(CALLS)])) == 1
    assert count() == CALLS


SAY = functools.partial(print, "x", flush=True)


def says() -> Any:
    SAY()
    return torch.ones(1)


def maps() -> Any:
    list(map(print, ["x"]))
    return torch.ones(1)


def calls_back() -> Any:
    with contextlib.ExitStack() as stack:
        stack.callback(print, "x")
    return torch.ones(1)


@pytest.mark.parametrize("step", [says, maps, calls_back])
def test_every_call_prints(step: Any, capsys: Any) -> None:
    compiled = torch.compile(step)
    assert len(caught(lambda: [compiled() for _ in range(CALLS)])) == 1
    assert capsys.readouterr().out == "x\n" * CALLS
