"""The graph: what nodes are called, what they lead to, what they save and free."""

from typing import Any

from tests.answers import name_of, raised, told, tree


def _arithmetic(torch: Any) -> list[Any]:
    """Expressions of operators."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w, m = torch.tensor([3.0, 4.0], requires_grad=True), torch.ones(2, 2, requires_grad=True)
    c = torch.tensor([5.0, 6.0])
    return [
        x * w, x * c, c * x, 2 * x, x * 2, x + 1, 1 + x, x - w, 1 - x, x / w, 1 / x, -x, x**2, 2**x,
        x**w, x @ w, m @ x, m @ m, x @ m,
    ]  # fmt: skip


def _functions(torch: Any) -> list[Any]:
    """Expressions of functions and methods."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w, m = torch.tensor([3.0, 4.0], requires_grad=True), torch.ones(2, 2, requires_grad=True)
    c = torch.tensor([5.0, 6.0])
    return [
        (x * w).sum(), x.mean(), m.sum(0), m.t(), m[0], m[0, 1], m[:, 1], m[None], m.reshape(4),
        m.view(-1), m.transpose(0, 1), m.permute(1, 0), torch.cat([x, w]), torch.cat([x, c]),
        torch.stack([x, w]), x.exp().log(), torch.sigmoid(x), x.tanh(), torch.relu(x), x.clone(),
        x.abs(), x.max(), x.unbind()[1], m.split(1)[1], torch.where(x > 1, x, w), x.expand(2, 2),
        x.unsqueeze(0).squeeze(0), m.softmax(1), m.log_softmax(0), x.double().float(), abs(x),
        x % 2, x.masked_fill(x > 1, 0.0), x.detach() * w, x.sqrt() * x.sqrt(),
    ]  # fmt: skip


def trees(torch: Any) -> Any:
    """Names and edges of some expressions."""
    return [tree(e.grad_fn) for e in _arithmetic(torch) + _functions(torch)]


def nodes_are_shared(torch: Any) -> Any:
    """One accumulator per leaf and one node per result, however often they are used."""
    x = torch.ones(2, requires_grad=True)
    y = x * x
    z = y + x
    accumulator = y.grad_fn.next_functions[0][0]
    return [
        name_of(accumulator), accumulator is y.grad_fn.next_functions[1][0],
        accumulator is z.grad_fn.next_functions[1][0], z.grad_fn.next_functions[0][0] is y.grad_fn,
        accumulator.variable is x, accumulator.next_functions, y.grad_fn is y.grad_fn,
    ]  # fmt: skip


