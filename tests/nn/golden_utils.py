"""Gradients held in bounds; parameters as one vector."""

import math
from typing import Any

from tests.answers import numbers, raised, slopes, warned


def start(torch: Any, dtype: Any = None) -> list[Any]:
    """Parameters with gradients, one without, one of no dimension."""
    g = torch.Generator().manual_seed(3)
    params = [torch.nn.Parameter(torch.zeros(shape, dtype=dtype)) for shape in ((3, 2), (4,), (2,))]
    params.append(torch.nn.Parameter(torch.zeros((), dtype=dtype)))
    for p in (*params[:2], params[3]):
        p.grad = torch.randn(p.shape, generator=g).to(p.dtype)
    return params


def grads(params: list[Any]) -> list[Any]:
    return slopes(params)


def norms(torch: Any) -> Any:
    u = torch.nn.utils
    for dtype in (torch.float32, torch.float64):
        for order in (2, 1, 3.5, 0, math.inf, "inf", -math.inf, 0.5):
            for most in (0.5, 100):
                params = start(torch, dtype)
                norm = u.clip_grad_norm_(params, most, norm_type=order)
                assert not norm.requires_grad
                yield [numbers(norm), grads(params), [
                    p.grad._version for p in params if p.grad is not None
                ]]  # fmt: skip


def several_kinds(torch: Any) -> Any:
    """One tensor, generators, mixed dtypes, nothing at all."""
    u, params = torch.nn.utils, start(torch)
    yield from [u.clip_grad_norm_(params[0], 0.1), u.clip_grad_norm_(iter(params), 0.1),
                grads(params)]  # fmt: skip
    mixed = [start(torch)[0], start(torch, torch.float64)[1]]
    yield from [numbers(u.clip_grad_norm_(mixed, 0.1, foreach=False)), grads(mixed)]
    empty = torch.nn.Parameter(torch.ones(2))
    yield from [
        u.clip_grad_norm_([], 1.0), u.clip_grad_norm_([empty], 1.0), u.clip_grad_norm_(empty, 1.0),
        warned(lambda: u.clip_grad_norm_((p for p in []), 1.0)),
        warned(lambda: u.clip_grad_norm(params, 1.0)), grads(params),
        u.get_total_norm(torch.tensor([3.0, 4.0])), u.get_total_norm([]),
        numbers(u.get_total_norm([p.grad for p in params[:2]], 1)),
    ]  # fmt: skip
    u.clip_grads_with_norm_(params, 1.0, torch.tensor(10.0))
    yield grads(params)
    u.clip_grads_with_norm_(params[0], 1.0, torch.tensor(0.1))
    u.clip_grads_with_norm_(empty, 1.0, torch.tensor(0.1))
    yield grads(params)


def not_finite(torch: Any) -> Any:
    u = torch.nn.utils
    for bad in (math.nan, math.inf):
        p = torch.nn.Parameter(torch.zeros(2))
        p.grad = torch.tensor([1.0, bad])
        yield from [raised(u.clip_grad_norm_, p, 1.0, error_if_nonfinite=True),
                    raised(u.get_total_norm, p.grad, math.inf, True), repr(p.grad)]  # fmt: skip
        yield from [u.clip_grad_norm_(p, 1.0), repr(p.grad)]
    zero = torch.nn.Parameter(torch.zeros(2))
    zero.grad = torch.zeros(2)
    yield from [u.clip_grad_norm_(zero, 0.0), repr(zero.grad)]


def bounds(torch: Any) -> Any:
    u = torch.nn.utils
    for bound in (0.5, 1, 0):
        params = start(torch)
        yield [u.clip_grad_value_(params, bound), grads(params), params[0].grad._version]
    params = start(torch)
    u.clip_grad_value_(params[0], 0.25, foreach=False)
    u.clip_grad_value_((p for p in params[1:]), 0.125)
    yield from [grads(params), params[0].grad._version]


def vectors(torch: Any) -> Any:
    u = torch.nn.utils
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 1))
    vector = u.parameters_to_vector(model.parameters())
    (vector**2).sum().backward()
    yield from [vector, slopes(model.parameters())]
    before = [id(p) for p in model.parameters()]
    new = torch.arange(float(vector.numel()))
    u.vector_to_parameters(new, model.parameters())
    yield from [list(model.parameters()), before == [id(p) for p in model.parameters()]]
    with torch.no_grad():
        new.zero_()
    yield from [list(model.parameters()), [p.requires_grad for p in model.parameters()]]
    yield from [
        raised(u.vector_to_parameters, [1.0], model.parameters()),
        raised(u.vector_to_parameters, torch.zeros(3), model.parameters()),
        raised(u.parameters_to_vector, []), raised(u.parameters_to_vector, [torch.ones(2, 3).t()]),
    ]  # fmt: skip
