"""What a replay depends on may change between calls; it then does what the step would do."""

import enum
import functools
import math
import operator
import tracemalloc
import types
from collections import Counter, OrderedDict, UserDict, namedtuple
from collections.abc import Callable
from typing import Any

import pytest

import nanotorch as torch
from nanotorch import nn, optim
from nanotorch.nn import functional as F
from nanotorch.nn.functional import activation
from tests.compile.beside import array, caught, compare, flat, of_leaf, usual
from tests.several import uncollected

SCALE = 2.0


def small() -> Any:
    model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.2), nn.BatchNorm1d(8), nn.Linear(8, 2))
    optimizer = optim.Adam(model.parameters(), lr=0.01)
    return usual(model, optimizer, lambda x, y: F.mse_loss(model(x), y))


def partial() -> Any:
    """The optimizer has the first layer only."""
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 2))
    optimizer = optim.SGD([*model[0].parameters()], lr=0.1)
    return usual(model, optimizer, lambda x, y: F.mse_loss(model(x), y))


def stay(n: int, step: Any) -> None: ...


def batch(n: int) -> Any:
    rows = 3 if n % 5 == 4 else 6
    return array(rows, 4, seed=n), array(rows, 2, seed=100 + n)


def same(n: int) -> Any:
    return array(6, 4), array(6, 2)


def cut(n: int) -> Any:
    """Rows of a data set."""
    at = 4 * n % 20
    return array(20, 4)[at : at + 4], array(20, 2, seed=1)[at : at + 4]


def turned(n: int) -> Any:
    return array(4, 6, seed=n).T if n % 2 else array(6, 4, seed=n), array(6, 2)


def rates(n: int, step: Any) -> None:
    for group in step.optimizer.param_groups:
        group["lr"] = 0.1 / (n + 1)
        if n == 6:
            group["weight_decay"] = 0.1
        if n == 9:
            group["betas"] = (0.5, 0.9)


def modes(n: int, step: Any) -> None:
    step.model.train(n % 4 < 2)


def memory_and_flags(n: int, step: Any) -> None:
    model = step.model
    if n == 5:
        model[0].weight.data = model[0].weight.data * 2
    if n == 8:
        model[0].bias.requires_grad_(False)
    if n == 11:
        model.load_state_dict({k: v * 0.5 for k, v in model.state_dict().items()})


def layers_and_groups(n: int, step: Any) -> None:
    if n == 5:
        step.model[1] = nn.ReLU()
    if n == 9:
        step.optimizer.add_param_group({"params": [*step.model[2].parameters()], "lr": 0.01})


def hooks(n: int, step: Any) -> None:
    if n == 5:
        step.model[0].register_forward_hook(lambda module, args, out: out * 2)
    if n == 9:
        step.model[3].weight.register_hook(lambda g: g * 0.5)


def of_a_scale() -> Any:
    return of_leaf(lambda w: (w * SCALE).sum())


def scale(n: int, step: Any) -> None:
    globals()["SCALE"] = 2.0 if n < 5 else 3.0


def unlike() -> Any:
    """One of the optimizer's parameters requires no gradient."""
    a, b = torch.tensor([1.0], requires_grad=True), torch.tensor([3.0])
    optimizer = optim.SGD([a, b], lr=0.1)

    def step() -> None:
        (a * b).sum().backward()
        optimizer.step()

    step.b = b  # type: ignore[attr-defined]
    return step, lambda: [a, b]


def gradient_given(n: int, step: Any) -> None:
    if n in (5, 9):
        step.b.grad = torch.ones(1)
    elif n == 7:
        step.b.grad = None


def many() -> Any:
    model = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3))
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    return usual(model, optimizer, lambda *parts: sum(model(x).pow(2).sum() for x in parts))


def accumulating() -> Any:
    model = nn.Linear(4, 2)
    return usual(model, None, lambda x: model(x).pow(2).mean())


def clear(n: int, step: Any) -> None:
    if n % 4 == 0:
        step.model.zero_grad()


def one(n: int) -> Any:
    return (array(6, 4, seed=n),)


# A step, how often it is called, with what, what happens before a call; the most plans it takes.
CHANGING: list[tuple[Any, int, Any, Any, int]] = [
    (small, 12, cut, stay, 1),
    (small, 10, turned, stay, 2),
    (small, 14, batch, rates, 4),
    (small, 16, lambda n: (array(6, 4, seed=n), array(6, 2)), modes, 2),
    (small, 15, same, memory_and_flags, 4),
    (partial, 14, same, layers_and_groups, 3),
    (small, 14, same, hooks, 3),
    (of_a_scale, 12, lambda n: (), scale, 2),
    (unlike, 12, lambda n: (), gradient_given, 4),
    (accumulating, 16, one, clear, 2),
    (many, 8, lambda n: tuple([array(5, 4, seed=20 * n + i) for i in range(9)]), stay, 1),
]