def node_names(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    y = (x * 2).sum()
    node = y.grad_fn
    accumulator = node.next_functions[0][0].next_functions[0][0]
    return [
        node.name(), type(node).__name__, accumulator.name(), type(accumulator).__name__,
        str(node).split(" at ")[0], x.grad_fn, node.metadata, torch.ones(2).grad_fn,
    ]  # fmt: skip


def output_numbers(torch: Any) -> Any:
    x = torch.arange(6.0).requires_grad_()
    parts = x.split(2)
    y = parts[2] * parts[1]
    return [
        [p.output_nr for p in parts], [k for _, k in y.grad_fn.next_functions],
        parts[0].grad_fn is parts[2].grad_fn, x.output_nr,
    ]  # fmt: skip


def saved_values(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y, z = x.exp(), x * torch.tensor([3.0, 4.0])
    w = x * x
    answers = [
        z.grad_fn._saved_other, z.grad_fn._saved_self, y.grad_fn._saved_result,
        w.grad_fn._saved_self is x, (x**3).grad_fn._saved_exponent,
    ]  # fmt: skip
    y.sum().backward()
    return [*told(answers), raised(lambda: y.grad_fn._saved_result)]


def freed_only_where_saved(torch: Any) -> Any:
    """A second pass fails at the first node that saved something, not before."""
    x, answers = torch.ones(2, requires_grad=True), []
    for function in (
        lambda: (x + x).sum(), lambda: (x + 1).sum(), lambda: (x * 2).sum(), lambda: (x * x).sum(),
        lambda: x.exp().sum(), lambda: x.reshape(1, 2).t().sum(), lambda: -x.sum(),
        lambda: x.sum().clone(), lambda: torch.cat([x, x]).sum(), lambda: x.sum() / 2,
        lambda: x.max(), lambda: x[0], lambda: x.expand(3, 2).sum(), lambda: x.mean(),
        lambda: x.relu().sum(),
    ):  # fmt: skip
        y = function()
        y.backward()
        answers.append(raised(y.backward).split(" (or directly")[0])
    return [answers, x.grad]


def freed_in_part(torch: Any) -> Any:
    """What two losses share is freed by the first; what one does not reach is not."""
    x = torch.ones(2, requires_grad=True)
    shared = x * x
    a, b = shared.exp().sum(), shared.sin().sum()
    own = x.sin()
    c = (own * own).sum()
    a.backward()
    text = raised(b.backward)
    c.backward()
    return [text.split(" (or directly")[0], x.grad]


def calling_nodes(torch: Any) -> Any:
    """A node is a function of the gradients of its outputs."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([3.0, 4.0], requires_grad=True)
    node = (x * w).grad_fn
    both = node(torch.tensor([1.0, 10.0]))
    single = (x * 5).grad_fn(torch.ones(2))
    one = x.exp().grad_fn(torch.ones(2))
    nothing = node(None)
    return [
        both, single, one, nothing, raised(node),
        raised(lambda: node(torch.ones(2), torch.ones(2))),
    ]  # fmt: skip


def calling_the_accumulator(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    accumulator = (x * 2).grad_fn.next_functions[0][0]
    accumulator(torch.tensor([1.0, 2.0]))
    accumulator(torch.tensor([10.0, 20.0]))
    return x.grad


def sequence_numbers_rise(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    z = y.exp()
    w = x + 1
    numbers = [n.grad_fn._sequence_nr() for n in (y, z, w)]
    return [numbers == sorted(numbers), len(set(numbers))]


def constants_have_no_nodes(torch: Any) -> Any:
    a, b = torch.ones(2), torch.ones(2, requires_grad=True)
    with torch.no_grad():
        c = a * b
    d = a * b.detach()
    return [t.requires_grad for t in (a, c, d, a + a)] + [
        (b > 0).requires_grad, b.argmax().requires_grad, b.long().requires_grad, (b == b).grad_fn,
        b.max(0).indices.requires_grad, b.round().requires_grad,
    ]  # fmt: skip


def nodes_of_composed(torch: Any) -> Any:
    """The graph of a small network, by names."""
    x = torch.ones(4, 3)
    w1, b1 = torch.ones(3, 5, requires_grad=True), torch.zeros(5, requires_grad=True)
    w2 = torch.ones(5, 1, requires_grad=True)
    loss = ((torch.tanh(x @ w1 + b1) @ w2) ** 2).mean()
    return tree(loss.grad_fn)


def names_that_a_node_shows(torch: Any) -> Any:
    x = torch.ones(2, 3, requires_grad=True)
    nodes = [y.grad_fn for y in (x * x, x.sum(1), x.softmax(1), x.max(1)[0], x.exp())]
    theirs = ("_raw_saved", "_input_metadata", "_register_hook_dict", "_set_sequence_nr", "__")
    own = [[n for n in dir(node) if n[0] == "_" and not n.startswith(theirs)] for node in nodes]
    return [*map(sorted, own), nodes[1]._saved_self_sym_sizes]


def a_second_pass_where_no_edge_leads_anywhere(torch: Any) -> Any:
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    with torch.no_grad():
        view = y[:2]
    results = [view * view, view @ view, torch.addcmul(view, view, view), view.exp(), view / view]
    for result in results:
        result.sum().backward()
    again = [raised(lambda r=result: r.sum().backward()) for result in results]
    return [[result.requires_grad for result in results], x.grad, again]


def names_of_what_is_saved(torch: Any) -> Any:
    x = torch.tensor([0.5, 2.0], requires_grad=True)
    results = [x.exp(), x * x, x.sin(), x.abs(), x.softmax(0), x.atan2(x), x.tanh(), x + 1]
    listed = [[n for n in dir(r.grad_fn) if n.startswith("_saved_")] for r in results]
    return [
        [sorted(set(names) & {"_saved_self", "_saved_other", "_saved_result"}) for names in listed],
        [getattr(results[0].grad_fn, name) for name in listed[0]],
    ]
