"""What a replay depends on may change between calls; it then does what the step would do."""

import importlib
import math
import operator
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import nanotorch as torch
from nanotorch import nn, optim
from nanotorch.compile.tape import holders
from nanotorch.nn import functional as F
from tests.compile.beside import array, behind, caught, compare, flat, usual
from tests.several import uncollected

# What a replay depends on may change between calls; it then does what the step would do.

SCALE = 2.0


def small() -> Any:
    model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.2), nn.BatchNorm1d(8), nn.Linear(8, 2))
    optimizer = optim.Adam(model.parameters(), lr=0.01)
    return usual(model, optimizer, lambda x, y: F.mse_loss(model(x), y))


def batch(n: int) -> Any:
    rows = 3 if n % 5 == 4 else 6
    return array(rows, 4, seed=n), array(rows, 2, seed=100 + n)


def test_a_trace_holds_nothing_once_it_is_over() -> None:
    """Gradients that somebody held would have to be copied at every step, by a further plan."""
    with uncollected():
        step = compare(small, calls=16, arguments=batch)
    assert len(step.report().plans) == 2, str(step.report())


def test_an_argument_may_lie_where_a_gradient_of_before_lay() -> None:
    step = compare(small, calls=16, arguments=batch)
    own = behind(step)
    kept = [t for state in own.optimizer.state.values() for t in state.values()]
    lasting = [t._array for t in (*own.model.parameters(), *own.model.buffers(), *kept)]
    for plan in step.report.__self__.plans:
        assert plan.known == holders(lasting)


def test_many_arguments() -> None:
    def make() -> Any:
        model = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3))
        optimizer = optim.SGD(model.parameters(), lr=0.1)

        def step(*parts: Any) -> Any:
            optimizer.zero_grad()
            loss = sum(model(x).pow(2).sum() for x in parts)
            loss.backward()
            optimizer.step()
            return loss

        return step, lambda: [*model.parameters(), *model.buffers()]

    compare(make, arguments=lambda n: tuple([array(5, 4, seed=20 * n + i) for i in range(20)]))


def test_batches_cut_from_a_data_set() -> None:
    x, y = array(20, 4), array(20, 2, seed=1)

    def cut(n: int) -> Any:
        at = 4 * n % 20
        return x[at : at + 4], y[at : at + 4]

    compare(small, calls=12, arguments=cut)


def test_columns_of_other_strides() -> None:
    def cut(n: int) -> Any:
        return array(4, 6, seed=n).T if n % 2 else array(6, 4, seed=n), array(6, 2)

    compare(small, calls=10, arguments=cut)


def test_learning_rates_take_effect() -> None:
    def schedule(n: int, step: Any) -> None:
        for group in behind(step).optimizer.param_groups:
            group["lr"] = 0.1 / (n + 1)
            if n == 6:
                group["weight_decay"] = 0.1
            if n == 9:
                group["betas"] = (0.5, 0.9)

    step = compare(small, calls=14, arguments=batch, between=schedule)
    assert len(step.report().plans) <= 4


def test_training_and_evaluation() -> None:
    def switch(n: int, step: Any) -> None:
        behind(step).model.train(n % 4 < 2)

    compare(small, calls=16, arguments=lambda n: (array(6, 4, seed=n), array(6, 2)), between=switch)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_evaluation_functions(mode: Any) -> None:
    def make() -> Any:
        model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2)).eval()

        @mode()
        def evaluate(x: Any) -> Any:
            return model(x).argmax(1), model(x).max()

        return evaluate, lambda: list(model.parameters())

    compare(make, arguments=lambda n: (array(6, 4, seed=n),))


def test_gradients_accumulate() -> None:
    def make() -> Any:
        model = nn.Linear(4, 2)

        def step(x: Any) -> Any:
            loss = model(x).pow(2).mean()
            loss.backward()
            return loss

        step.model = model  # type: ignore[attr-defined]
        return step, lambda: list(model.parameters())

    def clear(n: int, step: Any) -> None:
        if n % 4 == 0:
            behind(step).model.zero_grad()

    compare(make, calls=16, arguments=lambda n: (array(6, 4, seed=n),), between=clear)


def test_gradients_that_are_zeroed_not_dropped() -> None:
    def make() -> Any:
        model = nn.Linear(4, 2)
        optimizer = optim.SGD(model.parameters(), lr=0.1)

        def step() -> Any:
            optimizer.zero_grad(set_to_none=False)
            loss = model(x).pow(2).mean()
            loss.backward()
            optimizer.step()
            return loss

        x = array(5, 4)
        return step, lambda: list(model.parameters())

    compare(make)


