"""What `forward` returns: new tensors, views, inputs as they came or written to, and no tensors."""

from typing import Any

from tests.answers import name_of, raised, tree, warned
from tests.autograd.golden_function import double, gradients, leaf, make


def passing(ctx: Any, g: Any) -> Any:
    return g


def facts(y: Any, x: Any) -> list[Any]:
    return [y is x, y, y._is_view(), y._base is x, y.is_leaf, y.output_nr]


def inputs_returned(torch: Any) -> Any:
    """An input returned as it came is another tensor, a view of it."""
    function = make(torch, lambda ctx, x: x, passing)
    answers = []
    for x in (leaf(torch, 1.0), leaf(torch, 1.0) * 2, torch.ones(1)):
        answers.append(facts(function.apply(x), x))
    with torch.no_grad():
        x = leaf(torch, 1.0)
        answers.append(facts(function.apply(x), x))
    first, second = make(torch, lambda ctx, x: (x, x), lambda ctx, a, b: a + b).apply(x)
    return [answers, first is second, first, second]


def views_returned(torch: Any) -> Any:
    for view in (lambda x: x[:1], lambda x: x.view_as(x), lambda x: x.detach(), lambda x: x.t()):
        x = leaf(torch, 1.0, 2.0) * 2
        y = make(torch, lambda ctx, x, view=view: view(x), passing).apply(x)
        yield facts(y, x)


def writing_to_returned_views(torch: Any) -> Any:
    """Refused: PyTorch's logic of views would pass by the user's backward."""

    def attempt(forward: Any, write: Any) -> Any:
        x = leaf(torch, 1.0, 2.0) * 2
        out = make(torch, forward, lambda ctx, *g: g[0]).apply(x)
        y = out[0] if isinstance(out, tuple) else out
        return raised(lambda: write(x, y))

    def below(x: Any, y: Any) -> Any:
        return y.mul_(2)

    def above(x: Any, y: Any) -> Any:
        x.mul_(2)
        return y.grad_fn

    forwards = [
        lambda ctx, x: x, lambda ctx, x: x[:1], lambda ctx, x: (x[:1], x[1:]),
        lambda ctx, x: (x[:1], x * 2),
    ]  # fmt: skip
    texts = [attempt(forward, write) for forward in forwards for write in (below, above)]
    return [*texts, raised(lambda: attempt(lambda ctx, x: x.detach(), below))]


def reading_a_view_whose_base_was_written_to(torch: Any) -> Any:
    x = leaf(torch, 1.0, 2.0) * 2
    y = make(torch, lambda ctx, x: x[:1], passing).apply(x)
    x.mul_(2)
    return [repr(y), raised(lambda: y.is_leaf), raised(lambda: y * 2)]


def what_is_no_tensor(torch: Any) -> Any:
    x = leaf(torch, 1.0)

    def returning(value: Any) -> Any:
        return make(torch, lambda ctx, x: value(x), lambda ctx, *g: g[0]).apply(x)

    mixed = returning(lambda x: (None, x * 2, 3.0, x * 3, "text"))
    return [
        returning(lambda x: 3.0), returning(lambda x: None), returning(lambda x: ()),
        returning(lambda x: [x * 2]), mixed, mixed[1].output_nr, mixed[3].output_nr,
    ]  # fmt: skip


def gradients_beside_what_is_no_tensor(torch: Any) -> Any:
    seen: list[Any] = []

    def backward(ctx: Any, *grads: Any) -> Any:
        seen.append(grads)
        return grads[0]

    function = make(torch, lambda ctx, x: (x * 2, 3.0, x * 3, None), backward)
    return [gradients(function, leaf(torch, 1.0)), seen]


def one_tensor_twice(torch: Any) -> Any:
    """The last place counts."""
    seen: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        y = x * 2
        return y, y

    def backward(ctx: Any, *grads: Any) -> Any:
        seen.append(grads)
        return grads[0] + grads[1]

    return [gradients(make(torch, forward, backward), leaf(torch, 1.0)), seen]


def integers(torch: Any) -> Any:
    out = make(torch, lambda ctx, x: (x * 2, torch.tensor([1, 2])), lambda ctx, *g: g[0])
    y, i = out.apply(leaf(torch, 1.0))
    return [y, i, i.requires_grad]