@pytest.mark.parametrize(("make", "calls", "arguments", "change", "plans"), CHANGING)
def test_what_changes(make: Any, calls: int, arguments: Any, change: Any, plans: int) -> None:
    step = compare(make, calls, arguments, change)
    assert len(step.report().plans) <= plans, str(step.report())


def test_a_trace_holds_nothing_once_it_is_over() -> None:
    """Gradients that somebody held would have to be copied at every step, by a further plan."""
    with uncollected():
        step = compare(small, calls=16, arguments=batch)
    assert len(step.report().plans) == 2, str(step.report())


def gradients_zeroed() -> Any:
    model, x = nn.Linear(4, 2), array(5, 4)
    optimizer = optim.SGD(model.parameters(), lr=0.1)

    def step() -> Any:
        optimizer.zero_grad(set_to_none=False)
        loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()
        return loss

    return step, lambda: [*model.parameters()]


def clipping_by_hand() -> Any:
    model = nn.Linear(4, 2)
    optimizer, x = optim.SGD(model.parameters(), lr=0.1), array(5, 4)

    def step() -> Any:
        optimizer.zero_grad()
        loss = model(x).pow(2).sum() * 10
        loss.backward()
        with torch.no_grad():
            total = torch.sqrt(sum((p.grad**2).sum() for p in model.parameters()))
            for p in model.parameters():
                p.grad.mul_(torch.clamp(1.0 / (total + 1e-6), max=1.0))
        optimizer.step()
        return loss, total

    return step, lambda: [*model.parameters()]


def steps_by_hand() -> Any:
    w, b = array(2, 4).requires_grad_(), torch.zeros(2, requires_grad=True)
    x, y = array(5, 4, seed=1), array(5, 2, seed=2)

    def step() -> Any:
        loss = ((x @ w.T + b - y) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            for p in (w, b):
                p -= 0.1 * p.grad
                p.grad = None
        return loss

    return step, lambda: [w, b]


def retained_gradients_and_views_in_place() -> Any:
    w, x = array(4, 4).requires_grad_(), array(3, 4, seed=1)

    def step() -> Any:
        w.grad = None
        h = x @ w
        h.retain_grad()
        g = h * 2
        g[:, 0] = 0.0
        g[1].mul_(3.0)
        loss = g.sum() + h.pow(2).sum()
        loss.backward()
        return loss, h.grad

    return step, lambda: [w]


def made_inside() -> Any:
    def value(w: Any) -> Any:
        scale = torch.tensor([1.0, 2.0, 3.0, 4.0])
        return w * scale + torch.randn(4) + torch.zeros(4) + torch.arange(4)

    return of_leaf(value, 4)


def view_of_a_gradient() -> Any:
    """The step reaches a gradient without `grad`, in another way."""
    w, part = array(4).requires_grad_(), torch.ones(4)
    w.grad = part.view(4)
    return lambda: w.detach() + part.mul_(2), lambda: [w, part]


def evaluation(mode: Any) -> Any:
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2)).eval()
    x = array(6, 4)
    return mode()(lambda: (model(x).argmax(1), model(x).max())), lambda: [*model.parameters()]


@pytest.mark.parametrize("make", [
    gradients_zeroed, clipping_by_hand, steps_by_hand, retained_gradients_and_views_in_place,
    made_inside, view_of_a_gradient, lambda: evaluation(torch.no_grad),
    lambda: evaluation(torch.inference_mode),
])  # fmt: skip
def test_steps_of_other_kinds(make: Any) -> None:
    compare(make)


def test_a_kept_loss_and_kept_gradients_stay() -> None:
    step, state = small()
    compiled = torch.compile(step, fullgraph=True)
    x, y = batch(0)
    kept, seen = [], []
    for _ in range(8):
        kept.append([compiled(x, y), *[p.grad for p in state() if p.grad is not None]])
        seen.append(flat(kept[-1]))
    assert [flat(held) for held in kept] == seen
    weight = state()[0]
    for hold in (lambda g: g[0], lambda g: g.numpy(), lambda g: g.detach(), lambda g: g.T):
        held = hold(weight.grad)
        before = held.tolist()
        for _ in range(2):
            compiled(x, y)
            assert held.tolist() == before
    tracemalloc.start()
    for n in range(600):
        compiled(x, y)
        if n == 400:  # then the random numbers that are made ahead have their largest size
            size = tracemalloc.get_traced_memory()[0]
    assert tracemalloc.get_traced_memory()[0] - size < 4096
    tracemalloc.stop()


