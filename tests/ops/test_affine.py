"""A layer and a cross entropy are one node each, and for whoever looks the two of their parts."""

import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

import nanotorch as torch
from nanotorch._core.graph import Recorded
from nanotorch.nn import functional as F
from nanotorch.ops.matrix import layer
from nanotorch.ops.shape import unsafe_view

Layer = Callable[[Any, Any, Any], Any]
LEADING = [(5,), (2, 3), (2, 1, 3)]
FLAGS = [(a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1) if a or b or c]


def composed(x: Any, weight: Any, bias: Any) -> Any:
    if x.ndim == 2:
        return torch.addmm(bias, x, weight.t())
    flat = torch.addmm(bias, x.reshape(-1, x.shape[-1]), weight.t())
    return unsafe_view(flat, (*x.shape[:-1], weight.shape[0]))


def operands(flags: tuple[int, ...] = (1, 1, 1), leading: tuple[int, ...] = (5,)) -> list[Any]:
    torch.manual_seed(0)
    shapes = (*leading, 3), (4, 3), (4,)
    return [torch.randn(*s, requires_grad=bool(f)) for s, f in zip(shapes, flags, strict=True)]


def alike(
    use: Callable[[Layer, list[Any]], Any],
    flags: tuple[int, ...] = (1, 1, 1),
    leading: tuple[int, ...] = (5,),
) -> None:
    """The layer and its composition give the same answer."""
    one, other = (use(function, operands(flags, leading)) for function in (F.linear, composed))
    assert one == other


def folded(t: Any) -> bool:
    node = t._history
    return type(node) is Recorded and node._back.kind.op.unfold is not None


def told(node: Any, given: list[Any]) -> Any:
    """A node as it is shown, and all behind it; leaves as the operand they are."""
    if node is None:
        return None
    if hasattr(node, "variable"):
        return [node.variable is t for t in given]
    kept = {n: getattr(node, n) for n in dir(node) if n.startswith("_saved_")}
    for name, value in kept.items():
        if isinstance(value, torch.Tensor):
            maker = value.grad_fn
            kept[name] = value.tolist(), value.stride(), value.is_leaf, maker and maker.name()
    kept = {name: value for name, value in kept.items() if "strides" not in name}
    return node.name(), node._outputs, kept, [told(n, given) for n, _ in node.next_functions]


@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.parametrize("flags", FLAGS)
def test_it_looks_like_its_composition(flags: tuple[int, ...], leading: tuple[int, ...]) -> None:
    def use(function: Layer, given: list[Any]) -> Any:
        out = function(*given)
        assert folded(out) is (function is F.linear)
        shown = told(out.grad_fn, given)
        assert not folded(out)
        return shown

    alike(use, flags, leading)


def first(out: Any, given: list[Any]) -> list[Any]:
    (out.tanh() * out).sum().backward()
    return [t.grad for t in given]


def second(out: Any, given: list[Any]) -> list[Any]:
    grads = torch.autograd.grad(out.tanh().sum(), given, create_graph=True)
    return [*grads, *torch.autograd.grad(sum((g * g).sum() for g in grads), given)]


def hooked(out: Any, given: list[Any]) -> list[Any]:
    seen: list[Any] = []
    node = out.grad_fn
    node.register_hook(lambda gs, _: seen.extend(gs))
    product = node if len(node.next_functions) > 1 else node.next_functions[0][0]
    product.next_functions[2][0].register_hook(lambda gs, arrived: seen.extend([*gs, *arrived]))
    return seen + first(out, given)


def view_written(out: Any, given: list[Any]) -> list[Any]:
    out[0].mul_(2)
    return first(out, given)


def twice(out: Any, given: list[Any]) -> list[Any]:
    out.sum().backward(retain_graph=True)
    return first(out, given)


@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.parametrize("use", [first, second, hooked, view_written, twice])
def test_the_same_gradients(use: Any, leading: tuple[int, ...]) -> None:
    def seen(function: Layer, given: list[Any]) -> Any:
        return [(t.tolist(), t.stride()) for t in use(function(*given), given)]

    alike(seen, leading=leading)


