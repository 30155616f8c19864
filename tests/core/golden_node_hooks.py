"""Hooks of nodes and accumulators: what they see, replace and refuse."""

from typing import Any

from tests.answers import Log, raised, told


def node_hooks(torch: Any) -> Any:
    log, x = Log(), torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([3.0, 4.0], requires_grad=True)
    y = x * w

    def after(grad_inputs: Any, grad_outputs: Any) -> None:
        log.append(["after", told(grad_inputs), told(grad_outputs)])

    def before(grad_outputs: Any) -> None:
        log.append(["before", told(grad_outputs)])

    y.grad_fn.register_hook(after)
    y.grad_fn.register_prehook(before)
    y.register_hook(log.hook("tensor", lambda g: g * 2))
    y.sum().backward()
    return [log, x.grad, w.grad]


def node_hooks_replace(torch: Any) -> Any:
    for where in ("before", "after", "both"):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = x * 3
        if where != "after":
            y.grad_fn.register_prehook(lambda grads: tuple(g * 10 for g in grads))
        if where != "before":
            y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] + 1, *inputs[1:]))
            y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] * 2, *inputs[1:]))
        y.sum().backward()
        yield x.grad


def node_hooks_of_constants(torch: Any) -> Any:
    """Inputs that need no gradient show as None."""
    seen, x = [], torch.ones(2, requires_grad=True)
    y = x * torch.tensor([5.0, 6.0])
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append(told(inputs)))
    y.sum().backward()
    return seen


def node_hooks_refuse(torch: Any) -> Any:
    for result in (3, (torch.ones(2), None, None), [torch.ones(2), None]):
        x = torch.ones(2, requires_grad=True)
        y = x * 2

        def hook(inputs: Any, outputs: Any, result: Any = result) -> Any:
            return result

        y.grad_fn.register_hook(hook)
        yield raised(y.sum().backward)
    for result in (3, (torch.ones(2), None)):
        x = torch.ones(2, requires_grad=True)
        y = x * 2

        def prehook(outputs: Any, result: Any = result) -> Any:
            return result

        y.grad_fn.register_prehook(prehook)
        yield raised(y.sum().backward)


def accumulator_hooks(torch: Any) -> Any:
    log, x = Log(), torch.ones(2, requires_grad=True)
    y = x * 2
    accumulator = y.grad_fn.next_functions[0][0]
    accumulator.register_prehook(lambda grads: log.append(["prehook", told(grads), told(x.grad)]))
    accumulator.register_hook(
        lambda inputs, outputs: log.append(["hook", told(inputs), told(outputs), told(x.grad)])
    )
    x.register_hook(log.hook("tensor"))
    x.register_post_accumulate_grad_hook(lambda t: log.append(["post", told(t.grad)]))
    y.sum().backward()
    return log


def replacements_must_fit(torch: Any) -> Any:
    """What hooks of nodes and of modules return stands where a gradient stood."""
    nn, ones = torch.nn, torch.ones

    def exp(x: Any) -> Any:
        return (x * 1).exp()

    def double(x: Any) -> Any:
        return x * 2

    for register, operation, result in (
        ("register_hook", exp, (ones(3, 2),)), ("register_hook", exp, (ones(2).double(),)),
        ("register_hook", double, (ones(2), ones(2))), ("register_hook", exp, ones(2)),
        ("register_hook", exp, ("a",)), ("register_hook", exp, (None,)),
        ("register_prehook", double, ones(2)), ("register_prehook", double, (ones(3),)),
        ("register_prehook", double, (ones(2).long(),)), ("register_prehook", double, ("a",)),
    ):  # fmt: skip
        y = operation(ones(2, requires_grad=True))

        def hook(*_: Any, result: Any = result) -> Any:
            return result

        getattr(y.grad_fn, register)(hook)
        yield raised(y.sum().backward)
    for register in ("register_full_backward_hook", "register_full_backward_pre_hook"):
        for result in ((ones(3),), "a", ones(1, 2), (ones(1, 2).double(),)):
            layer = nn.Linear(2, 2)
            getattr(layer, register)(lambda *_, result=result: result)
            yield raised(layer(ones(1, 2, requires_grad=True)).sum().backward)


def outputs_that_users_know(torch: Any) -> Any:
    """Hooks see a gradient for each output that PyTorch's node has, whatever else is kept."""
    f = torch.nn.functional
    x = (torch.arange(24.0, dtype=torch.float64).reshape(2, 3, 4) / 10).requires_grad_()
    gru = torch.nn.GRU(4, 2, dtype=torch.float64)
    seen: list[Any] = []

    def count(gs: Any) -> Any:
        return [None if g is None else list(g.shape) for g in gs]

    for operation in (
        f.gelu, lambda x: gru(x)[0], lambda x: f.group_norm(x, 1), lambda x: f.layer_norm(x, (4,)),
        lambda x: f.scaled_dot_product_attention(x[None], x[None], x[None]),
        lambda x: x.sort(1)[0], lambda x: torch.std_mean(x)[1], lambda x: torch.linalg.svd(x)[1],
    ):  # fmt: skip
        y = operation(x * 1)
        for factor in (1, 2):

            def before(gs: Any, factor: int = factor) -> Any:
                seen.append(["before", count(gs)])
                return tuple(None if g is None else g * factor for g in gs)

            y.grad_fn.register_prehook(before)
        y.grad_fn.register_hook(lambda _, gs: seen.append(["after", count(gs)]))
        seen.append(raised(y.grad_fn, *[None] * 5))
        (grad,) = torch.autograd.grad((y**3).sum(), x)
        if y.grad_fn.name() != "StackBackward0":  # of weights that are drawn
            seen.append(told(grad))
    return seen