def test_clipping_by_hand() -> None:
    def make() -> Any:
        model = nn.Linear(4, 2)
        optimizer, x = optim.SGD(model.parameters(), lr=0.1), array(5, 4)

        def step() -> Any:
            optimizer.zero_grad()
            loss = model(x).pow(2).sum() * 10
            loss.backward()
            with torch.no_grad():
                total = torch.sqrt(sum((p.grad**2).sum() for p in model.parameters()))
                factor = torch.clamp(1.0 / (total + 1e-6), max=1.0)
                for p in model.parameters():
                    p.grad.mul_(factor)
            optimizer.step()
            return loss, total

        return step, lambda: list(model.parameters())

    compare(make)


def test_steps_by_hand() -> None:
    def make() -> Any:
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

    compare(make)


def test_a_kept_loss_and_a_kept_gradient_stay() -> None:
    step, state = small()
    compiled = torch.compile(step, fullgraph=True)
    x, y = batch(0)
    losses, grads, seen = [], [], []
    for _ in range(8):
        losses.append(compiled(x, y))
        grads.append([p.grad for p in state() if p.grad is not None])
        seen.append(flat([losses[-1], *grads[-1]]))
    assert [flat([loss, *held]) for loss, held in zip(losses, grads, strict=True)] == seen


def test_a_gradient_held_as_a_view_or_array_stays() -> None:
    step, state = small()
    compiled = torch.compile(step, fullgraph=True)
    x, y = batch(0)
    for _ in range(5):
        compiled(x, y)
    weight = state()[0]
    for hold in (lambda g: g[0], lambda g: g.numpy(), lambda g: g.detach(), lambda g: g.T):
        held = hold(weight.grad)
        before = held.tolist()
        compiled(x, y)
        assert held.tolist() == before
        compiled(x, y)
        assert held.tolist() == before


def test_a_global_number_that_changes() -> None:
    def make() -> Any:
        w = array(3).requires_grad_()

        def step() -> Any:
            w.grad = None
            loss = (w * SCALE).sum()
            loss.backward()
            return loss

        return step, lambda: [w]

    def change(n: int, step: Any) -> None:
        globals()["SCALE"] = 2.0 if n < 5 else 3.0

    step = compare(make, calls=12, between=change)
    assert len(step.report().plans) == 2, str(step.report())


def test_a_parameter_whose_memory_or_flag_changes() -> None:
    def change(n: int, step: Any) -> None:
        model = behind(step).model
        if n == 5:
            model[0].weight.data = model[0].weight.data * 2
        if n == 8:
            model[0].bias.requires_grad_(False)
        if n == 11:
            model.load_state_dict({k: v * 0.5 for k, v in model.state_dict().items()})

    compare(small, calls=15, arguments=lambda n: (array(6, 4), array(6, 2)), between=change)


def test_a_layer_that_is_replaced_and_a_new_group() -> None:
    def make() -> Any:
        model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 2))
        optimizer = optim.SGD([*model[0].parameters()], lr=0.1)
        return usual(model, optimizer, lambda x, y: F.mse_loss(model(x), y))

    def change(n: int, step: Any) -> None:
        own = behind(step)
        if n == 5:
            own.model[1] = nn.ReLU()
        if n == 9:
            own.optimizer.add_param_group({"params": list(own.model[2].parameters()), "lr": 0.01})

    compare(make, calls=14, arguments=lambda n: (array(6, 4), array(6, 2)), between=change)


def test_a_hook_that_is_added() -> None:
    def change(n: int, step: Any) -> None:
        own = behind(step)
        if n == 5:
            own.model[0].register_forward_hook(lambda module, args, out: out * 2)
        if n == 9:
            own.model[3].weight.register_hook(lambda g: g * 0.5)

    compare(small, calls=14, arguments=lambda n: (array(6, 4), array(6, 2)), between=change)


def test_a_number_that_differs_each_time_is_given_up() -> None:
    w = array(3).requires_grad_()
    step = torch.compile(lambda factor: (w.detach() * factor).sum())
    warned = caught(lambda: [step(float(n)) for n in range(12)])
    assert len(warned) == 1
    assert "anew" in warned[0]
    assert step(3.0).item() == (w.detach() * 3.0).sum().item()


