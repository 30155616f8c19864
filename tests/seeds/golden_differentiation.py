"""Automatic differentiation of a one-layer network, and products with Jacobians."""

from typing import Any

from tests.answers import name_of, raised, tree


def network(torch: Any) -> tuple[Any, ...]:
    torch.manual_seed(0)
    x, y, w = torch.ones(5), torch.zeros(3), torch.randn(5, 3, requires_grad=True)
    b = torch.randn(3, requires_grad=True)
    z = torch.matmul(x, w) + b
    loss = torch.nn.functional.binary_cross_entropy_with_logits(z, y)
    return w, b, z, loss


def one_layer(torch: Any) -> Any:
    w, b, z, loss = network(torch)
    text = f"Gradient function for z = {z.grad_fn}".split(" object at")[0]
    yield from [z, loss, text, name_of(loss.grad_fn), tree(loss.grad_fn)]
    loss.backward()
    yield from [w.grad, b.grad]


def requiring_grad_later(torch: Any) -> Any:
    w = torch.ones(2)
    (w * 2).sum()
    same = w.requires_grad_(True) is w
    (w * 2).sum().backward()
    return [same, w.grad, w]


def only_leaves_and_only_once(torch: Any) -> Any:
    w, _, z, loss = network(torch)
    loss.backward()
    text = raised(loss.backward)
    w2, _, _, loss = network(torch)
    loss.backward(retain_graph=True)
    loss.backward()
    return [text, z.retains_grad, torch.allclose(w2.grad, 2 * w.grad)]


def not_tracking(torch: Any) -> Any:
    """Inside `no_grad`, and after `detach`; frozen parameters get no gradient."""
    w, b, _, _ = network(torch)
    x = torch.ones(5)
    tracked = (torch.matmul(x, w) + b).requires_grad
    with torch.no_grad():
        untracked = (torch.matmul(x, w) + b).requires_grad
    z = torch.matmul(x, w) + b
    b.requires_grad_(False)
    (torch.matmul(x, w) + b).sum().backward()
    return [tracked, untracked, z.detach().requires_grad, w.grad, b.grad]


def control_flow(torch: Any) -> Any:
    """The graph is built anew in each pass, so its shape may depend on the values."""
    for start in (1.0, 3.0, 50.0):
        x = torch.tensor(start, requires_grad=True)
        y, steps = x, 0
        while y < 100:
            y, steps = y * 3 if steps % 2 else y**2 + 1, steps + 1
        y.backward()
        yield [y.item(), steps, x.grad]


def jacobian_products(torch: Any) -> Any:
    """A weighted backward pass; repeated, it accumulates until the gradient is set to zero."""
    inp = torch.eye(5, requires_grad=True)
    out = (inp + 1).pow(2)
    for _ in range(2):
        out.backward(torch.ones_like(inp), retain_graph=True)
        yield repr(inp.grad)
    inp.grad.zero_()
    out.backward(torch.ones_like(inp), retain_graph=True)
    yield repr(inp.grad)
    scalar = torch.tensor(3.0, requires_grad=True)
    (scalar**2).backward()
    (scalar**2).backward(torch.tensor(1.0))
    yield from [raised(out.backward), scalar.grad]


def rectangular_jacobian_products(torch: Any) -> Any:
    """The weights have the output's shape, ``v^T J`` the input's."""
    inp = torch.eye(4, 5, requires_grad=True)
    out = (inp + 1).pow(2).t()
    out.backward(torch.ones_like(out), retain_graph=True)
    first = inp.grad.clone()
    return [first, raised(out.backward, torch.ones(4, 5))]
