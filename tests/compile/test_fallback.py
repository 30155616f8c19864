"""What cannot be replayed runs as it is, after one warning that names the line."""

import contextlib
import copy
import functools
import importlib
import pickle
import random
import re
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nanotorch as torch
from nanotorch import nn, optim
from nanotorch.nn import functional as F
from tests.compile.beside import alike, array, caught, compare, flat, of_leaf, usual
from tests.compile.test_changes import batch, small, stay

# What some of the losses below hold, and change.
HELD: dict[str, Callable[[], Any]] = {
    "a generator of NumPy's": lambda: np.random.default_rng(0),
    "an array that changes": lambda: np.zeros(3), "a dict that changes": lambda: {0: 0.0},
}  # fmt: skip
RETURNED = ("a graph that is kept", "a leaf")


def scene(name: str) -> Any:
    """A step that gives a loss of a linear model, and trains it; the tensors that it changes."""
    model, x, loss, held = nn.Linear(4, 2), array(3, 4), LOSSES[name], HELD.get(name, int)()
    if name in RETURNED:
        return (lambda: loss(model, x, held)), lambda: [*model.parameters()]
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.5)
    return usual(model, optimizer, lambda: loss(model, x, held))


def counted(counts: Any) -> float:
    counts[0] += 1
    return float(counts[0])


def halved(weight: Any) -> None:
    weight.data = weight.data * 0.5


# What depends on values, and is not only read: see READS.
LOSSES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "branch": lambda m, x, o: (out := m(x).pow(2).mean()) * (2 if out > 0.5 else 1),
    "repr": lambda m, x, o: (out := m(x).sum(), repr(out))[0],
    "a generator of NumPy's": lambda m, x, o: m(x).sum() * float(o.normal()),
    "an array that changes": lambda m, x, o: m(x).sum() * counted(o),
    "a dict that changes": lambda m, x, o: m(x).sum() * counted(o),
    "picking": lambda m, x, o: (out := m(x))[out > 0].sum() + out.sum(),
    "finding": lambda m, x, o: (out := m(x)).sum() + out.nonzero().sum(),
    "freezing": lambda m, x, o: (
        m.bias.requires_grad_(not m.bias.requires_grad), m(x).sum()
    )[1],
    "other memory": lambda m, x, o: (halved(m.weight), m(x).sum())[1],
    "a graph that is kept": lambda m, x, o: (
        out := m(x).pow(2).sum(), m.zero_grad(), out.backward(retain_graph=True)
    )[0],
    "a leaf": lambda m, x, o: m(x) * torch.ones(2, requires_grad=True),
    "seeding": lambda m, x, o: (torch.manual_seed(0), m(x).sum())[1],
}  # fmt: skip


@pytest.mark.parametrize("name", LOSSES)
def test_the_step_runs_as_it_is(name: str) -> None:
    (warned,) = caught(lambda: compare(lambda: scene(name), 6, compiles=False))
    codes = LOSSES[name].__code__, scene(name)[0].__code__
    places = [f" {code.co_filename}:{code.co_firstlineno}: " for code in codes]
    assert any(place in warned for place in places), warned


def test_fullgraph_raises_instead_at_every_call() -> None:
    step, _ = scene("branch")
    compiled = torch.compile(step, fullgraph=True)
    compiled()
    texts = set()
    for _ in range(3):
        with pytest.raises(RuntimeError, match=r"test_fallback\.py:\d+: .*depend") as told:
            compiled()
        texts.add(str(told.value))
    assert len(texts) == 1


class Mine(optim.Optimizer):
    def __init__(self, params: Any) -> None:
        super().__init__(params, {"lr": 0.1})
        self.count = 0

    def step(self, closure: Any = None) -> None:
        self.count += 1
        with torch.no_grad():
            for p in self.param_groups[0]["params"]:
                p -= p.grad * (0.1 / self.count)


def trained(make: Callable[[Any], Any]) -> Any:
    model, x = nn.Linear(4, 2), array(3, 4)
    return usual(model, make(model.parameters()), lambda: model(x).pow(2).mean())


@torch.no_grad()
def clamp(optimizer: Any, *_: Any) -> None:
    for p in optimizer.param_groups[0]["params"]:
        p.clamp_(-0.05, 0.05)


def hooked(params: Any) -> Any:
    optimizer = optim.SGD(params, lr=0.5)
    optimizer.register_step_post_hook(clamp)
    return optimizer


def hook_later(n: int, step: Any) -> None:
    if n == 6:
        step.optimizer.register_step_post_hook(clamp)