def test_a_number_that_differs_each_time_is_given_up() -> None:
    w = array(3).requires_grad_()
    step = torch.compile(lambda factor: (w.detach() * factor).sum())
    warned = caught(lambda: [step(float(n)) for n in range(12)])
    assert len(warned) == 1
    assert "anew" in warned[0]
    assert step(3.0).item() == (w.detach() * 3.0).sum().item()


def test_the_loss_of_a_replay_cannot_go_backward_again() -> None:
    compiled = torch.compile(small()[0], fullgraph=True)
    for _ in range(5):
        loss = compiled(*batch(0))
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        loss.backward()


# Tensors that are the same, share memory or are held by others at some calls only.

BUFFER, DATA = torch.ones(2), torch.arange(20.0)
X, Y = torch.ones(2), torch.full((2,), 5.0)
KINDS = [(X, X), (X, Y), (X, X.detach()), (X, torch.from_numpy(X.numpy()))]
STARTS = [(0, 0), (1, 0), (2, 0), (0, 4), (1, 4), (3, 0), (2, 1), (5, 1), (7, 1)]


def twofold(a: Any, b: Any) -> Any:
    return a * 2 + b[:1]


def with_buffer(a: Any) -> Any:
    return a * 2 + BUFFER


def identity(a: Any, b: Any) -> Any:
    return a.sum() * (2.0 if a is b else 1.0)


@pytest.mark.parametrize(
    ("function", "calls"),
    [
        (twofold, [(X, X)] * 4 + KINDS * 3),
        (twofold, [(X, Y)] * 4 + KINDS * 3),
        (twofold, [(DATA[a : a + 4], DATA[a + by : a + by + 4]) for a, by in STARTS * 2]),
        (with_buffer, [(x,) for x in [BUFFER] * 4 + [Y] * 4
                       + [BUFFER, BUFFER.detach(), BUFFER.view(2), Y]]),
        (identity, [(X, Y)] * 4 + [(X, X), (Y, X)] * 4),
    ],
)  # fmt: skip
def test_arguments_that_are_or_overlap_others_at_times(function: Any, calls: Any) -> None:
    compare(lambda: (function, list), len(calls), lambda n: calls[n])


@pytest.mark.parametrize("leaves", [1, 3])
def test_a_gradient_that_is_kept_while_its_leaf_lets_go(leaves: int) -> None:
    weights = [torch.tensor([1.0, 2.0], requires_grad=True) for _ in range(leaves)]

    def step(x: Any) -> None:
        sum((w * x).sum() for w in weights).backward()

    compiled, kept = torch.compile(step, fullgraph=True), []
    for n in range(6):
        for w in weights:
            w.grad = None
        compiled(torch.tensor([float(n), 1.0]))
        kept.append(weights[0].grad)
    assert [grad.tolist() for grad in kept] == [[float(n), 1.0] for n in range(6)]
    assert compiled.report().plans


# What a step reads by way of Python may be replaced between calls: the next call sees it.

CALLS, CHANGE = 10, 6


class Base:
    """Something with attributes, of which there is a new class for every scene."""

    scale = 2.0

    @functools.cached_property
    def cached(self) -> float:
        return 2.0

    def helper(self, x: Any) -> Any:
        return x * self.scale

    def boosted(self, x: Any) -> Any:
        return x * (3.0 if hasattr(self, "boost") else 1.0)


def another_went(o: Any) -> None:
    del o.other
    o.boost = 1


def in_a_class_of_lists(o: Any) -> Any:
    return o.factors.factor()


def tries(o: Any) -> Any:
    try:
        return o.missing
    except AttributeError:
        return 1.0


