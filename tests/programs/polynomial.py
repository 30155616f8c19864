"""Fit a cubic polynomial to the sine, in the ways there are, from tensors alone to an optimizer."""

import math

import torch
from torch import nn

STEPS = 500


class Cubic(nn.Module):
    """a + bx + cx² + dx³, printed as a formula."""

    def __init__(self):
        super().__init__()
        for name in "abcd":
            self.register_parameter(name, nn.Parameter(torch.randn(())))

    def forward(self, x):
        return self.a + self.b * x + self.c * x**2 + self.d * x**3

    def __str__(self):
        a, b, c, d = (p.item() for p in self.parameters())
        return f"y = {a:.4f} + {b:.4f} x + {c:.4f} x^2 + {d:.4f} x^3"


class Legendre(torch.autograd.Function):
    """The third Legendre polynomial, (5x³ - 3x) / 2, with its derivative by hand."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return 0.5 * (5 * x**3 - 3 * x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 1.5 * (5 * x**2 - 1)


def by_hand(x, y):
    """The gradient is written down."""
    a, b, c, d = torch.randn(4).unbind()
    for _ in range(STEPS):
        error = a + b * x + c * x**2 + d * x**3 - y
        slope = 2.0 * error
        a = a - 1e-6 * slope.sum()
        b = b - 1e-6 * (slope * x).sum()
        c = c - 1e-6 * (slope * x**2).sum()
        d = d - 1e-6 * (slope * x**3).sum()
    return error.pow(2).sum()


def by_autograd(x, y):
    """The gradient is computed; the update is written down."""
    weights = [torch.randn((), requires_grad=True) for _ in range(4)]
    for _ in range(STEPS):
        loss = (sum(w * x**n for n, w in enumerate(weights)) - y).pow(2).sum()
        loss.backward()
        with torch.no_grad():
            for w in weights:
                w -= 1e-6 * w.grad
                w.grad = None
    return loss


def by_function(x, y):
    """An operation of one's own."""
    a, b, c, d = (torch.full((), v, requires_grad=True) for v in (0.0, -1.0, 0.0, 0.3))
    for _ in range(STEPS):
        loss = (a + b * Legendre.apply(c + d * x) - y).pow(2).sum()
        loss.backward()
        with torch.no_grad():
            for w in (a, b, c, d):
                w -= 5e-6 * w.grad
                w.grad.zero_()
    return loss


def by_optimizer(x, y):
    """Layers, a loss and an optimizer."""
    powers = x.unsqueeze(-1).pow(torch.tensor([1, 2, 3]))
    model = nn.Sequential(nn.Linear(3, 1), nn.Flatten(0, 1))
    criterion = nn.MSELoss(reduction="sum")
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
    for _ in range(STEPS):
        loss = criterion(model(powers), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(model[0].weight.detach(), model[0].bias.item())
    return loss


def by_module(x, y):
    """A module of one's own."""
    model = Cubic()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    for _ in range(STEPS):
        loss = nn.functional.mse_loss(model(x), y, reduction="sum")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(model)
    return loss


if __name__ == "__main__":
    torch.manual_seed(1)
    x = torch.linspace(-math.pi, 3.0, 2000)  # so that no gradient is zero but for rounding
    for way in (by_hand, by_autograd, by_function, by_optimizer, by_module):
        print(f"{way.__name__:13} loss {way(x, torch.sin(x)).item():.4f}")