def test_the_loss_of_a_replay_cannot_go_backward_again() -> None:
    step, _ = small()
    compiled = torch.compile(step, fullgraph=True)
    for _ in range(5):
        loss = compiled(*batch(0))
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        loss.backward()


def test_retained_gradients_and_views_in_place() -> None:
    def make() -> Any:
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

    compare(make)


def test_what_is_made_inside() -> None:
    def make() -> Any:
        w = array(4).requires_grad_()

        def step() -> Any:
            w.grad = None
            scale = torch.tensor([1.0, 2.0, 3.0, 4.0])
            noise = torch.randn(4) + torch.zeros(4) + torch.arange(4)
            loss = (w * scale + noise).pow(2).mean()
            loss.backward()
            return loss, noise

        return step, lambda: [w]

    compare(make)


def test_memory_does_not_grow() -> None:
    import tracemalloc

    step, _ = small()
    compiled = torch.compile(step, fullgraph=True)
    x, y = batch(0)
    for _ in range(20):
        compiled(x, y)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(200):
        compiled(x, y)
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert after - before < 4096


def test_two_shapes_by_turns_need_no_new_look(monkeypatch: Any) -> None:
    looks: list[Any] = []
    compiler = importlib.import_module("nanotorch.compile.compiler")
    original = compiler.Guards.of
    monkeypatch.setattr(compiler.Guards, "of", lambda *given: looks.append(1) or original(*given))

    def count(n: int, step: Any) -> None:
        if n == 20:
            looks.clear()

    step = compare(small, calls=40, arguments=batch, between=count)
    assert len(step.report().plans) == 2, str(step.report())
    assert not looks


# Tensors that are the same, share memory or are held by others at some calls only.

BUFFER = torch.ones(2)


def twofold(a: Any, b: Any) -> Any:
    return a * 2 + b[:1]


def with_buffer(a: Any) -> Any:
    return a * 2 + BUFFER


@pytest.mark.parametrize("aliases", [True, False])
def test_arguments_that_are_the_same_tensor_only_at_times(aliases: bool) -> None:
    x, y = torch.ones(2), torch.full((2,), 5.0)
    step = torch.compile(twofold, fullgraph=True)
    kinds = [(x, x), (x, y), (x, x.detach()), (x, torch.from_numpy(x.numpy()))]
    for args in [kinds[0 if aliases else 1]] * 4 + kinds * 3:
        assert step(*args).tolist() == twofold(*args).tolist()
    assert step.report().plans


def test_arguments_that_overlap_now_and_then() -> None:
    data = torch.arange(20.0)
    step = torch.compile(twofold, fullgraph=True)
    for at, shift in [(0, 0), (1, 0), (2, 0), (0, 4), (1, 4), (3, 0), (2, 1), (5, 1), (7, 1)] * 2:
        args = data[at : at + 4], data[at + shift : at + shift + 4]
        assert step(*args).tolist() == twofold(*args).tolist()


def test_an_argument_that_is_a_tensor_in_reach_at_times() -> None:
    y = torch.full((2,), 5.0)
    step = torch.compile(with_buffer, fullgraph=True)
    for x in [BUFFER] * 4 + [y] * 4 + [BUFFER, BUFFER.detach(), BUFFER.view(2), y]:
        assert step(x).tolist() == with_buffer(x).tolist()
    assert len(step.report().plans) == 1


def test_identity_of_arguments_decides() -> None:
    def identity(a: Any, b: Any) -> Any:
        return a.sum() * (2.0 if a is b else 1.0)

    x, y = torch.ones(2), torch.ones(2)
    step = torch.compile(identity, fullgraph=True)
    for args in [(x, y)] * 4 + [(x, x), (y, x)] * 4:
        assert step(*args).item() == identity(*args).item()


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


def test_a_parameter_that_gets_a_gradient_though_it_requires_none() -> None:
    def make() -> Any:
        a, b = torch.tensor([1.0], requires_grad=True), torch.tensor([3.0])
        optimizer = optim.SGD([a, b], lr=0.1)

        def step() -> None:
            (a * b).sum().backward()
            optimizer.step()

        step.b = b  # type: ignore[attr-defined]
        return step, lambda: [a, b]

    def between(n: int, step: Any) -> None:
        if n in (5, 9):
            behind(step).b.grad = torch.ones(1)
        elif n == 7:
            behind(step).b.grad = None

    compare(make, calls=12, between=between)


# What a step reads by way of Python may be replaced between calls: the next call sees it.

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
