"""Rounds of four threads that share tensors, graphs or modules; each knows what must come out.

A round is a public function of ``torch``. It returns what the threads saw and what they must see.
"""

import inspect
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from tests.several import in_threads

THREADS, PASSES = 4, 5
Round = Callable[[Any], tuple[Any, Any]]


@contextmanager
def switching() -> Iterator[None]:
    """A block in which Python switches between threads as often as it can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def rounds() -> dict[str, Round]:
    """All rounds, by name."""
    return {
        name: value
        for name, value in globals().items()
        if inspect.isfunction(value) and list(inspect.signature(value).parameters) == ["torch"]
    }


def passes(work: Callable[[int], Any]) -> None:
    """Do the work `PASSES` times in each thread."""

    def run(number: int) -> None:
        for _ in range(PASSES):
            work(number)

    in_threads(run, THREADS)


ALL = THREADS * PASSES


def leaf_without_hooks(torch: Any) -> tuple[Any, Any]:
    """Gradients of one leaf add up."""
    x = torch.ones(3, requires_grad=True)
    passes(lambda k: (x * (k + 1)).sum().backward())
    return x.grad.tolist(), [PASSES * sum(range(1, THREADS + 1))] * 3


def hook_of_a_leaf(torch: Any) -> tuple[Any, Any]:
    x, calls = torch.ones(3, requires_grad=True), list[int]()
    x.register_hook(lambda g: calls.append(1))
    passes(lambda _: (x * 2).sum().backward())
    return (len(calls), x.grad.tolist()), (ALL, [2.0 * ALL] * 3)


def hook_replaces_gradients(torch: Any) -> tuple[Any, Any]:
    x = torch.ones(3, requires_grad=True)
    x.register_hook(lambda g: g * 3)
    passes(lambda _: (x * 2).sum().backward())
    return x.grad.tolist(), [6.0 * ALL] * 3


def post_accumulate_hook_takes_the_gradient(torch: Any) -> tuple[Any, Any]:
    """As an optimizer does that steps in the backward pass."""
    x, total = torch.ones(3, requires_grad=True), [0.0]

    def take(leaf: Any) -> None:
        total[0] += leaf.grad[0].item()
        leaf.grad = None

    x.register_post_accumulate_grad_hook(take)
    passes(lambda _: (x * 2).sum().backward())
    return total, [2.0 * ALL]


def hooks_of_an_accumulator(torch: Any) -> tuple[Any, Any]:
    x, calls = torch.ones(3, requires_grad=True), Counter[str]()
    lock = threading.Lock()

    def note(kind: str) -> None:
        with lock:
            calls[kind] += 1

    node = (x * 1).grad_fn.next_functions[0][0]
    node.register_prehook(lambda g: note("before"))
    node.register_hook(lambda g, h: note("after"))
    passes(lambda _: (x * 2).sum().backward())
    return dict(calls), {"before": ALL, "after": ALL}


def hooks_of_one_graph(torch: Any) -> tuple[Any, Any]:
    """Threads sweep one graph with hooks of tensors and nodes."""
    x, calls = torch.ones(3, requires_grad=True), list[str]()
    y = x * 2
    y.register_hook(lambda g: calls.append("tensor"))
    y.grad_fn.register_prehook(lambda g: calls.append("before"))
    y.grad_fn.register_hook(lambda g, h: calls.append("after"))
    loss = y.exp().log().sum()
    passes(lambda _: loss.backward(retain_graph=True))
    expected = dict.fromkeys(("tensor", "before", "after"), ALL)
    return dict(Counter(calls)), expected


def hooks_registered_by_threads(torch: Any) -> tuple[Any, Any]:
    """Threads register hooks of one leaf and one module while others run."""
    x, model, calls = torch.ones(3, requires_grad=True), torch.nn.Linear(3, 1), list[str]()

    def register(k: int) -> None:
        x.register_hook(lambda g: calls.append("leaf"))
        x.register_post_accumulate_grad_hook(lambda t: calls.append("added"))
        model.register_forward_hook(lambda *given: calls.append("module"), prepend=k % 2 == 0)
        model(x * 2).sum().backward()

    in_threads(register, THREADS)
    calls.clear()
    model(x * 2).sum().backward()
    return dict(Counter(calls)), dict.fromkeys(("leaf", "added", "module"), THREADS)


def prepended_hooks_hide_no_other(torch: Any) -> tuple[Any, Any]:
    model, calls = torch.nn.Linear(1, 1), list[int]()
    model.register_forward_hook(lambda *given: calls.append(1))

    def work(k: int) -> None:
        if k:
            model(torch.ones(1))
        else:
            model.register_forward_hook(lambda *given: None, prepend=True).remove()

    passes(work)
    return len(calls), (THREADS - 1) * PASSES


def hooks_of_a_module(torch: Any) -> tuple[Any, Any]:
    model, calls = torch.nn.Linear(2, 2), list[str]()
    model.register_forward_pre_hook(lambda *given: calls.append("before"))
    model.register_forward_hook(lambda *given: calls.append("after"))
    model.register_full_backward_pre_hook(lambda *given: calls.append("outputs"))
    model.register_full_backward_hook(lambda *given: calls.append("inputs"))
    passes(lambda _: model(torch.ones(1, 2, requires_grad=True)).sum().backward())
    names = ("before", "after", "outputs", "inputs")
    grad = [[float(ALL)] * 2] * 2
    return (dict(Counter(calls)), model.weight.grad.tolist()), (dict.fromkeys(names, ALL), grad)


def autocast_of_each_thread(torch: Any) -> tuple[Any, Any]:
    """Threads compute with one parameter, in regions of their own and outside of any."""
    weight = torch.nn.Parameter(torch.ones(2, 2))
    kinds = [torch.bfloat16, torch.float16, torch.float32, torch.float32]
    regions = [
        lambda: torch.autocast("cpu"),
        lambda: torch.autocast("cpu", dtype=torch.float16),
        lambda: torch.autocast("cpu", enabled=False),
        nullcontext,
    ]
    seen = list[Any]()

    def work(k: int) -> None:
        with regions[k]():
            y = torch.ones(2, 2) @ weight
            inside = torch.is_autocast_enabled("cpu")
            loss = torch.nn.functional.mse_loss(y, torch.zeros(2, 2))
        loss.backward()
        if (y.dtype, inside, loss.dtype) != (kinds[k], k < 2, torch.float32):
            seen.append((k, y.dtype, inside, loss.dtype))

    passes(work)
    return (seen, weight.grad.tolist()), ([], [[2.0 * ALL] * 2] * 2)


def one_autocast_object(torch: Any) -> tuple[Any, Any]:
    """Threads decorate with one object, inside and outside of another region."""
    region, seen = torch.autocast("cpu"), list[Any]()

    @region
    def product() -> Any:
        return (torch.ones(2, 2) @ torch.ones(2, 2)).dtype

    def work(k: int) -> None:
        with torch.autocast("cpu", dtype=torch.float16, enabled=k % 2 == 0):
            inside = product()
            after = torch.is_autocast_enabled("cpu")
        if (inside, after) != (torch.bfloat16, k % 2 == 0):
            seen.append((k, inside, after))

    passes(work)
    return seen, []


def grad_modes(torch: Any) -> tuple[Any, Any]:
    x, seen = torch.ones(1, requires_grad=True), list[Any]()
    modes = [torch.no_grad, torch.enable_grad, torch.inference_mode, nullcontext]
    expected = [(False, False), (True, False), (False, True), (True, False)]

    def work(k: int) -> None:
        with modes[k]():
            y = x * 2
            found = (y.requires_grad, y.is_inference())
        torch.set_grad_enabled(k % 2 == 0)
        z = x * 2
        torch.set_grad_enabled(True)
        if found != expected[k] or z.requires_grad is not (k % 2 == 0):
            seen.append((k, found, z.requires_grad))

    passes(work)
    return seen, []


def pack_functions(torch: Any) -> tuple[Any, Any]:
    """Half of the threads pack what the others compute with, too."""
    x, calls = torch.ones(3, requires_grad=True), Counter[tuple[int, str]]()

    def work(k: int) -> None:
        def note(kind: str, t: Any) -> Any:
            calls[k, kind] += 1
            return t

        packed = torch.autograd.graph.saved_tensors_hooks(
            lambda t: note("pack", t), lambda t: note("unpack", t)
        )
        with packed if k % 2 else nullcontext():
            y = x.exp()
        y.sum().backward()

    passes(work)
    expected = {(k, kind): PASSES for k in (1, 3) for kind in ("pack", "unpack")}
    return dict(calls), expected


def global_modes(torch: Any) -> tuple[Any, Any]:
    """Threads see the anomaly mode and the default dtype that another thread has set."""
    seen = list[Any]()
    torch.set_default_dtype(torch.float64)
    try:
        with torch.autograd.set_detect_anomaly(True):
            passes(lambda _: seen.append((torch.tensor(1.0).dtype, torch.is_anomaly_enabled())))
    finally:
        torch.set_default_dtype(torch.float32)
    return set(seen), {(torch.float64, True)}


def passes_in_anomaly_mode(torch: Any) -> tuple[Any, Any]:
    x = torch.ones(3, requires_grad=True)
    with torch.autograd.set_detect_anomaly(True):
        passes(lambda _: (x * 2).exp().log().sum().backward())
    return (x.grad - 2.0 * ALL).abs().max().item() < 1e-3, True


def second_derivatives(torch: Any) -> tuple[Any, Any]:
    x = torch.ones(3, requires_grad=True)

    def work(_: int) -> None:
        (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
        g.sum().backward()

    passes(work)
    return x.grad.tolist(), [6.0 * ALL] * 3


def compiled_steps(torch: Any) -> tuple[Any, Any]:
    """Threads call one compiled function, with gradients, without, and in autocast."""
    model = torch.nn.Linear(2, 2)
    step = torch.compile(lambda x: torch.nn.functional.mse_loss(model(x), x))
    regions = [
        nullcontext, torch.no_grad, lambda: torch.autocast("cpu", dtype=torch.float16), nullcontext,
    ]  # fmt: skip
    x, expected, wrong = torch.ones(3, 2), list[Any](), list[Any]()
    for region in regions:
        with region():
            loss = torch.nn.functional.mse_loss(model(x), x)
        expected.append((loss.item(), loss.requires_grad))
        if loss.requires_grad:
            for _ in range(PASSES):
                loss.backward(retain_graph=True)
    total, model.weight.grad = model.weight.grad, None

    def work(k: int) -> None:
        with regions[k]():
            loss = step(x)
        if loss.requires_grad:
            loss.backward()
        if (loss.item(), loss.requires_grad) != expected[k]:
            wrong.append((k, loss, expected[k]))

    passes(work)
    return (wrong, (model.weight.grad - total).abs().max().item() < 1e-4), ([], True)
