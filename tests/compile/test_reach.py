"""What a step reads by way of Python may be replaced between calls: the next call sees it."""

import importlib
import math
import operator
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import nanotorch as torch
from nanotorch import nn, optim
from nanotorch.nn import functional as F
from tests.compile.beside import array, flat

CALLS, CHANGE = 10, 6
Scene = tuple[Callable[[], Any], Callable[[], Any]]  # a step, and what happens after some calls


class Base:
    """Something with attributes, of which there is a new class for every scene."""

    scale = 2.0

    def helper(self, x: Any) -> Any:
        return x * self.scale


def thing() -> tuple[Any, Any]:
    """A class below `Base`, and an object of it."""
    kind: Any = type("Thing", (Base,), {})
    return kind, kind()


def loss(value: Callable[[Any], Any]) -> Callable[[], Any]:
    """A step that computes something of a leaf and differentiates it."""
    w = array(3).requires_grad_()

    def step() -> Any:
        w.grad = None
        total = value(w).sum()
        total.backward()
        return total, w.grad

    return step


def asks_whether() -> Scene:
    _, o = thing()
    return loss(lambda w: w * (3.0 if hasattr(o, "boost") else 1.0)), lambda: setattr(o, "boost", 1)


def asks_whether_after_another_went() -> Scene:
    _, o = thing()
    o.other = 1

    def change() -> None:
        del o.other
        o.boost = 1

    return loss(lambda w: w * (3.0 if hasattr(o, "boost") else 1.0)), change


def asks_whether_a_class_has() -> Scene:
    kind, o = thing()
    return (
        loss(lambda w: w * (3.0 if hasattr(o, "boost") else 1.0)),
        lambda: setattr(kind, "boost", 1),
    )


def computes_the_name() -> Scene:
    kind, o = thing()
    return loss(lambda w: w * getattr(o, "sc" + "ale")), lambda: setattr(kind, "scale", 5.0)


def gets_with_an_attrgetter() -> Scene:
    _, o = thing()
    o.scale = 3.0
    return (
        loss(lambda w: w * operator.attrgetter("sc" + "ale")(o)),
        lambda: setattr(o, "scale", 5.0),
    )


def reads_the_dict() -> Scene:
    _, o = thing()
    o.size = 3.0
    return loss(lambda w: w * o.__dict__["size"]), lambda: setattr(o, "size", 5.0)


def tries() -> Scene:
    def holder() -> None: ...

    def value(w: Any) -> Any:
        try:
            return w * holder.scale  # type: ignore[attr-defined]
        except AttributeError:
            return w * 1.0

    return loss(value), lambda: setattr(holder, "scale", 5.0)


def an_instance_hides() -> Scene:
    _, o = thing()
    return loss(lambda w: o.helper(w)), lambda: setattr(o, "helper", lambda x: x * 5)


def a_class_hides() -> Scene:
    kind, o = thing()
    return loss(lambda w: o.helper(w)), lambda: setattr(kind, "helper", lambda self, x: x * 5)


def a_property_hides() -> Scene:
    kind, o = thing()
    o.scale = 3.0
    return loss(lambda w: w * o.scale), lambda: setattr(kind, "scale", property(lambda self: 5.0))


def another_class() -> Scene:
    _, o = thing()
    other = type("Other", (Base,), {"scale": 5.0})
    return loss(lambda w: o.helper(w)), lambda: setattr(o, "__class__", other)


def in_the_dict_of_a_module() -> Scene:
    model = nn.Linear(3, 2)
    model.scale = 2.0  # type: ignore[assignment]
    return (
        loss(lambda w: model(w.detach()) * model.scale * w.sum()),
        lambda: vars(model).update(scale=5.0),
    )


def in_a_class_of_lists() -> Scene:
    kind: Any = type("Factors", (list,), {"factor": lambda self: self[0]})
    factors = kind([2.0])
    return loss(lambda w: w * factors.factor()), lambda: setattr(kind, "factor", lambda self: 5.0)


def in_a_namespace() -> Scene:
    o = types.SimpleNamespace(scale=2.0)
    return loss(lambda w: w * o.scale), lambda: setattr(o, "scale", 5.0)


def code() -> Scene:
    def inner(x: Any) -> Any:
        return x * 2

    def change() -> None:
        inner.__code__ = (lambda x: x * 5).__code__

    return loss(lambda w: inner(w)), change


def code_of_the_step() -> Scene:
    w = array(3)

    def step() -> Any:
        return (w * 2).sum()

    def other() -> Any:
        return (w * 5).sum()

    return step, lambda: setattr(step, "__code__", other.__code__)


def defaults() -> Scene:
    def inner(x: Any, k: float = 2.0) -> Any:
        return x * k

    return loss(lambda w: inner(w)), lambda: setattr(inner, "__defaults__", (5.0,))


def defaults_of_keywords() -> Scene:
    def inner(x: Any, *, k: float = 2.0) -> Any:
        return x * k

    return loss(lambda w: inner(w)), lambda: inner.__kwdefaults__.update(k=5.0)


def a_cell() -> Scene:
    k = 2.0

    def inner(x: Any) -> Any:
        return x * k

    cells: Any = inner.__closure__
    return loss(lambda w: inner(w)), lambda: setattr(cells[0], "cell_contents", 5.0)