def freed(out: Any, given: list[Any]) -> None:
    out.sum().backward(), out.sum().backward()


def changed(which: int) -> Any:
    def change(out: Any, given: list[Any]) -> None:
        with torch.no_grad():
            given[which].add_(1)
        out.sum().backward()

    return change


@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.parametrize("use", [freed, changed(0), changed(1)], ids=["freed", "input", "weight"])
def test_the_same_errors(use: Any, leading: tuple[int, ...]) -> None:
    def seen(function: Layer, given: list[Any]) -> str:
        with pytest.raises(RuntimeError) as caught:
            use(function(*given), given)
        assert all(t.grad is None for t in given) is (use is not freed)
        return str(caught.value).split("\n")[0]

    alike(seen, leading=leading)


def test_what_is_no_such_layer() -> None:
    x, weight, bias = operands()
    assert folded(F.linear(x, weight, bias))
    others = {
        "a number": (x, weight, torch.tensor(1.0)),
        "half": (x.half(), weight.half(), bias.half()),
        "a bias that broadcasts": (x, weight, bias[:1]),
        "columns": (x.t().contiguous().t(), weight, bias),
        "a turned weight": (x, weight.t().contiguous().t(), bias),
    }
    for name, given in others.items():
        assert not folded(F.linear(*given)), name
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        assert not folded(F.linear(x, weight, bias))
    plain = bias.detach(), x.detach(), weight.detach()
    assert layer(*plain, weight._array).equal(composed(x, weight, bias))


@pytest.mark.parametrize("looked_at", [False, True])
def test_a_weight_with_other_data_has_been_what_it_was(looked_at: bool) -> None:
    def seen(function: Layer, given: list[Any]) -> Any:
        out = function(*given)
        kept = out.grad_fn._saved_mat2.tolist() if looked_at else None
        given[1].data = torch.zeros(4, 3)
        if not looked_at:
            kept = out.grad_fn._saved_mat2.tolist()
        return kept, [t.tolist() for t in first(out, given)]

    alike(seen)


@pytest.mark.parametrize("leading", LEADING)
def test_an_input_with_other_data(leading: tuple[int, ...]) -> None:
    """A matrix is saved itself; of more dimensions, a view of it, which keeps its values."""

    def seen(function: Layer, given: list[Any]) -> Any:
        out = function(*given)
        given[0].data = torch.zeros(*leading, 3)
        return [t.tolist() for t in first(out, given)]

    alike(seen, leading=leading)


@pytest.mark.parametrize("looked_at", [False, True])
@pytest.mark.parametrize("which", range(3))
@pytest.mark.parametrize("leading", LEADING)
def test_a_hook_that_comes_later(leading: tuple[int, ...], which: int, looked_at: bool) -> None:
    answers = []
    for hook in (False, True):
        given = operands(leading=leading)
        out = F.linear(*given).tanh()
        if looked_at:
            told(out.grad_fn, given)
        if hook:
            given[which].register_hook(lambda g: g * 2)
        first(out, given)
        answers.append([t.grad for t in given])
    answers[0][which] *= 2
    assert all(a.equal(b) for a, b in zip(*answers, strict=True))


@pytest.mark.parametrize("looked_at", [False, True])
def test_a_hook_on_the_scores(looked_at: bool) -> None:
    x, target = torch.randn(5, 3, requires_grad=True), torch.tensor([0, 2, 2, 1, 0])
    F.cross_entropy(x, target).backward()
    wanted, x.grad = x.grad * 2, None
    loss = F.cross_entropy(x, target)
    if looked_at:
        told(loss.grad_fn, [x])
    x.register_hook(lambda g: g * 2)
    loss.backward()
    assert x.grad.equal(wanted)


