"""`ctx`: what it keeps, and that it is the node of the graph."""

from typing import Any

from tests.answers import name_of, raised, tree
from tests.autograd.golden_function import leaf, make


def saved_values(torch: Any) -> Any:
    """Inputs come back as they are; outputs as other tensors with the same history."""
    seen: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        y = x * 2
        ctx.save_for_backward(x, y, None)
        seen.append(ctx.saved_tensors)
        return y

    def backward(ctx: Any, g: Any) -> Any:
        first, second, third = ctx.saved_tensors
        seen.append([first is holder[0], first, second, name_of(second.grad_fn), third])
        return g

    holder = [leaf(torch, 1.0)]
    function = make(torch, forward, backward)
    function.apply(holder[0]).backward()
    holder[0] = leaf(torch, 1.0) * 3
    function.apply(holder[0]).backward()
    return seen


def saving_what_is_no_tensor(torch: Any) -> Any:
    def attempt(what: Any) -> Any:
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(what(x))
            return x * 2

        return raised(make(torch, forward).apply, leaf(torch, 1.0))

    return [attempt(lambda x: 3), attempt(lambda x: [x]), attempt(lambda x: None)]


def modified(torch: Any) -> Any:
    """Writes to saved tensors are found, whatever they are to the function."""
    kept: list[Any] = []

    def keep(which: str) -> Any:
        def forward(ctx: Any, x: Any) -> Any:
            between, y = x * 5, x * 2
            kept[:] = [between]
            ctx.save_for_backward({"input": x, "output": y, "between": between}[which])
            return y

        return make(torch, forward, lambda ctx, g: g * ctx.saved_tensors[0])

    for which in ("input", "output", "between"):
        x = leaf(torch, 1.0) * 1
        y = keep(which).apply(x)
        {"input": x, "output": y, "between": kept[0]}[which].add_(1)
        yield raised(y.backward)


def context_is_the_node(torch: Any) -> Any:
    held: list[Any] = []

    def forward(ctx: Any, x: Any, y: Any) -> Any:
        held.append(ctx)
        ctx.save_for_backward(x)
        ctx.note = "here"
        return x * y

    x, y = leaf(torch, 1.0), leaf(torch, 2.0)
    z = make(torch, forward, lambda ctx, g: (g, g)).apply(x, y)
    node = z.grad_fn
    log: list[Any] = []
    node.register_hook(lambda inputs, outputs: log.append(["after", inputs, outputs]))
    node.register_prehook(lambda outputs: log.append(["before", outputs]))
    node.metadata["mine"] = 1
    z.backward()
    return [
        node is held[0], node.note, node.name(), node.metadata, node.requires_grad,
        node.needs_input_grad, tree(node), log,
    ]  # fmt: skip


def needs_input_grad(torch: Any) -> Any:
    seen = []

    def forward(ctx: Any, *args: Any) -> Any:
        seen.append(ctx.needs_input_grad)
        return args[0] * 2

    function = make(torch, forward)
    x = leaf(torch, 1.0)
    function.apply(x, 3, torch.ones(2), None, x * 2)
    function.apply(torch.ones(1), x)
    with torch.no_grad():
        function.apply(x)
    return seen


def materializing(torch: Any) -> Any:
    answers = []
    for value in (True, False, None):
        seen: list[Any] = []

        def forward(ctx: Any, x: Any, value: Any = value) -> Any:
            if value is not None:
                ctx.set_materialize_grads(value)
            return x * 2, x * 3, torch.tensor([1, 2]), 4.0

        def backward(ctx: Any, *grads: Any, seen: list[Any] = seen) -> Any:
            seen.extend(grads)
            return grads[0]

        x = leaf(torch, 1.0, 2.0)
        make(torch, forward, backward).apply(x)[0].sum().backward()
        answers.append([seen, x.grad])

    def wrong(ctx: Any, x: Any) -> Any:
        ctx.set_materialize_grads(3)

    return [answers, raised(make(torch, wrong).apply, leaf(torch, 1.0))]
