"""A compiled forward whose result goes backward outside: the same bits as without the compiler."""

import copy
import inspect
import pickle
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import nanotorch as torch
from nanotorch import nn, optim
from nanotorch.nn import functional as F
from tests.compile.beside import alike, array, caught, flat
from tests.several import uncollected

CALLS = 8
LABELS = torch.tensor([0, 1, 1, 0, 1, 0])


class Tied(nn.Module):
    """A parameter that is used in two places, and twice in one of them."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        return self.inner(torch.tanh(self.inner(x))) @ self.inner.weight[:2].t()


class Cell(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell, self.out = nn.LSTM(2, 5, batch_first=True), nn.Linear(5, 2)

    def forward(self, x: Any) -> Any:
        return self.out(self.cell(x.reshape(-1, 2, 2))[0][:, -1])


class Double(torch.autograd.Function):
    """A function of the user's own."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return 2 * g * ctx.saved_tensors[0]


class Own(nn.Linear):
    def forward(self, x: Any) -> Any:
        return Double.apply(super().forward(x))


def mlp() -> Any:
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))


def frozen() -> Any:
    model = mlp()
    model[0].weight.requires_grad_(False)
    return model


MODELS: dict[str, Callable[[], Any]] = {
    "plain": mlp, "frozen": frozen, "tied": Tied, "cell": Cell, "own": lambda: Own(4, 2),
    "norm": lambda: nn.Sequential(
        nn.Linear(4, 8), nn.BatchNorm1d(8), nn.GELU(), nn.Linear(8, 2)
    ),
    "dropout": lambda: nn.Sequential(
        nn.Linear(4, 8), nn.Dropout(0.5), nn.LayerNorm(8), nn.Linear(8, 2)
    ),
    "convolution": lambda: nn.Sequential(
        nn.Unflatten(1, (1, 2, 2)), nn.Conv2d(1, 3, 2, padding=1), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(3, 2),
    ),
}  # fmt: skip


def classify(model: Any, f: Any, x: Any) -> Any:
    return F.cross_entropy(f(x), LABELS[: len(x)])


LOSSES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "classify": classify,
    "add up": lambda model, f, x: f(x).sum(),
    "penalize": lambda model, f, x: (
        f(x).pow(2).mean() + 0.1 * sum(p.pow(2).sum() for p in model.parameters())
    ),
    "call twice": lambda model, f, x: (f(x) * f(x * 2)).mean(),
    "give a graph": lambda model, f, x: f(x * next(model.parameters()).sum()).pow(2).mean(),
}


def replace(n: int, model: Any) -> None:
    if n == 5:
        model[1] = nn.Tanh()


def listen(n: int, model: Any) -> None:
    if n == 5:
        next(model.parameters()).register_hook(lambda g: g * 2)


CHANGES: dict[str, Callable[[int, Any], Any]] = {
    "": lambda n, model: None, "replace": replace, "listen": listen,
    "switch": lambda n, model: model.train(n % 3 > 0),
    "freeze": lambda n, model: next(model.parameters()).requires_grad_(n < 4),
}  # fmt: skip
# A model, its loss, what happens before each step.
TRAININGS = [
    *((name, "classify", "") for name in MODELS),
    ("norm", "add up", ""), ("frozen", "penalize", ""), ("norm", "call twice", ""),
    ("dropout", "give a graph", ""), ("tied", "give a graph", ""),
    ("dropout", "classify", "switch"),
    *(("plain", "classify", change) for change in ("freeze", "replace", "listen")),
]  # fmt: skip