def sgd(params: Any) -> Any:
    return optim.SGD(params, lr=0.5)


@pytest.mark.parametrize(
    ("make", "between", "why"),
    [
        (Mine, stay, "count"),
        (hooked, stay, "has hooks of its steps"),
        (sgd, hook_later, "has hooks of its steps"),
        (lambda params: optim.Adam(params, lr=torch.tensor(0.1)), stay,
         "is a tensor, with a precision of its own"),
    ],
)  # fmt: skip
def test_an_optimizer_runs_as_it_is(make: Any, between: Any, why: str) -> None:
    with pytest.warns(UserWarning, match=why):
        compare(lambda: trained(make), 10, between=between, compiles=None)


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
    assert "differs in a replay" in warned
    assert found == [2.0] * 5
    assert compiled.report().problem in warned


CALLS = 6
DONE = 0


def hook() -> Any:
    w, found = torch.ones(2, requires_grad=True), []
    w.register_hook(found.append)

    def step() -> None:
        w.grad = None
        (w * 2).sum().backward()

    return step, lambda: len(found)


def method() -> Any:
    found: list[Any] = []
    record = found.append

    def step() -> Any:
        record(1)
        return torch.ones(1)

    return step, lambda: len(found)


def attribute(holder: Any) -> Any:
    """A step that counts its calls in an attribute."""
    holder.calls = 0

    def step() -> Any:
        holder.calls += 1
        return torch.ones(1)

    return step, lambda: holder.calls


def global_that_is_assigned() -> Any:
    """It is set to the same each time, and taken back in between."""
    calls = [0]

    def step() -> Any:
        global DONE
        DONE = True
        return torch.ones(1)

    def count() -> int:
        calls[0] += globals().pop("DONE")
        globals()["DONE"] = 0
        return calls[0]

    return step, count


@pytest.mark.parametrize("make", [
    hook, method, global_that_is_assigned, lambda: attribute(lambda: None),
    lambda: attribute(torch.ones(2, requires_grad=True)),
    lambda: attribute(optim.SGD([torch.ones(2, requires_grad=True)], lr=0.1)),
])  # fmt: skip
def test_every_call_counts(make: Any) -> None:
    step, count = make()
    compiled = torch.compile(step)
    assert len(caught(lambda: [(compiled(), count()) for _ in range(CALLS)])) == 1
    assert count() == CALLS


SAY = functools.partial(print, "x", flush=True)


def calls_back() -> None:
    with contextlib.ExitStack() as stack:
        stack.callback(print, "x")


@pytest.mark.parametrize(
    "say", [SAY, lambda: print("x"), lambda: list(map(print, ["x"])), calls_back]
)
def test_every_call_prints(say: Any, capsys: Any) -> None:
    compiled = torch.compile(lambda: (say(), torch.ones(1))[1])
    assert len(caught(lambda: [compiled() for _ in range(CALLS)])) == 1
    assert capsys.readouterr().out == "x\n" * CALLS


# What Python reads of tensors - values, lengths, places in memory - is what it is at each call.

Read = Callable[[Any, Any], Any]

