"""Hooks: in what order they are called, what they see, replace and refuse."""

import random
from typing import Any

from tests.answers import Log, raised, told


def leaf_hooks_of_cat(torch: Any) -> Any:
    """Which of many leaves comes first is up to the heap of ready nodes."""
    for count in range(1, 17):
        log = Log()
        leaves = [torch.ones(2, requires_grad=True) for _ in range(count)]
        for k, leaf in enumerate(leaves):
            leaf.register_hook(log.name(str(k)))
        torch.cat(leaves).sum().backward()
        yield " ".join(log)


def random_graphs(torch: Any) -> Any:
    """The order of all tensor hooks and node hooks in random graphs."""
    for seed in range(24):
        rng, log = random.Random(seed), Log()
        tensors = []
        for k in range(rng.randint(2, 7)):
            leaf = torch.ones(2, requires_grad=True)
            leaf.register_hook(log.name(f"leaf{k}"))
            tensors.append(leaf)
        for k in range(rng.randint(3, 14)):
            kind = rng.choice(["mul", "add", "sin", "cat", "chunk", "stack"])
            chosen = [rng.choice(tensors) for _ in range(rng.randint(2, 4))]
            if kind == "sin":
                out = chosen[0].sin()
            elif kind == "cat":
                out = torch.cat(chosen).sum() * torch.ones(2)
            elif kind == "stack":
                out = torch.stack(chosen).sum(0)
            elif kind == "chunk":
                out = torch.cat(chosen[0].chunk(2)[::-1])
            else:
                out = chosen[0] * chosen[1] if kind == "mul" else chosen[0] + chosen[1]
            out.register_hook(log.name(f"t{k}"))
            out.grad_fn.register_hook(log.name(f"n{k}"))
            tensors.append(out)
        total = tensors[-1].sum() + tensors[-2].sum()
        total.backward()
        yield " ".join(log)


def replacing(torch: Any) -> Any:
    """Hooks of one tensor run in the order of registration, each on what the last returned."""
    log, x = Log(), torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    y.register_hook(log.hook("first", lambda g: g * 2))
    y.register_hook(log.hook("second"))
    y.register_hook(log.hook("third", lambda g: g + 1))
    x.register_hook(log.hook("leaf", lambda g: -g))
    y.sum().backward()
    return [log, x.grad]


def removing(torch: Any) -> Any:
    log, x = Log(), torch.ones(1, requires_grad=True)
    y = x * 2
    handle = y.register_hook(log.hook("removed"))
    y.register_hook(log.hook("kept"))
    handle.remove()
    handle.remove()
    with y.register_hook(log.hook("inside")):
        y.backward(retain_graph=True)
    y.backward()
    return log


def removing_while_running(torch: Any) -> Any:
    log, x = Log(), torch.ones(1, requires_grad=True)
    y = x * 2
    handles: list[Any] = []

    def once(g: Any) -> None:
        log.append("once")
        handles[0].remove()

    handles.append(y.register_hook(once))
    y.register_hook(log.name("always"))
    y.backward(retain_graph=True)
    y.backward()
    return log


def leaf_hooks_outlive_graphs(torch: Any) -> Any:
    log, x = Log(), torch.ones(2, requires_grad=True)
    (x * 2).sum().backward()
    x.register_hook(log.hook("before any new graph", lambda g: g * 10))
    (x * 3).sum().backward()
    (x * 4).sum().backward()
    return [log, x.grad]


def leaf_hook_sees_the_total(torch: Any) -> Any:
    log, x = Log(), torch.tensor([1.0], requires_grad=True)
    x.register_hook(log.hook("x"))
    (x * 2 + x * 3 + x.sin() * 0).sum().backward()
    return log


def refused_results(torch: Any) -> Any:
    results = {
        "shape": torch.ones(3), "dtype": torch.ones(2, dtype=torch.float64), "number": 2.0,
        "string": "no",
    }  # fmt: skip
    for result in results.values():
        x = torch.ones(2, requires_grad=True)
        y = x * 2

        def hook(g: Any, result: Any = result) -> Any:
            return result

        y.register_hook(hook)
        yield raised(y.sum().backward)


def refused_registrations(torch: Any) -> Any:
    x = torch.ones(2)
    y = torch.ones(2, requires_grad=True) * 2
    return [
        raised(x.register_hook, print), raised(x.register_post_accumulate_grad_hook, print),
        raised(y.register_post_accumulate_grad_hook, print), raised(x.retain_grad),
    ]  # fmt: skip


def order_at_one_tensor(torch: Any) -> Any:
    """Tensor hooks, then `retain_grad`, then the node's prehooks, its formulas, its hooks."""
    log, x = Log(), torch.ones(1, requires_grad=True)
    y = x * 2
    y.retain_grad()
    y.grad_fn.register_prehook(log.name("prehook"))
    y.grad_fn.register_hook(log.name("hook"))
    y.register_hook(log.hook("tensor", lambda g: g * 5))
    x.register_hook(log.name("leaf"))
    x.register_post_accumulate_grad_hook(log.name("post"))
    y.backward()
    return [log, y.grad, x.grad]


