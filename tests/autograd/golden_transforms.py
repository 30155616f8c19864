"""Differentiation in other ways inside of functions that are being transformed."""

from typing import Any

from tests.answers import sessions


def _names(torch: Any) -> dict[str, Any]:
    func, x = torch.func, torch.tensor([1.0, 2.0, 3.0])
    return {
        "grad": func.grad,
        "ways": {
            "grad": lambda f: func.grad(f)(x), "vjp": lambda f: func.vjp(f, x)[0],
            "jacrev": lambda f: func.jacrev(f)(x), "vmap": lambda f: func.vmap(f)(torch.ones(2, 3)),
            "vmap of grad": lambda f: func.vmap(func.grad(f))(torch.ones(2, 3)),
        },
    }  # fmt: skip


refusals = sessions(_names)("""
in a function under each transform; under vmap, retain_grad is refused for one of two reasons
    def backward(x):
        (x * x).sum().backward()
        return x.sum()
    def of_another(x):
        torch.ones(2, requires_grad=True).sum().backward()
        return x.sum()
    def several(x):
        torch.autograd.backward([(x * x).sum()])
        return x.sum()
    def retain_grad(x):
        y = x * torch.ones(3, requires_grad=True)
        y.retain_grad()
        return y.sum()
    def as_attribute(x):
        y = torch.ones(3)
        y.requires_grad = True
        return (x * x).sum()
    bodies = [backward, of_another, several, lambda x: (x * torch.ones(3).requires_grad_()).sum()]
    bodies += [lambda x: x.requires_grad_(False).sum(), retain_grad, as_attribute]
    for name, way in ways.items():
        for body in (*bodies, lambda x: grad(lambda z: (z**3).sum())(x).sum()):
            either = name == "vmap" and body is retain_grad
            raised(way, body).partition(":" if either else "\\n\\n")[0]
""")