def constants(torch: Any) -> Any:
    """Outputs marked as having no gradient."""
    seen: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        a, b = x * 2, x * 3
        ctx.mark_non_differentiable(b)
        return a, b

    def backward(ctx: Any, *grads: Any) -> Any:
        seen.append(grads)
        return grads[0]

    x = leaf(torch, 1.0, 2.0)
    a, b = make(torch, forward, backward).apply(x)
    a.sum().backward()
    return [a, b, b.requires_grad, b.is_leaf, seen, x.grad]


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


def written_inputs_without_recording(torch: Any) -> Any:
    function = make(torch, writing, twice)
    for make_input in (
        lambda: torch.ones(1), lambda: leaf(torch, 1.0), lambda: leaf(torch, 1.0) * 2,
    ):  # fmt: skip
        x = make_input()
        with torch.no_grad():
            y = function.apply(x)
        yield [y is x, y, x, x._version]


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


def written_and_more(torch: Any) -> Any:
    def with_another(ctx: Any, x: Any) -> Any:
        return writing(ctx, x), x * 3

    def doubly(ctx: Any, x: Any) -> Any:
        return writing(ctx, x), x

    def constant(ctx: Any, x: Any) -> Any:
        ctx.mark_non_differentiable(x)
        return writing(ctx, x)

    x = leaf(torch, 1.0) * 2
    a = make(torch, with_another, lambda ctx, a, b: a).apply(x)
    b = make(torch, doubly, lambda ctx, a, b: a).apply(leaf(torch, 1.0) * 2)
    return [a, a[0] is x, b, b[0] is b[1], make(torch, constant).apply(leaf(torch, 1.0) * 2)]


def written_and_saved(torch: Any) -> Any:
    """Saved before or after the write, it is the output that is kept."""
    for first in (True, False):
        seen: list[Any] = []

        def forward(ctx: Any, x: Any, first: bool = first) -> Any:
            if first:
                ctx.save_for_backward(x)
            writing(ctx, x)
            if not first:
                ctx.save_for_backward(x)
            return x

        def backward(ctx: Any, g: Any, seen: list[Any] = seen) -> Any:
            (saved,) = ctx.saved_tensors
            seen.extend([saved, name_of(saved.grad_fn)])
            return g * 2

        x = leaf(torch, 1.0)
        make(torch, forward, backward).apply(x * 2).sum().backward()
        yield [seen, x.grad]


def written_views(torch: Any) -> Any:
    """A view's write reaches its base, whose history goes through the function."""
    seen: list[Any] = []

    def forward(ctx: Any, x: Any, w: Any) -> Any:
        x.mul_(w)
        ctx.mark_dirty(x)
        ctx.save_for_backward(w)
        return x

    def backward(ctx: Any, g: Any) -> Any:
        seen.append([g, ctx.needs_input_grad])
        return g * ctx.saved_tensors[0], g * 10

    function = make(torch, forward, backward)
    answers = []
    for has_history in (True, False):
        x, w = leaf(torch, 1.0, 2.0), leaf(torch, 5.0)
        base = x * 2 if has_history else torch.tensor([1.0, 2.0])
        view = base[:1]
        out = function.apply(view, w)
        base.sum().backward()
        answers.append([out is view, base, view, tree(base.grad_fn), x.grad, w.grad])
    return [answers, seen]


def written_bases(torch: Any) -> Any:
    """Views of an input that was written to take their history from it anew."""
    x = leaf(torch, 1.0, 2.0)
    base = x * 2
    view = base[:1]
    make(torch, writing, twice).apply(base)
    yield from [view, tree(view.grad_fn)]
    view.backward()
    yield x.grad


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


def tensors_from_elsewhere(torch: Any) -> Any:
    """A tensor that is no input, returned, becomes the output itself."""
    x = leaf(torch, 1.0)
    for elsewhere in (torch.ones(1), leaf(torch, 1.0), leaf(torch, 1.0) * 2):
        y = make(torch, lambda ctx, x, elsewhere=elsewhere: elsewhere, passing).apply(x)
        yield [y is elsewhere, y]
    kept = leaf(torch, 1.0) * 2
    z = make(torch, lambda ctx, x: kept, passing).apply(torch.ones(1))
    yield [z is kept, z]


def parameters(torch: Any) -> Any:
    p = torch.nn.Parameter(torch.ones(1))
    y = make(torch, double, twice).apply(p)
    y.backward()
    same = make(torch, lambda ctx, x: x, passing).apply(p)
    return [y, p.grad, type(same) is torch.Tensor]