@pytest.mark.parametrize(("name", "loss", "change"), TRAININGS)
def test_a_training(name: str, loss: str, change: str) -> None:
    def train(compiled: Any) -> Any:
        model = MODELS[name]()
        f = compiled(model)
        optimizer = optim.SGD([p for p in model.parameters() if p.requires_grad], 0.1, momentum=0.9)
        for n in range(CALLS):
            CHANGES[change](n, model)
            out = LOSSES[loss](model, f, array(4 + n % 4 // 2 * 2, 4, seed=n))
            optimizer.zero_grad()
            out.backward()
            optimizer.step()
            state = [(p, p.grad, p._version) for p in model.parameters()]
            yield [out.detach(), state, list(model.buffers()), torch.get_rng_state()]

    alike(train)


def product(x: Any, w: Any) -> Any:
    return torch.sigmoid(x @ w) * x


def warm(compiled: Any, body: Any = product) -> tuple[Any, Any]:
    """A function that is replayed by then, where it is compiled, and the leaf that it uses."""
    w = array(3, 3).requires_grad_()
    f = compiled(lambda x: body(x, w))
    for n in range(5):
        f(array(3, 3, seed=n))
    return f, w


def replayed(body: Any = product) -> tuple[Any, Any]:
    f, w = warm(lambda f: torch.compile(f, fullgraph=True), body)
    assert f.report().plans
    return f, w


def test_the_node() -> None:
    f, w = replayed()
    out = f(array(3, 3))
    node = out.grad_fn
    assert node.name() == "CompiledFunctionBackward"
    assert repr(node).startswith("<torch.autograd.function.CompiledFunctionBackward object at ")
    [(end, number)] = node.next_functions
    assert (end.variable is w, number, out.output_nr) == (True, 0, 0)
    out.sum().backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        out.sum().backward()


def hooks_of_the_node(f: Any, w: Any) -> Any:
    out = f(array(3, 3))
    out.register_hook(lambda g: g * 2)
    out.grad_fn.register_prehook(lambda given: tuple(g * 3 for g in given))
    out.backward(array(3, 3, seed=1))
    return w.grad


def two_graphs(f: Any, w: Any) -> Any:
    one, other = f(array(3, 3)), f(array(3, 3, seed=1))
    other.sum().backward()
    (one * one).sum().backward()
    return w.grad


def again(f: Any, w: Any) -> Any:
    out = f(array(3, 3))
    out.sum().backward(retain_graph=True)
    out.sum().backward()
    return w.grad


def of_an_argument(f: Any, w: Any) -> Any:
    x = array(3, 3).requires_grad_()
    f(x).sum().backward()
    return x.grad, w.grad, torch.autograd.grad(f(x).sum(), x)


def without_recording(f: Any, w: Any) -> Any:
    with torch.no_grad():
        still = f(array(3, 3))
    return still, f(array(3, 3)).detach()


def written_afterwards(f: Any, w: Any) -> Any:
    f(array(3, 3)).sum().backward()
    with torch.no_grad():
        w.add_(1)
    return f(array(3, 3)).detach()


def added_up(f: Any, w: Any) -> Any:
    for n in range(4):
        f(array(3, 3, seed=n)).sum().backward()
        yield w.grad.clone()


USES: dict[str, Callable[[Any, Any], Any]] = {
    "hooks of the node": hooks_of_the_node, "two graphs": two_graphs, "again": again,
    "of an argument": of_an_argument, "without recording": without_recording,
    "written afterwards": written_afterwards, "added up": added_up,
    "no backward": lambda f, w: [f(array(3, 3, seed=n)).detach() for n in range(4)],
    "in a graph": lambda f, w: ((f(w * 2).t() @ w).sum().backward(), w.grad),
    "batched": lambda f, w: torch.autograd.grad(
        f(array(3, 3)), w, array(2, 3, 3), is_grads_batched=True
    ),
    "mapped": lambda f, w: torch.func.vmap(torch.func.grad(lambda x: f(x).sum()))(
        array(2, 3, 3)
    ).detach(),
}  # fmt: skip


def clearing(x: Any, w: Any) -> Any:
    w.grad = None
    return x @ w


@pytest.mark.filterwarnings("ignore:nanotorch.compile runs")
@pytest.mark.parametrize(
    ("body", "use"), [*((product, use) for use in USES), (clearing, "added up")]
)
def test_a_use(body: Any, use: str) -> None:
    def program(compiled: Any) -> Any:
        f, w = warm(compiled, body)
        for _ in range(5):  # also where gradients turn out to come in another layout
            w.grad = None
            found = USES[use](f, w)
            yield list(found) if inspect.isgenerator(found) else found

    alike(program)


def test_products_of_one_element() -> None:
    replayed(lambda x, w: (x @ w)[:, :1].prod(1).sum())


def test_gradients_of_gradients_run_as_it_is() -> None:
    def program(compiled: Any) -> Any:
        f, w = warm(compiled)
        for n in range(3):
            (g,) = torch.autograd.grad(f(array(3, 3, seed=n)).sum(), w, create_graph=True)
            (g * g).sum().backward()
            yield w.grad.clone()

    (warned,) = caught(lambda: alike(program, fullgraph=False, compiles=False))
    assert "gradients of its gradients" in warned


def hooks_are_called_once_a_pass(compiled: Any) -> Any:
    w = array(3, 3).requires_grad_()
    calls: list[Any] = []
    f = compiled(lambda x: product(x, w))
    w.register_hook(lambda g: calls.append(g) or g * 2)
    w.register_post_accumulate_grad_hook(lambda p: calls.append(p.grad.clone()))
    for n in range(CALLS):
        x = array(3, 3, seed=n).requires_grad_() * 2
        x.register_hook(lambda g: calls.append(g) or g * 2)
        f(x).sum().backward()
    return w.grad, calls


def a_list_of_arguments_that_changes_later(compiled: Any) -> Any:
    f = compiled(lambda batch, w: ((batch[0]["x"] @ w).sigmoid(), batch[0]["x"].sum() * w.sum()))
    w = array(3, 3).requires_grad_()
    for n in range(CALLS):
        batch = [{"x": array(3, 3, seed=n)}]
        out, loss = f(batch, w)
        batch[0]["x"] = array(2, 2)
        (out.sum() if n > 5 else loss).backward()
    return w.grad


def layers_that_are_compiled_one_by_one(compiled: Any) -> Any:
    model: Any = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4), nn.Linear(4, 2))
    model[0], model[2] = compiled(model[0]), compiled(model[2])
    for n in range(CALLS):
        classify(model, model, array(6, 4, seed=n)).backward()
    return [p.grad for p in model.parameters()]


