"""The function itself: its arguments, modules, reports, threads."""

import gc
import itertools
import re
import subprocess
import sys
import threading
from typing import Any

import pytest

import nanotorch as torch
from nanotorch import nn, optim
from nanotorch._core.op import OPS
from nanotorch.nn import functional as F
from tests.answers import raised
from tests.compile.beside import array, flat, usual


def test_it_decorates() -> None:
    @torch.compile
    def double(x: Any) -> Any:
        """Twice."""
        return x * 2

    @torch.compile(fullgraph=True, dynamic=False, mode="default")
    def triple(x: Any) -> Any:
        return x * 3

    for n in range(5):
        x = array(3, seed=n)
        assert double(x).tolist() == (x * 2).tolist()
        assert triple(x).tolist() == (x * 3).tolist()
    assert double.__name__ == "double"
    assert double.__doc__ == "Twice."
    assert len(double.report().plans) == 1


@pytest.mark.parametrize(
    ("function", "options", "told"),
    [
        (len, {"backend": "nope"}, "RuntimeError: Invalid backend: 'nope'"),
        (len, {"mode": "nope"}, "RuntimeError: Unrecognized mode=nope"),
        (len, {"mode": "default", "options": {}}, "RuntimeError: Either mode or options"),
        (3, {}, "TypeError: .*callable"),
    ],
)
def test_what_is_refused(function: Any, options: Any, told: str) -> None:
    assert re.match(told, raised(torch.compile, function, **options))


def test_disabled_it_gives_the_function() -> None:
    def function() -> None:
        pass

    assert torch.compile(function, disable=True) is function
    assert torch.compile(function, backend="eager") is function


def test_a_module_keeps_what_it_is() -> None:
    model = nn.Sequential(nn.Linear(4, 3), nn.Dropout(0.5), nn.BatchNorm1d(3))
    compiled = torch.compile(model)
    assert isinstance(compiled, nn.Module)
    assert compiled._orig_mod is model
    assert list(compiled.state_dict()) == [f"_orig_mod.{name}" for name in model.state_dict()]
    assert [id(p) for p in compiled.parameters()] == [id(p) for p in model.parameters()]
    compiled.eval()
    assert not model.training
    assert not compiled.training
    compiled.load_state_dict(compiled.state_dict())
    compiled.note = 3
    assert model.note == 3
    x = array(5, 4)
    with torch.no_grad():
        for n in range(6):
            x = array(5, 4, seed=n)
            assert flat(compiled(x)) == flat(model(x))
    assert len(compiled.report().plans) == 1
    assert "def replay" in compiled.source()


LABELS = torch.tensor([0, 1, 0, 1, 1, 0])


def training() -> Any:
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    return usual(model, optimizer, lambda x, y: F.cross_entropy(model(x), y))[0]


def test_the_report() -> None:
    compiled = torch.compile(training())
    assert "not captured" in str(compiled.report())
    for _ in range(8):
        compiled(array(6, 4), LABELS)
    (figures,) = compiled.report().plans
    assert figures.kernels < figures.traced
    assert 0 < figures.fresh < figures.eager_bytes
    assert figures.guards > 10
    assert "kernels" in str(compiled.report())
    assert "def replay" in compiled.source()


def test_other_threads_compute_while_one_is_traced() -> None:
    stop = threading.Event()
    wrong: list[Any] = []

    def compute() -> None:
        a = torch.ones(3, requires_grad=True)
        while not stop.is_set():
            a.grad = None
            (a * 2).sum().backward()
            if a.grad is None or a.grad.tolist() != [2.0, 2.0, 2.0]:
                wrong.append(a.grad)

    thread = threading.Thread(target=compute)
    thread.start()
    try:
        for _ in range(4):
            compiled = torch.compile(training())
            for _ in range(4):
                compiled(array(6, 4), LABELS)
    finally:
        stop.set()
        thread.join()
    assert not wrong


FIRST_USE = """
import sys
from collections.abc import Iterable
from types import SimpleNamespace
import nanotorch as torch
from tests.several import in_threads

x = torch.arange(12.0).reshape(3, 4)
settings = SimpleNamespace(shift=5, unread=sys.stdout)

def step():
    assert isinstance(x, Iterable)
    noise = torch.special.expit(x) * torch.rand(4)
    slopes = torch.autograd.functional.jacobian(torch.nn.functional.elu, x[0] - 2)
    return (torch.nn.functional.elu(x - 5) + noise @ slopes).sum()

def steps(function):
    torch.manual_seed(0)
    return [function().item() for _ in range(5)]

compiled = torch.compile(step)
assert not {"nanotorch.autograd.functional", "nanotorch.special"} & {*sys.modules}
assert steps(compiled) == steps(step)
print(compiled.report())
"""


def test_what_the_step_is_the_first_to_use() -> None:
    """What Python or the library do once, and then remember, is no doing of the step's."""
    command = [sys.executable, "-c", FIRST_USE]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("step: 1 captured"), done.stdout


@pytest.mark.parametrize("first", [0, 1])  # watched, traced
def test_a_module_that_the_step_is_the_first_to_import(first: int, monkeypatch) -> None:
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)

    def step(x: Any, late: bool) -> Any:
        if late:
            import colorsys  # noqa: F401
        return x * 2

    compiled = torch.compile(step, fullgraph=True)
    for n in range(5):
        compiled(array(3), n >= first)
    assert "colorsys" in sys.modules
    assert len(compiled.report().plans) == 1


def test_the_collector_may_import_while_a_step_is_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    names = (f"imported_{n}" for n in itertools.count())

    def importing(phase: str, info: dict[str, int]) -> None:
        name = next(names)
        monkeypatch.setitem(sys.modules, name, sys)
        if name.endswith("00"):  # now and then operations too, of which each takes time
            monkeypatch.setitem(OPS, name, OPS["add"])

    weight = torch.ones(3, requires_grad=True)
    step = torch.compile(lambda: (weight * 2).sum().backward(), fullgraph=True)
    before = gc.get_threshold()
    gc.callbacks.append(importing)
    gc.set_threshold(1)
    try:
        for _ in range(3):
            step()
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(importing)
    assert weight.grad.tolist() == [6.0, 6.0, 6.0]
