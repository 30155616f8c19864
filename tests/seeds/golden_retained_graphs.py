"""How graphs are freed, and two losses on one graph."""

from typing import Any

from tests.answers import raised


def toy(torch: Any) -> tuple[Any, ...]:
    torch.manual_seed(0)
    a = torch.autograd.Variable(torch.rand(1, 4), requires_grad=True)
    b = a**2
    c = b * 2
    return a, c.mean(), c.sum()


def freed_by_the_first_loss(torch: Any) -> Any:
    """The part that both share goes with the first pass; the second loss then fails."""
    a, d, e = toy(torch)
    d.backward()
    return [a.grad, raised(e.backward), a.grad]


def kept_for_the_second_loss(torch: Any) -> Any:
    a, d, e = toy(torch)
    seen = []
    for loss, keep in ((d, True), (d, True), (e, True), (d, False)):
        loss.backward(retain_graph=keep)
        seen.append(repr(a.grad))
    return [seen, raised(e.backward)]


def several_tasks(torch: Any) -> Any:
    """Two losses on one network, in either order; the parameters then take a step."""
    answers = []
    for order in ((0, 1), (1, 0)):
        torch.manual_seed(0)
        shared, first = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)
        parameters = [*shared.parameters(), *first.parameters()]
        optimizer = torch.optim.SGD(parameters, lr=0.1)
        hidden = torch.tanh(shared(torch.ones(2, 3)))
        losses = [first(hidden).pow(2).mean(), hidden.sum()]
        losses[order[0]].backward(retain_graph=True)
        losses[order[1]].backward()
        optimizer.step()
        answers.append([shared.weight.grad.clone(), first.bias.detach().clone()])
    same = torch.allclose(answers[0][0], answers[1][0])
    return [*answers[0], same]


def a_graph_per_iteration(torch: Any) -> Any:
    """After a pass a new forward makes a new graph; nothing of the former is left to fail."""
    w, losses = torch.tensor([1.0, 2.0], requires_grad=True), []
    for _ in range(3):
        loss = (w * w).sum()
        loss.backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
        w.grad = None
        losses.append(loss.item())
    return [losses, w]