@pytest.mark.parametrize("program", [
    hooks_are_called_once_a_pass, a_list_of_arguments_that_changes_later,
    layers_that_are_compiled_one_by_one,
])  # fmt: skip
def test_programs(program: Any) -> None:
    alike(program)


@pytest.mark.filterwarnings("ignore:nanotorch.compile runs")
@pytest.mark.parametrize("used", ["loss", "rest", "both", "in turn"])
def test_several_results(used: str) -> None:
    def program(compiled: Any) -> Any:
        model, head = MODELS["norm"](), nn.Linear(2, 2)

        def step(x: Any) -> Any:
            out = model(x)
            return {"loss": F.cross_entropy(out, LABELS), "rest": (head(out), out.detach().max())}

        f = compiled(step)
        for n in range(10):
            result = f(array(6, 4, seed=n))
            kind = ("loss", "rest", "both")[n // 3 % 3] if used == "in turn" else used
            total = result["loss"] if kind != "rest" else 0
            (total + (result["rest"][0].sum() if kind != "loss" else 0)).backward()
            leaves = [*model.parameters(), *head.parameters()]
            yield [p.grad for p in leaves] + list(model.buffers())
            for p in leaves:
                p.grad = None

    alike(program, fullgraph=False)


SEEN: list[str] = []


def appends(*_: Any) -> None:
    SEEN.append("gradient")


def says(*_: Any) -> None:
    print("gradient")


def counts(*_: Any) -> None:
    counts.calls += 1  # type: ignore[attr-defined]


@pytest.mark.parametrize("hook", [appends, says, counts])
@pytest.mark.parametrize("place", ["module", "node", "function"])
def test_users_code_in_a_backward_runs_once_a_pass(hook: Any, place: str, capsys: Any) -> None:
    """It is not called to find out what it does."""

    class Noted(Double):
        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            hook()
            return Double.backward(ctx, g)

    model = nn.Linear(3, 3)
    if place == "module":
        model.register_full_backward_hook(hook)

    def step(x: Any) -> Any:
        out = model(x)
        if place == "node":
            out.register_hook(hook)
        return Noted.apply(out) if place == "function" else out.pow(2)

    SEEN.clear()
    counts.calls = 0  # type: ignore[attr-defined]
    f = torch.compile(step)
    warned = caught(lambda: [f(array(3, 3, seed=n)).sum().backward() for n in range(CALLS)])
    assert sum("as it is" in text for text in warned) == 1
    total = len(SEEN) + capsys.readouterr().out.count("gradient") + counts.calls  # type: ignore[attr-defined]
    assert total == CALLS


WRITES = {
    "argument": lambda x, w, out: x.add_(1), "leaf": lambda x, w, out: w.add_(1),
    "result": lambda x, w, out: out.add_(1),
}  # fmt: skip
BODIES = [
    product, lambda x, w: (x @ w).sigmoid(), lambda x, w: x + w, lambda x, w: (x * w).exp(),
    lambda x, w: x.clone() * w,
]  # fmt: skip


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("body", BODIES)
def test_what_is_written_to_in_between_is_noticed(body: Any, write: Any) -> None:
    def program(compiled: Any) -> Any:
        f, w = warm(compiled, body)
        x = array(3, 3)
        out = f(x)
        with torch.no_grad():
            write(x, w, out)
        try:
            out.sum().backward()
        except RuntimeError as error:
            return str(error).partition("[")[0]
        return w.grad

    alike(program)


@pytest.mark.parametrize("which", [0, 1])
def test_memory_that_is_replaced_in_between_is_noticed(which: int) -> None:
    f, w = replayed(lambda x, w: (x @ w) @ w)
    x = array(3, 3)
    out = f(x)
    (x, w)[which].data = array(3, 3, seed=2)
    with pytest.raises(RuntimeError, match="has been given other memory"):
        out.sum().backward()


def test_what_a_graph_holds_goes_with_it() -> None:
    f, _ = replayed(lambda x, w: (x @ w).sigmoid() @ w)
    with uncollected():
        x = array(3, 3)
        seen, out = weakref.ref(x), f(x)
        del x
        assert seen() is not None
        out.sum().backward()
        assert seen() is None
        x = array(3, 3)
        seen, out = weakref.ref(x), f(x)
        del x, out
        assert seen() is None


@pytest.mark.parametrize("duplicate", [
    copy.copy, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model)),
])  # fmt: skip
def test_a_duplicate_of_a_compiled_module(duplicate: Any) -> None:
    model = torch.compile(mlp(), fullgraph=True)
    other = duplicate(model)
    assert type(other) is type(model)
    assert list(other.state_dict()) == list(model.state_dict())
    assert (other._orig_mod is model._orig_mod) == (duplicate is copy.copy)
    for n in range(5):
        x = array(6, 4, seed=n)
        assert flat(other(x).detach()) == flat(model._orig_mod(x).detach())
    assert other.report().plans


def test_each_result_may_go_backward_by_itself() -> None:
    """However often: what they share is kept until the graph goes."""
    f = torch.compile(lambda a, b: (a.exp() * b, b.sin() * a))
    for n in range(CALLS):
        a, b = (array(3, seed=n).requires_grad_() for _ in range(2))
        for result in f(a, b):
            result.sum().backward()
        c, d = (t.detach().requires_grad_() for t in (a, b))
        (c.exp() * d + d.sin() * c).sum().backward()
        torch.testing.assert_close((a.grad, b.grad), (c.grad, d.grad))