READS: dict[str, Read] = {
    "slice": lambda w, x: w[: x.argmax() + 1],
    "index": lambda w, x: w[x.argmax()],
    "index of a list": lambda w, x: w * [1.0, 2.0, 3.0][x.argmax()],
    "range": lambda w, x: sum(w * n for n in range(x.argmax() + 1)),
    "expand": lambda w, x: w.expand(x.argmax() + 1, 3),
    "int": lambda w, x: w * int(x[0] * 10),
    "complex": lambda w, x: w * abs(complex(x[0])),
    "bool": lambda w, x: w * (2.0 if x[0] > 0 else 3.0),
    "sorted": lambda w, x: w * sorted(x)[0],
    "item": lambda w, x: w * x[0].item(),
    "tolist": lambda w, x: w * x.tolist()[0],
    "format": lambda w, x: w * float(f"{x[0]:.2f}"),
    "repr": lambda w, x: w * len(repr(x * 100)),
    "in": lambda w, x: w * (2.0 if 0.5 in x else 3.0),
    "iteration": lambda w, x: sum(w * part for part in x),
    "unpacking": lambda w, x: (lambda a, b, c: w * a + b * c)(*x),
    "numpy": lambda w, x: w * float(x.numpy()[0]),
    "numpy again": lambda w, x: w * torch.from_numpy(np.exp(x.numpy())),
    "numpy of a tensor": lambda w, x: w * torch.as_tensor(np.asarray(x) * 2),
    "writing to numpy": lambda w, x: (x.numpy().__setitem__(0, 5.0), w * x)[1],
    "bytes": lambda w, x: w * x.numpy().tobytes()[3],
    "memoryview": lambda w, x: w * float(memoryview(x.numpy())[0]),
    "tensors in a list": lambda w, x: w * torch.tensor([x[0], x[1], x[2]]),
    "fill value": lambda w, x: w * torch.full((3,), x[0]),
    "bound": lambda w, x: w.clamp(max=x[0]),
    "rate of dropout": lambda w, x: F.dropout(w, float(x[0].sigmoid())),
    "all close": lambda w, x: w * (2.0 if torch.allclose(x, x.round(), atol=0.5) else 3.0),
    "deep copy": lambda w, x: w * copy.deepcopy(x),
    "deep copy of a view": lambda w, x: w * copy.deepcopy(x[:1]),
    "deep copy of a result": lambda w, x: w * copy.deepcopy((x * 2).detach()[1:2]),
    "deep copies that share memory": lambda w, x: shared(w, *copy.deepcopy([x, x[:2]])),
    "copy": lambda w, x: w * copy.copy(x),
    "pickle": lambda w, x: w * pickle.loads(pickle.dumps(x)),
    "storage": lambda w, x: w * x.untyped_storage()[3],
    "bytes of a storage": lambda w, x: w * len(x[1:].untyped_storage()),
    "pointer": lambda w, x: w * (2.0 if x[1:].data_ptr() == x.data_ptr() + 4 else 3.0),
    "pointers": lambda w, x: w * (2.0 if (x * 1).data_ptr() == x.data_ptr() else 3.0),
    "same storage": lambda w, x: (
        w * (2.0 if x[1:].untyped_storage().data_ptr() == x.data_ptr() else 3.0)
    ),
    "unique": lambda w, x: w * len(torch.unique(x.round())),
    "unique, runs": lambda w, x: w * torch.unique_consecutive(x > 0).shape[0],
    "mask": lambda w, x: w[x > 0],
    "nonzero": lambda w, x: w[x.nonzero()],
    "bins": lambda w, x: w * torch.bincount(x.abs().long()).sum(),
    "repeats": lambda w, x: torch.repeat_interleave(w, x.abs().long()),
    "split": lambda w, x: w.split([1 + int(x[0] > 0), 2 - int(x[0] > 0)])[0],
    "random.random": lambda w, x: w * random.random(),
    "random.shuffle": lambda w, x: w * shuffled([1.0, 2.0, 3.0])[0],
    "numpy.random": lambda w, x: w * np.random.rand(),  # noqa: NPY002
    "rarely": lambda w, x: w * (random.uniform(1, 2) if RARE["now"] else 1.0),
    "time": lambda w, x: w * (1.0 if time.time() > 0 else 2.0),
    "a random branch": lambda w, x: w * (2.0 if torch.rand(()) < 0.5 else 3.0),
}
RARE = {"now": False}


def shuffled(values: list[float]) -> list[float]:
    random.shuffle(values)
    return values


def shared(w: Any, whole: Any, part: Any) -> Any:
    """A product with a copy whose part has been changed."""
    part.mul_(3)
    return w * whole


@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize("argument", [True, False], ids=["argument", "variable"])
def test_what_is_read(name: str, argument: bool) -> None:
    read, variable = READS[name], array(3)

    def make() -> Any:
        if argument:
            return of_leaf(lambda w, x: read(w, x).sum() + (w * w).sum())
        return of_leaf(lambda w: read(w, variable).sum() + (w * w).sum())

    def arguments(n: int) -> tuple[Any, ...]:
        RARE["now"] = n > 6
        x = array(3, seed=n)
        return (x,) if argument else (variable.copy_(x), ())[1]

    warned = [w for w in caught(lambda: compare(make, 10, arguments, compiles=None)) if "runs" in w]
    assert len(warned) <= 1
    assert all(re.search(r"(test_fallback|beside)\.py:\d+: ", text) for text in warned), warned