def an_optimizers_own_step() -> Scene:
    w = array(3).requires_grad_()
    optimizer = optim.SGD([w], lr=0.1)

    def step() -> Any:
        optimizer.zero_grad()
        total = (w * w).sum()
        total.backward()
        optimizer.step()
        return total

    def change() -> None:
        once = optimizer.step
        optimizer.step = lambda *_: (once(), once())  # type: ignore[method-assign,assignment]

    return step, change


def a_modules_own_forward() -> Scene:
    model = nn.Linear(3, 2)
    return (
        loss(lambda w: model(w.detach()) * w.sum()),
        lambda: setattr(model, "forward", lambda x: x[:2] * 5),
    )


SCENES = [
    asks_whether, asks_whether_after_another_went, asks_whether_a_class_has, computes_the_name,
    gets_with_an_attrgetter, reads_the_dict, tries, an_instance_hides, a_class_hides,
    a_property_hides, another_class, in_the_dict_of_a_module, in_a_class_of_lists, in_a_namespace,
    code, code_of_the_step, defaults, defaults_of_keywords, a_cell, an_optimizers_own_step,
    a_modules_own_forward,
]  # fmt: skip


def outcomes(scene: Scene, compiled: bool, problem: str | None = None) -> list[Any]:
    """What the calls give."""
    torch.manual_seed(0)
    step, change = scene
    function = torch.compile(step) if compiled else step
    found = []
    for n in range(CALLS):
        if n == CHANGE:
            change()
        found.append(flat(function()))
    if compiled:
        report = function.report()  # type: ignore[attr-defined]
        assert report.problem is None or (problem and problem in report.problem), report
    return found


def agree(make: Callable[[], Scene], problem: str | None = None) -> None:
    """See that the change takes effect, compiled or not."""
    torch.manual_seed(0)
    expected = outcomes(make(), compiled=False)
    assert expected[CHANGE - 1] != expected[CHANGE]
    torch.manual_seed(0)
    assert outcomes(make(), True, problem) == expected


@pytest.mark.parametrize("make", SCENES)
def test_what_is_read(make: Callable[[], Scene]) -> None:
    agree(make)


@pytest.mark.filterwarnings("ignore:nanotorch.compile runs")
def test_an_attrgetter_of_another_name() -> None:
    _, o = thing()
    o.scale = 3.0
    get = operator.attrgetter("sc" + "ale")

    def make() -> Scene:
        o.scale = 3.0
        return loss(lambda w: w * get(o)), lambda: setattr(o, "scale", 5.0)

    agree(make, "whose changes cannot be seen")


def test_a_global_comes_to_hide_a_builtin() -> None:
    space: dict[str, Any] = {"__name__": __name__, "w": array(3)}
    exec(compile("def step():\n    return (w * max(2.0, 1.0)).sum()", __file__, "exec"), space)

    def make() -> Scene:
        space.pop("max", None)
        return space["step"], lambda: space.update(max=min)

    agree(make)


@pytest.fixture
def patched() -> Iterator[Callable[[Any, str, Any], None]]:
    """Replaces attributes, and puts them back."""
    before: list[tuple[Any, str, Any]] = []

    def patch(owner: Any, name: str, value: Any) -> None:
        before.append((owner, name, vars(owner)[name]))
        setattr(owner, name, value)

    yield patch
    for owner, name, value in reversed(before):
        setattr(owner, name, value)


def network() -> Callable[[], Any]:
    """A step of a network."""
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    optimizer, x = optim.SGD(model.parameters(), lr=0.1), array(5, 3)

    def step() -> Any:
        optimizer.zero_grad()
        total = F.relu(model(x)).pow(2).sum() * math.sqrt(4.0)
        total.backward()
        optimizer.step()
        return total

    return step


@pytest.mark.parametrize(
    ("owner", "name", "value"),
    [
        (F, "relu", torch.tanh),
        (nn.Linear, "forward", lambda self, x: x @ self.weight.t() * 2),
        (nn.ReLU, "forward", lambda self, x: torch.tanh(x)),
        (optim.SGD, "step", lambda self, closure=None: None),
        (torch.Tensor, "pow", lambda self, exponent: self * 3),
        (math, "sqrt", lambda x: 7.0),
    ],
)
def test_a_function_of_a_library_is_replaced(
    owner: Any, name: str, value: Any, patched: Callable[[Any, str, Any], None]
) -> None:
    torch.manual_seed(0)
    plain = network()
    torch.manual_seed(0)
    step = torch.compile(network(), fullgraph=True)
    for n in range(CALLS):
        if n == CHANGE:
            before = flat(step())
            assert before == flat(plain())
            patched(owner, name, value)
        assert flat(step()) == flat(plain()), n


def test_what_the_library_calls_itself_is_replaced(patched: Callable[..., None]) -> None:
    w = array(3, 3)

    @torch.no_grad()
    def evaluate() -> Any:
        return nn.Softplus()(w) * 1

    step = torch.compile(evaluate, fullgraph=True)
    for _ in range(CHANGE):
        step()
    inner = importlib.import_module("nanotorch.nn.functional.activation")
    patched(inner, "softplus", lambda input, *args: input * 5)
    assert flat(step()) == flat(w * 5)
