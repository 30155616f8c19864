"""Graphs: how they are built, differentiated, paused, and what must not be done to their leaves."""

from typing import Any

from tests.answers import name_of, raised, tree, warned


def forward_and_backward(torch: Any) -> Any:
    """``z = x x + sin 2y`` at x = 4, y = pi: the total gradients at the leaves are 8 and 2."""
    x, y = torch.tensor(4.0, requires_grad=True), torch.tensor(3.14159265, requires_grad=True)
    z = x * x + torch.sin(2 * y)
    z.backward()
    return [z, x.grad, y.grad, tree(z.grad_fn)]


def a_tensor_before_any_graph(torch: Any) -> Any:
    v = torch.zeros(2)
    return [v.data, v.grad, v.grad_fn, v.is_leaf, v.requires_grad]


def where_a_graph_begins(torch: Any) -> Any:
    """A leaf can be declared when it is made or later; what depends on one is part of a graph."""
    x, y = torch.ones(2, requires_grad=True), torch.empty(2).fill_(3)
    y.requires_grad = True
    z = (y * y).sum()
    yield from [x, y, z, y.is_leaf, z.is_leaf, y.requires_grad, y.grad_fn, z.requires_grad]
    yield from [name_of(z.grad_fn), y.grad]
    z.backward()
    yield y.grad


def one_pass_per_graph(torch: Any) -> Any:
    """A second pass fails, unless the first kept the graph; then gradients add up."""
    y = torch.tensor([3.0, 3.0], requires_grad=True)
    z = (y * y).sum()
    z.backward()
    text = raised(z.backward)
    z = (y * y).sum()
    z.backward(retain_graph=True)
    z.backward()
    return [text, y.grad]


def constants(torch: Any) -> Any:
    x, a = torch.ones(1, requires_grad=True), torch.tensor(-4.0)
    z = 8 * x + a
    z.backward()
    return [x, x.grad, a, a.grad, z]


def gradients_inside_the_graph(torch: Any) -> Any:
    """Kept only where `retain_grad` asks for it; elsewhere `grad` is None, with a warning."""
    x = torch.tensor(2.0, requires_grad=True)
    y = x**2
    y.retain_grad()
    z = 2 * y
    z.retain_grad()
    z.backward()
    values = [z.item(), y.item(), x.item(), z.grad.item(), y.grad.item(), x.grad.item()]
    w = (x * 3).sum()
    w.backward()
    return [values, warned(lambda: w.grad)]


def a_graph_for_every_step(torch: Any) -> Any:
    """Three ways to new values in a leaf: a new leaf, writing unrecorded, and writing to `data`."""
    for i in range(1, 3):
        x = torch.empty(2).fill_(i).requires_grad_(True)
        z = x.dot(x)
        z.backward()
        yield [z.item(), x.grad]
    x = torch.empty(2).requires_grad_(True)
    for i in range(1, 3):
        with torch.no_grad():
            x.fill_(i)
        z = x.dot(x)
        z.backward()
        yield [z.item(), x.grad.numpy().tolist(), name_of(z.grad_fn)]
        x.grad.zero_()
    for i in range(1, 3):
        x.data.fill_(i)
        z = x.dot(x)
        z.backward()
        yield [z.item(), x.grad.clone(), x._version]
        x.grad.zero_()


def pausing(torch: Any) -> Any:
    x = torch.ones(1, requires_grad=True)
    with torch.no_grad():
        z1 = 2 * x
        with torch.enable_grad():
            z2 = 2 * x
    z3 = 2 * x
    return [x.requires_grad, z1.requires_grad, z2.requires_grad, z3.requires_grad]


