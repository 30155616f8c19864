"""What `forward` returns: new tensors, views, inputs as they came or written to, and no tensors."""

from typing import Any

from tests.answers import raised, tree, warned
from tests.autograd.golden_function import leaf, make


def passing(ctx: Any, g: Any) -> Any:
    return g


def facts(y: Any, x: Any) -> list[Any]:
    return [y is x, y, y._is_view(), y._base is x, y.is_leaf, y.output_nr]


def constants_of_all_kinds(torch: Any) -> Any:
    def marking(value: Any, out: Any) -> Any:
        def forward(ctx: Any, x: Any) -> Any:
            result = out(x)
            ctx.mark_non_differentiable(value(x, result))
            return result

        return make(torch, forward)

    def itself(x: Any, out: Any) -> Any:
        return out

    x = leaf(torch, 1.0) * 2
    same = marking(itself, lambda x: x).apply(x)
    return [
        marking(itself, lambda x: x * 2).apply(x),
        [same, same is x, same._is_view(), x],
        marking(lambda x, out: x * 5, lambda x: x * 2).apply(x),
        raised(marking(lambda x, out: 3, lambda x: x * 2).apply, x),
    ]


def writing(ctx: Any, x: Any, *rest: Any) -> Any:
    x.mul_(2)
    ctx.mark_dirty(x)
    return x


def twice(ctx: Any, g: Any) -> Any:
    return g * 2


def written_inputs(torch: Any) -> Any:
    """An input that was written to and marked is returned itself, with the node as its history."""
    function = make(torch, writing, twice)
    x = leaf(torch, 1.0)
    inner = x * 2
    before = inner * inner
    y = function.apply(inner)
    y.sum().backward()
    constant = torch.ones(1)
    z = function.apply(constant)
    return [
        facts(y, inner), tree(y.grad_fn), inner._version, x.grad, raised(before.backward),
        [z is constant, z, z._version], raised(function.apply, leaf(torch, 1.0)),
    ]  # fmt: skip


def marks_that_do_not_fit(torch: Any) -> Any:
    def unreturned(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x.mul_(2))
        return x * 1

    def no_tensor(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(3)
        return x

    def no_input(ctx: Any, x: Any) -> Any:
        y = x * 2
        ctx.mark_dirty(y)
        return y

    x = leaf(torch, 1.0) * 2
    y = make(torch, lambda ctx, x: x.mul_(2), twice).apply(x)
    fresh = leaf(torch, 1.0)
    return [
        [y is x, y, x, y._is_view()], raised(make(torch, unreturned).apply, x),
        raised(make(torch, no_tensor).apply, x), warned(lambda: make(torch, no_input).apply(fresh)),
    ]  # fmt: skip


def views_that_must_not_be_written_to(torch: Any) -> Any:
    function = make(torch, writing, twice)
    pair = make(torch, lambda ctx, x: (writing(ctx, x), x * 2), lambda ctx, a, b: a)
    base = leaf(torch, 1.0, 2.0) * 2
    with torch.no_grad():
        untracked = base[:1]
    custom = make(torch, lambda ctx, x: x[:1], passing).apply(base)
    return [
        raised(function.apply, leaf(torch, 1.0, 2.0)[:1]), raised(pair.apply, base[:1]),
        raised(function.apply, (leaf(torch, 1.0, 2.0) * 2).unbind(0)[0]),
        raised(function.apply, custom), raised(function.apply, untracked),
    ]  # fmt: skip