@pytest.mark.parametrize("looked_at", [False, True])
@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4)])
def test_no_gradient_passes_a_view_that_is_cut_off(shape: Any, looked_at: bool) -> None:
    x, target = torch.randn(*shape, requires_grad=True), torch.zeros(3, dtype=torch.int64)
    weight, bias = torch.randn(4, 4, requires_grad=True), torch.zeros(4, requires_grad=True)
    with torch.no_grad():
        seen, seen_weight = x.view(shape), weight.view(4, 4)
    for given in ((seen, weight), (x, seen_weight), (seen, seen_weight)):
        for loss in (
            F.linear(*given, bias).sum(),
            *([F.cross_entropy(seen, target)] if x.ndim == 2 else []),
        ):
            x.grad = weight.grad = None
            if looked_at:
                told(loss.grad_fn, [x, weight, bias])
            loss.backward(retain_graph=True)
            loss.backward()
            assert given[0] is x or x.grad is None
            assert weight.grad is None or given[1] is weight


def test_another_thread_looks_at_a_node_that_runs() -> None:
    """The node may turn while its formulas run, and the gradient goes where it belongs."""
    torch.manual_seed(0)
    x, weight, bias = torch.randn(3, 4), torch.randn(4, 4, requires_grad=True), torch.zeros(4)
    wanted = torch.ones(3, 4).t() @ x
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(200):
            weight.grad = None
            out = F.linear(x, weight, bias)
            loss = out.sum()
            looker = threading.Thread(target=lambda out=out: out.grad_fn.next_functions)
            looker.start()
            loss.backward()
            looker.join()
            assert weight.grad.equal(wanted)
    finally:
        sys.setswitchinterval(interval)


def classes(reduction: str = "mean") -> dict[Any, Callable[..., Any]]:
    """A cross entropy as one operation and as two, for a matrix of scores."""
    target = torch.tensor([0, 2, 2, 1, 0])
    return {
        "one": lambda x: F.cross_entropy(x, target, reduction=reduction),
        "two": lambda x: F.nll_loss(F.log_softmax(x, 1), target, reduction=reduction),
        "changed": lambda x: (F.cross_entropy(x, target, reduction=reduction), target.add_(0))[0],
    }


def scores(kind: Any = torch.float32) -> Any:
    torch.manual_seed(0)
    return torch.randn(5, 3, dtype=kind, requires_grad=True)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_cross_entropy_is_its_composition(kind: Any, reduction: str) -> None:
    answers = []
    for name, function in list(classes(reduction).items())[:2]:
        x = scores(kind)
        out = function(x * 2)
        assert folded(out) is (name == "one")
        weights = torch.arange(1, 1 + out.numel(), dtype=kind).reshape(out.shape)
        (out * weights).sum().backward()
        plain = out.tolist(), x.grad.tolist()
        held = [x]
        shown = told(function(held[0]).grad_fn, held)
        answers.append((plain, shown))
    assert answers[0] == answers[1]


@pytest.mark.parametrize("use", [second, twice], ids=["second", "twice"])
def test_its_gradients_have_gradients(use: Any) -> None:
    answers = []
    for name in ("one", "two"):
        x = scores()
        answers.append([t.tolist() for t in use(classes()[name](x), [x])])
    assert answers[0] == answers[1]


@pytest.mark.parametrize("name", ["one", "two", "changed"])
def test_what_a_cross_entropy_minds(name: str) -> None:
    x = scores()
    loss = classes()[name](x)
    if name == "changed":
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            loss.backward()
        return
    loss.backward()
    behind = loss.grad_fn.next_functions[0][0]
    assert behind.name() == "LogSoftmaxBackward0"
    for node, saved in ((loss.grad_fn, "_saved_self"), (behind, "_saved_result")):
        with pytest.raises(RuntimeError, match="already been freed"):
            getattr(node, saved)
    with pytest.raises(RuntimeError, match="a second time"):
        loss.backward()


@pytest.mark.parametrize("wrong", [3, -1, -100], ids=["too large", "negative", "ignored"])
def test_other_classes_take_two_nodes(wrong: int) -> None:
    x, target = scores(), torch.tensor([0, wrong, 2, 1, 0])
    if wrong != -100:
        with pytest.raises(IndexError, match=f"Target {wrong} is out of bounds"):
            F.cross_entropy(x, target)
        return
    loss = F.cross_entropy(x, target)
    assert not folded(loss)
    loss.backward()
    assert x.grad[1].tolist() == [0, 0, 0]