def test_a_kernel_whose_shape_comes_to_be_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that nobody knows to be of no fixed shape: the step runs as it is where it is."""
    recorder = importlib.import_module("nanotorch.compile.recorder")
    monkeypatch.setattr(recorder, "OF_NO_FIXED_SHAPE", set())
    step = torch.compile(lambda x: torch.unique(x).sum(), fullgraph=True)
    rows = [(1, 2, 2), (3, 4, 4), (6, 7, 7), (8, 9, 9), (1, 1, 1), (1, 2, 3), (5, 6, 6)]
    for row in rows * 2:
        assert step(torch.tensor(row) * 1.0).item() == sum(set(row))
    assert step.report().plans


# Where replays do not pay, a compiled function soon runs as it is, and only there.

X, Y = array(8, 4), torch.tensor([0, 1] * 4)
LEAF = "a leaf that it makes itself"


def forward() -> tuple[Any, Any]:
    """A model, and a function that gives the loss, which is not captured where it is recorded."""
    model = nn.Linear(4, 2)

    def loss() -> Any:
        one = torch.ones(2, requires_grad=torch.is_grad_enabled())
        return F.cross_entropy(model(X) * one, Y)

    return model, loss


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """How often a step is traced, and what it reaches looked at."""
    module = importlib.import_module("nanotorch.compile.compiler")
    found = {"trace": 0, "__init__": 0}

    def count(owner: Any, name: str) -> None:
        inner = getattr(owner, name)

        def counted(*args: Any) -> Any:
            found[name] += 1
            return inner(*args)

        monkeypatch.setattr(owner, name, counted)

    count(module.Compiler, "trace")
    count(module.Guards, "__init__")
    return found


def test_a_loss_that_cannot_be_captured_is_traced_once(looked: dict[str, int]) -> None:
    def program(compiled: Any) -> Any:
        model, loss = forward()
        optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        step, _ = usual(model, optimizer, compiled(loss))
        return [step().item() for _ in range(6)]

    (warned,) = caught(lambda: alike(program, fullgraph=False, compiles=False))
    assert LEAF in warned
    assert looked["trace"] == 1


@pytest.mark.filterwarnings("ignore:nanotorch.compile runs")
def test_what_is_recorded_runs_as_it_is_and_the_rest_is_replayed(looked: dict[str, int]) -> None:
    _, loss = forward()
    f = torch.compile(loss)
    expected = loss().item()
    assert all(f().requires_grad for _ in range(3))
    assert "uncompiled" in str(f.report())
    for n in range(10):
        assert f().grad_fn is not None
        with torch.no_grad():
            assert f().item() == expected
        if n == 5:
            looks = looked["__init__"]
    assert looked["__init__"] == looks
    assert looked["trace"] <= 3  # perhaps once more, for what is used for the first time
    assert len(f.report().plans) == 1
    assert LEAF in f.report().problem
    assert "1 captured" in str(f.report())


def test_two_shapes_by_turns_need_no_new_look(looked: dict[str, int]) -> None:
    looks: list[int] = []
    compare(small, 40, batch, lambda n, step: looks.append(looked["__init__"]))
    assert looks[-1] == looks[-20] > 0


def test_arguments_that_always_lie_in_a_tensor_in_reach(looked: dict[str, int]) -> None:
    data = array(40, 4)

    def step(x: Any) -> Any:
        return x.sum() + data[0, 0]

    f = torch.compile(step, fullgraph=True)
    for n in range(20):
        at = n % 9 * 4
        assert flat(f(data[at : at + 4])) == flat(step(data[at : at + 4]))
    assert looked == {"trace": 0, "__init__": 2}
    for n in range(6):
        x = array(4, 4, seed=n)
        assert flat(f(x)) == flat(step(x))
    assert f.report().plans
    looks = looked["__init__"]
    for _ in range(6):
        assert flat(f(data[:4])) == flat(step(data[:4]))
        assert flat(f(x)) == flat(step(x))
    assert looked["__init__"] == looks


def test_equal_numbers_that_are_set_anew(looked: dict[str, int]) -> None:
    model = nn.Linear(4, 2)

    @torch.no_grad()
    def step(x: Any) -> Any:
        return model(x) * model.scale * model.shift

    f = torch.compile(step, fullgraph=True)
    for n in range(12):
        model.scale, model.shift = float("0.5"), float("-0.0") if n < 8 else 0.0  # type: ignore[assignment]
        assert flat(f(X)) == flat(step(X))
        if n == 4:
            looks = looked["__init__"]
        assert n != 7 or looked["__init__"] == looks
    assert len(f.report().plans) == 2


@pytest.mark.filterwarnings("ignore:nanotorch.compile runs")
def test_code_that_is_new_at_every_call(looked: dict[str, int]) -> None:
    space: dict[str, Callable[..., Any]] = {}

    def step(x: Any) -> Any:
        return space["f"](x)

    f = torch.compile(step)
    for n in range(30):
        exec(f"def f(x): return x + {n}", space)
        assert flat(f(X)) == flat(X + n)
    assert looked["trace"] <= 10