SET: Callable[..., None] = setattr
# What the step computes of a leaf and an object, and what happens to the object after some calls.
READ: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any], Any]]] = {
    "asks whether": (lambda w, o: o.boosted(w), lambda o: SET(o, "boost", 1)),
    "asks, another went": (lambda w, o: o.boosted(w), another_went),
    "asks, a class has": (lambda w, o: o.boosted(w), lambda o: SET(type(o), "boost", 1)),
    "computes the name": (
        lambda w, o: w * getattr(o, "sc" + "ale"), lambda o: SET(type(o), "scale", 5.0),
    ),
    "attrgetter": (
        lambda w, o: w * operator.attrgetter("si" + "ze")(o), lambda o: SET(o, "size", 5.0),
    ),
    "reads the dict": (lambda w, o: w * o.__dict__["size"], lambda o: SET(o, "size", 5.0)),
    "computed once": (lambda w, o: w * o.cached, lambda o: vars(o).update(cached=5.0)),
    "tries": (lambda w, o: w * tries(o.inner), lambda o: SET(o.inner, "missing", 5.0)),
    "an instance hides": (lambda w, o: o.helper(w), lambda o: SET(o, "helper", lambda x: x * 5)),
    "a class hides": (
        lambda w, o: o.helper(w), lambda o: SET(type(o), "helper", lambda self, x: x * 5),
    ),
    "a property hides": (
        lambda w, o: w * o.size, lambda o: SET(type(o), "size", property(lambda self: 5.0)),
    ),
    "another class": (
        lambda w, o: o.helper(w),
        lambda o: SET(o, "__class__", type("Other", (Base,), {"scale": 5.0})),
    ),
    "in the dict of a module": (
        lambda w, o: o.model(w.detach()) * o.model.scale * w.sum(),
        lambda o: vars(o.model).update(scale=5.0),
    ),
    "a module's own forward": (
        lambda w, o: o.model(w.detach()) * w.sum(),
        lambda o: SET(o.model, "forward", lambda x: x[:2] * 5),
    ),
    "in a class of lists": (
        lambda w, o: w * in_a_class_of_lists(o),
        lambda o: SET(type(o.factors), "factor", lambda self: 5.0),
    ),
    "in a namespace": (lambda w, o: w * o.space.scale, lambda o: SET(o.space, "scale", 5.0)),
    "code": (
        lambda w, o: o.inner(w), lambda o: SET(o.inner, "__code__", (lambda x: x * 5).__code__),
    ),
    "defaults": (lambda w, o: o.twice(w), lambda o: SET(o.twice, "__defaults__", (5.0,))),
    "defaults of keywords": (
        lambda w, o: o.named(w), lambda o: o.named.__kwdefaults__.update(k=5.0),
    ),
    "a cell": (lambda w, o: o.closed(w), lambda o: SET(o.closed.__closure__[0],
                                                       "cell_contents", 5.0)),
}  # fmt: skip


def thing() -> Any:
    """An object with all that the steps read."""
    o: Any = type("Thing", (Base,), {})()
    o.other, o.size, o.model = 1, 3.0, nn.Linear(3, 2)
    o.model.scale, factor = 2.0, 2.0
    o.factors = type("Factors", (list,), {"factor": lambda self: self[0]})([2.0])
    o.space = types.SimpleNamespace(scale=2.0)
    o.inner, o.twice = (lambda x: x * 2), (lambda x, k=2.0: x * k)
    o.named, o.closed = (lambda x, *, k=2.0: x * k), (lambda x: x * factor)
    return o


def of_a_thing(name: str) -> Any:
    value, change = READ[name]
    o = thing()
    return of_leaf(lambda w: value(w, o))[0], lambda: change(o)


def code_of_the_step() -> Any:
    w = array(3)
    step, other = (lambda: (w * 2).sum()), (lambda: (w * 5).sum())
    return step, lambda: SET(step, "__code__", other.__code__)


def an_optimizers_own_step() -> Any:
    w = array(3).requires_grad_()
    optimizer = optim.SGD([w], lr=0.1)
    once = optimizer.step
    step, _ = usual(nn.ParameterList([w]), optimizer, lambda: (w * w).sum())
    return step, lambda: SET(optimizer, "step", lambda *_: (once(), once()))


def a_builtin_hidden_by_a_global() -> Any:
    space: dict[str, Any] = {"__name__": __name__, "w": array(3)}
    exec(compile("def step():\n    return (w * max(2.0, 1.0)).sum()", __file__, "exec"), space)
    return space["step"], lambda: space.update(max=min)


def an_attrgetter_of_another_name() -> Any:
    o, get = thing(), operator.attrgetter("si" + "ze")
    return of_leaf(lambda w: w * get(o))[0], lambda: SET(o, "size", 5.0)


