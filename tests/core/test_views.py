"""Versions, views and writes in place."""

import numpy as np

import nanotorch as torch


def test_many_writes_to_one_base() -> None:
    """Each element written once, by a view of its own."""
    w = torch.arange(1.0, 201.0).requires_grad_()
    y = torch.zeros(200)
    for k in range(200):
        y[k] = w[k] * w[k]
    y.sum().backward()
    assert np.allclose(w.grad.numpy(), 2 * np.arange(1, 201))


def test_a_view_of_a_view_knows_the_first_base() -> None:
    x = torch.zeros(4, 5, 6)
    view = x
    for step in (lambda v: v[1:], lambda v: v.transpose(0, 2), lambda v: v[2], lambda v: v[:, 0]):
        view = step(view)
        assert view._base is x
    view.fill_(1.0)
    assert x.sum().item() == view.numel()
    assert x._version == view._version == 1


def test_the_gradient_of_a_write_equals_that_of_where() -> None:
    """Writing through any view is the same function as choosing elements by a mask."""
    rng = np.random.default_rng(0)
    ways = {
        "row": lambda t: t[1],
        "column": lambda t: t[:, 2],
        "steps": lambda t: t[::2, 1::2],
        "transposed": lambda t: t.t()[1:3],
        "flat": lambda t: t.view(-1)[3:9],
        "diagonal": lambda t: t.diagonal(),
        "deep": lambda t: t.unsqueeze(0)[0][1:].t()[2],
    }
    for take in ways.values():
        values = rng.normal(size=(4, 4))
        mask = torch.zeros(4, 4)
        take(mask).fill_(1.0)
        grads = []
        for write in (True, False):
            x = torch.tensor(values, requires_grad=True)
            s = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
            y = x * 1
            if write:
                take(y).mul_(s)
            else:
                y = torch.where(mask > 0, y * s, y)
            (y * y).sum().backward()
            grads.append((x.grad.numpy(), s.grad.numpy()))
        for a, b in zip(*grads, strict=True):
            assert np.allclose(a, b)
