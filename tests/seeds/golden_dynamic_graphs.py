"""Dynamic graphs: built as the code runs, gone after a pass; functions, leaves, inner nodes."""

from typing import Any

from tests.answers import Log, raised


def built_as_the_code_runs(torch: Any) -> Any:
    """Values are there at once, whatever is built on them later."""
    torch.manual_seed(0)
    w, b = torch.tensor([[3.0, 1.0]], requires_grad=True), torch.tensor([[3.0]], requires_grad=True)
    X, Y = torch.randn(10, 2), torch.randn(10, 1)
    Y_hat = X @ w.t() + b
    values = repr(Y_hat.data)
    loss = torch.mean(torch.pow(Y_hat - Y, 2))
    yield from [values == repr(Y_hat.data), loss.data, Y_hat.data]
    loss.backward()
    yield from [w.grad, b.grad, raised(loss.backward)]


def kept_for_a_second_pass(torch: Any) -> Any:
    w = torch.tensor([[3.0, 1.0]], requires_grad=True)
    loss = torch.mean(torch.pow(torch.ones(4, 2) @ w.t(), 2))
    loss.backward(retain_graph=True)
    loss.backward()
    return [w.grad, raised(loss.backward)]


def function_with_its_own_gradient(torch: Any) -> Any:
    class Clipped(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, input: Any) -> Any:
            ctx.save_for_backward(input)
            return input.clamp(min=0)

        @staticmethod
        def backward(ctx: Any, grad_output: Any) -> Any:
            (input,) = ctx.saved_tensors
            grad_input = grad_output.clone()
            grad_input[input < 0] = 0
            return grad_input

    w, b = torch.tensor([[3.0, 1.0]], requires_grad=True), torch.tensor([[3.0]], requires_grad=True)
    X, Y = torch.tensor([[-1.0, -1.0], [1.0, 1.0]]), torch.tensor([[2.0, 3.0]])
    clipped = Clipped.apply
    Y_hat = clipped(X @ w.t() + b)
    loss = torch.mean(torch.pow(Y_hat - Y, 2))
    loss.backward()
    text = str(Y_hat.grad_fn)
    return [w.grad, b.grad, text.split(" at 0x")[0], text.endswith(">"), Y_hat]


def two_paths(torch: Any) -> tuple[Any, ...]:
    x = torch.tensor(3.0, requires_grad=True)
    y1, y2 = x + 1, 2 * x
    return x, y1, y2, (y1 - y2) ** 2


def gradients_of_two_paths_add_up(torch: Any) -> Any:
    x, _, _, loss = two_paths(torch)
    loss.backward()
    return [loss.item(), x.grad]


def what_a_leaf_is(torch: Any) -> Any:
    """Made by the user, not by an operation; only leaves that require grad keep their gradient."""
    x, y1, y2, loss = two_paths(torch)
    constant = torch.ones(1)
    loss.backward()
    return [
        [t.is_leaf for t in (x, y1, y2, loss, constant, constant * 2)],
        [t.retains_grad for t in (x, y1, y2, loss)],
        constant.grad,
    ]


def looking_inside(torch: Any) -> Any:
    """Hooks show the gradients of inner nodes, the younger first; `retain_grad` keeps them."""
    log = Log()
    x, y1, y2, loss = two_paths(torch)
    y1.register_hook(log.hook("y1"))
    y2.register_hook(log.hook("y2"))
    loss.retain_grad()
    loss.backward()
    return [list(log), loss.grad, x.grad]


def gradients_are_not_cleared(torch: Any) -> Any:
    x, seen = torch.tensor(3.0, requires_grad=True), []
    for _ in range(3):
        (x * 2).backward()
        seen.append(x.grad.item())
    x.grad.zero_()
    (x * 2).backward()
    return [seen, x.grad]


def a_module(torch: Any) -> Any:
    class Net(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.w = torch.nn.Parameter(torch.randn(2, 1))
            self.b = torch.nn.Parameter(torch.zeros(1, 1))

        def forward(self, x: Any) -> Any:
            return x @ self.w + self.b

    torch.manual_seed(0)
    net = Net()
    out = net(torch.rand(10, 2))
    out.sum().backward()
    return [out, [n for n, _ in net.named_parameters()], net.w.grad, net.b.grad]