def changed(make: Callable[[], Any], compiles: bool | None = True) -> Any:
    """Compare calls of a step before and after a change, which takes effect."""
    changes: list[Any] = []

    def scene() -> Any:
        step, change = make()
        changes.append(change)
        return step, list

    def change(n: int, step: Any) -> None:
        if n == CHANGE:
            changes[-1]()

    step = compare(scene, CALLS, between=change, compiles=compiles)
    assert step.found[CHANGE - 1] != step.found[CHANGE]
    return step


@pytest.mark.filterwarnings("ignore:nanotorch.compile runs")
@pytest.mark.parametrize("make", [
    *READ, code_of_the_step, an_optimizers_own_step, a_builtin_hidden_by_a_global,
])  # fmt: skip
def test_what_is_read(make: Any) -> None:
    step = changed((lambda: of_a_thing(make)) if isinstance(make, str) else make, None)
    assert step.report().problem is None


def test_a_change_that_cannot_be_seen() -> None:
    with pytest.warns(UserWarning, match="whose changes cannot be seen"):
        changed(an_attrgetter_of_another_name, compiles=False)


class Kind(type):
    """A class of classes."""


def of_its_class(value: Any) -> tuple[Any, type]:
    return value, type(value)


# Objects of classes that users or the library make, and the class whose objects become false.
TRUE: dict[str, Callable[[], tuple[Any, type]]] = {
    "object": lambda: of_its_class(thing()),
    "a base": lambda: (thing(), Base),
    "slots": lambda: of_its_class(
        type("Slots", (), {"__slots__": ("k",), "__init__": lambda o: SET(o, "k", 1)})()
    ),
    "class": lambda: of_its_class(Kind("Made", (), {})),
    "enum": lambda: of_its_class(enum.Enum("Color", ["RED"]).RED),  # type: ignore[attr-defined]
    "int": lambda: of_its_class(type("Int", (int,), {})(1)),
    "str": lambda: of_its_class(type("Str", (str,), {})("a")),
    "list": lambda: of_its_class(type("List", (list,), {})([1])),
    "tuple": lambda: of_its_class(namedtuple("Pair", "a b")(1, 2)),
    "dict": lambda: of_its_class(type("Dict", (OrderedDict,), {})(a=1)),
    "counter": lambda: of_its_class(Counter("a")),
    "user dict": lambda: of_its_class(UserDict(a=1)),
    "partial": lambda: of_its_class(type("Partial", (functools.partial,), {})(len)),
    "property": lambda: of_its_class(type("Property", (property,), {})()),
    "module": lambda: of_its_class(nn.Linear(2, 2)),
    "base of modules": lambda: (nn.Linear(2, 2), nn.Module),
    "optimizer": lambda: (optim.SGD([array(3)], lr=0.1), optim.Optimizer),
    "device": lambda: of_its_class(torch.device("cpu")),
    "size": lambda: of_its_class(torch.Size([1])),
    "generator": lambda: of_its_class(torch.Generator()),
}


@pytest.mark.parametrize("name", TRUE)
def test_an_object_becomes_false(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def scene() -> Any:
        monkeypatch.undo()
        value, kind = TRUE[name]()
        step = of_leaf(lambda w: w * 2 if value else w * 5)[0]
        return step, lambda: monkeypatch.setattr(kind, "__bool__", lambda _: False, raising=False)

    changed(scene)


def network() -> Callable[[], Any]:
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    optimizer, x = optim.SGD(model.parameters(), lr=0.001), array(5, 3)
    step: Callable[[], Any] = usual(
        model, optimizer, lambda: F.relu(model(x)).pow(2).sum() * math.sqrt(4.0)
    )[0]
    return step


def evaluated() -> Callable[[], Any]:
    w = array(3, 3)
    return torch.no_grad()(lambda: nn.Softplus()(w) * 1)


@pytest.mark.parametrize(
    ("make", "owner", "name", "value"),
    [
        (network, F, "relu", torch.tanh),
        (network, nn.Linear, "forward", lambda self, x: x @ self.weight.t() * 2),
        (network, nn.ReLU, "forward", lambda self, x: torch.tanh(x)),
        (network, optim.SGD, "step", lambda self, closure=None: None),
        (network, torch.Tensor, "pow", lambda self, exponent: self * 3),
        (network, math, "sqrt", lambda x: 7.0),
        (evaluated, activation, "softplus", lambda input, *args: input * 5),
    ],
)
def test_a_function_of_a_library_is_replaced(
    make: Any, owner: Any, name: str, value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def scene() -> Any:
        monkeypatch.undo()
        return make(), lambda: monkeypatch.setattr(owner, name, value)

    changed(scene)
