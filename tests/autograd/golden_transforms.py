"""Differentiation in other ways inside of functions that are being transformed."""

from typing import Any

from tests.answers import raised


def _bodies(torch: Any) -> Any:
    def backward(x: Any) -> Any:
        (x * x).sum().backward()
        return x.sum()

    def of_another(x: Any) -> Any:
        torch.ones(2, requires_grad=True).sum().backward()
        return x.sum()

    def several(x: Any) -> Any:
        torch.autograd.backward([(x * x).sum()])
        return x.sum()

    def requires_grad_(x: Any) -> Any:
        return (x * torch.ones(3).requires_grad_()).sum()

    def turned_off(x: Any) -> Any:
        return x.requires_grad_(False).sum()

    def retain_grad(x: Any) -> Any:
        y = x * torch.ones(3, requires_grad=True)
        y.retain_grad()
        return y.sum()

    def as_attribute(x: Any) -> Any:
        y = torch.ones(3)
        y.requires_grad = True
        return (x * x).sum()

    def inner(x: Any) -> Any:
        return torch.func.grad(lambda z: (z**3).sum())(x).sum()

    return [
        backward, of_another, several, requires_grad_, turned_off, retain_grad, as_attribute, inner,
    ]  # fmt: skip


def refusals(torch: Any) -> Any:
    func = torch.func
    ways = {
        "grad": lambda f: func.grad(f)(torch.tensor([1.0, 2.0, 3.0])),
        "vjp": lambda f: func.vjp(f, torch.tensor([1.0, 2.0, 3.0]))[0],
        "jacrev": lambda f: func.jacrev(f)(torch.tensor([1.0, 2.0, 3.0])),
        "vmap": lambda f: func.vmap(f)(torch.ones(2, 3)),
        "vmap of grad": lambda f: func.vmap(func.grad(f))(torch.ones(2, 3)),
    }
    answers = {}
    for name, way in ways.items():
        for body in _bodies(torch):
            answer = raised(way, body)
            if (name, body.__name__) == ("vmap", "retain_grad"):  # for one of two reasons
                answer = answer.partition(":")[0]
            answers[f"{body.__name__} in {name}"] = answer
    return answers