def detaching(torch: Any) -> Any:
    """A detached tensor has the same memory and no part in the graph."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.detach()
    before = [repr(x), repr(y)]
    y[0] = 5
    yield from [before, x, y]
    x = torch.empty(2).requires_grad_(True)
    detached = x.detach()
    for i in range(1, 3):
        detached.fill_(i)
        z = x.dot(x)
        z.backward()
        yield [z.item(), x.grad.clone()]
        x.grad.zero_()


def one_value_five_histories(torch: Any) -> Any:
    """``z = x + y y`` is 12 whatever `y` is; the gradients tell how `y` came about."""
    for build in (
        lambda x: torch.tensor(3.0).requires_grad_(True), lambda x: x, lambda x: torch.tensor(3.0),
        lambda x: x.detach().clone(), lambda x: x.clone(),
    ):  # fmt: skip
        x = torch.tensor(3.0).requires_grad_(True)
        y = build(x)
        z = x + y * y
        z.backward()
        y_grad = y.grad if y.is_leaf else None
        yield [z.item(), x.grad, y_grad, y.requires_grad, name_of(y.grad_fn)]


def cloning(torch: Any) -> Any:
    x = torch.ones(1, requires_grad=True)
    with torch.no_grad():
        a = x.clone()
    b, c = x.detach().clone(), x.clone()
    return [[t.requires_grad, name_of(t.grad_fn)] for t in (a, b, c)]


def writing_in_place(torch: Any) -> Any:
    """`+=` and methods with an underscore write to the same object; `x = x + 1` makes a new one."""
    x = first = torch.ones(1)
    address = x.data_ptr()
    x += 1
    same = [x is first, x.data_ptr() == address]
    x.add_(1)
    same += [x is first, x.data_ptr() == address]
    x = x + 1
    return [same, x is first, x.data_ptr() == address, x, first]


def writing_to_leaves(torch: Any) -> Any:
    x = torch.tensor(1.0, requires_grad=True)
    y = x

    def add() -> None:
        nonlocal x
        x += 1

    def multiply() -> None:
        nonlocal y
        y *= 1

    w = torch.ones(1, requires_grad=True)

    def by_index() -> None:
        w[0] = 1.0

    texts = [raised(add), raised(multiply), raised(by_index)]
    reassigned = x + 1
    return [texts, reassigned, reassigned.is_leaf, x]


def writing_to_inner_nodes(torch: Any) -> Any:
    """``log(2x + 2)``, written in place step by step; its slope is 1 / (x + 1)."""
    x = torch.tensor(1.0, requires_grad=True)
    y = 2 * x
    seen = [repr(y)]
    y += 2
    seen.append(repr(y))
    y.log_()
    seen.append(repr(y))
    y.backward()
    return [seen, x.grad]


def slices(torch: Any) -> Any:
    """An element that is read, multiplied and written back has to be cloned."""
    x, s = torch.tensor(1.0, requires_grad=True), torch.ones(2)
    s[1] = s[0] * x
    z = s.sum()
    text = raised(z.backward)
    s = torch.ones(2)
    s[1] = s[0].clone() * x
    z = s.sum()
    z.backward()
    return [text, s, tree(s.grad_fn), x.grad]


def joining_or_assigning(torch: Any) -> Any:
    """Concatenation is one node; assignment to slices is one for each, and slower."""
    torch.manual_seed(0)
    parts = [torch.randn(1, 3, 3, requires_grad=True) for _ in range(4)]
    joined = torch.cat(parts, dim=0)
    (joined * joined).sum().backward()
    first = [p.grad.clone() for p in parts]
    others = [p.detach().reshape(3, 3).clone().requires_grad_() for p in parts]
    written = torch.empty(4, 3, 3)
    for i, p in enumerate(others):
        written[i] = p
    (written * written).sum().backward()
    node, count = written.grad_fn, 0
    while name_of(node) == "CopySlices":
        node, count = node.next_functions[0][0], count + 1
    same = [torch.equal(a[0], p.grad) for a, p in zip(first, others, strict=True)]
    return [joined.detach(), name_of(joined.grad_fn), written.detach(), count, same]


def what_a_viewer_walks(torch: Any) -> Any:
    """A dot product plus a bias: the leaves that require grad are at the ends of the graph."""
    w, b = torch.ones(5, requires_grad=True), torch.tensor(0.0, requires_grad=True)
    x = torch.ones(5)
    z = x.dot(w) + b
    found, leaves = [z.grad_fn], []
    for node in found:
        if hasattr(node, "variable"):
            leaves.append(
                next(n for n, t in {"w": w, "b": b, "x": x}.items() if t is node.variable)
            )
        found += [n for n, _ in node.next_functions if n is not None]
    return [tree(z.grad_fn), sorted(leaves), [name_of(n) for n in found]]


def minimizing(torch: Any) -> Any:
    """Gradient descent with momentum on ``x0^2 + (x1 - 1)^2``."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    optimizer = torch.optim.SGD([x], lr=1, momentum=0.5)
    for _ in range(20):
        optimizer.zero_grad()
        y = x[0] ** 2 + (x[1] - 1) ** 2
        y.backward()
        optimizer.step()
        yield [y.item(), x.detach().numpy().tolist()]