def post_accumulate(torch: Any) -> Any:
    log, x = Log(), torch.ones(2, requires_grad=True)

    def step(t: Any) -> None:
        log.append(["step", told(t.grad)])
        with torch.no_grad():
            t.sub_(t.grad)
        t.grad = None

    handle = x.register_post_accumulate_grad_hook(step)
    x.register_post_accumulate_grad_hook(lambda t: log.append(["second", told(t.grad)]))
    (x * 3).sum().backward()
    handle.remove()
    (x * 4).sum().backward()
    torch.autograd.grad((x * 5).sum(), x)
    return [log, x, x.grad]


def post_accumulate_returns(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    x.register_post_accumulate_grad_hook(lambda t: 1)
    return raised((x * 2).sum().backward)


def retaining(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    z = y * y
    y.retain_grad()
    y.retain_grad()
    x.retain_grad()
    marks = [y.retains_grad, z.retains_grad, x.retains_grad]
    z.sum().backward(retain_graph=True)
    first = told(y.grad)
    z.sum().backward()
    return [marks, first, y.grad, x.grad]


def retaining_sees_what_hooks_return(torch: Any) -> Any:
    x = torch.ones(1, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: g * 3)
    y.retain_grad()
    y.register_hook(lambda g: g * 5)
    y.backward()
    return [y.grad, x.grad]


def retaining_the_root(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    y = (x * x).sum()
    y.retain_grad()
    y.backward(torch.tensor(3.0))
    return [y.grad, x.grad]


def retaining_through_a_write(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.retain_grad()
    y.mul_(3)
    y.sum().backward()
    return [y.grad, x.grad, y.retains_grad]


def hooks_before_and_after_a_write(torch: Any) -> Any:
    """A hook sees the gradient of the value the tensor had when the hook was registered."""
    log, x = Log(), torch.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(log.hook("before"))
    y.mul_(3)
    y.register_hook(log.hook("after"))
    y.sum().backward()
    return log


def hooks_of_outputs(torch: Any) -> Any:
    """Each output of a node has hooks of its own; those of unused ones are not called."""
    log, x = Log(), torch.arange(6.0).requires_grad_()
    a, b, c = x.split(2)
    for name, part in (("a", a), ("b", b), ("c", c)):
        part.register_hook(log.hook(name))
    (c * 3 + a * 2).sum().backward()
    return [log, x.grad]


def hooks_of_views(torch: Any) -> Any:
    log, x = Log(), torch.ones(3, requires_grad=True)
    y = x * 1
    v = y[1:]
    v.register_hook(log.hook("view"))
    y.register_hook(log.hook("base"))
    (v * 2).sum().backward()
    return [log, x.grad]


def hooks_under_grad(torch: Any) -> Any:
    """`autograd.grad` calls the tensor hooks on its way, and returns what they return."""
    log, x, w = Log(), torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    y = x * w
    x.register_hook(log.hook("x", lambda g: g * 2))
    w.register_hook(log.hook("w"))
    y.register_hook(log.hook("y", lambda g: g * 3))
    x.register_post_accumulate_grad_hook(log.name("post"))
    y.grad_fn.register_hook(log.name("node"))
    y.grad_fn.register_prehook(log.name("prehook"))
    gx, gy = torch.autograd.grad(y.sum(), [x, y], retain_graph=True)
    (only_y,) = torch.autograd.grad(y.sum(), [y])
    return [log, gx, gy, only_y, x.grad, w.grad]


def retaining_under_grad(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    z = y * 3
    y.retain_grad()
    z.retain_grad()
    torch.autograd.grad(z.sum(), y)
    return [y.grad, z.grad]


def hooks_with_create_graph(torch: Any) -> Any:
    """Under `create_graph` the gradient a hook sees is recorded, and so is what it returns."""
    seen, x = [], torch.tensor([2.0], requires_grad=True)
    y = x * x

    def hook(g: Any) -> Any:
        seen.append(g.requires_grad)
        return g * x

    y.register_hook(hook)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (gg,) = torch.autograd.grad(g.sum(), x)
    return [seen, g, gg]


def hooks_run_without_grad_mode(torch: Any) -> Any:
    seen, x = [], torch.ones(1, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: seen.append([torch.is_grad_enabled(), g.requires_grad]))
    y.backward(retain_graph=True)
    y.backward(create_graph=True)
    return seen


def an_error_in_a_hook(torch: Any) -> Any:
    x = torch.ones(1, requires_grad=True)
    y = x * 2

    def hook(g: Any) -> Any:
        raise KeyError("mine")

    handle = y.register_hook(hook)
    text = raised(lambda: y.backward(retain_graph=True))
    handle.remove()
    y.backward()
    return [text, x.grad, torch.is_grad_enabled()]


def keeping_what_a_hook_sees(torch: Any) -> Any:
    """What a hook kept does not change when more gradients arrive."""
    kept: list[Any] = []
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(kept.append)
    x.register_hook(kept.append)
    (y * 3).sum().backward(retain_graph=True)
    first = told(kept)
    (y * 5).sum().backward()
    return [first, kept, x.grad]
