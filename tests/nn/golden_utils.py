"""Gradients held in bounds; parameters as one vector."""

import math
from typing import Any

from tests.answers import given, sessions


def start(torch: Any, dtype: Any = None) -> list[Any]:
    """Parameters with gradients, one without, one of no dimension."""
    g = torch.Generator().manual_seed(3)
    params = [torch.nn.Parameter(torch.zeros(shape, dtype=dtype)) for shape in ((3, 2), (4,), (2,))]
    params.append(torch.nn.Parameter(torch.zeros((), dtype=dtype)))
    for p in (*params[:2], params[3]):
        p.grad = torch.randn(p.shape, generator=g).to(p.dtype)
    return params


session = sessions(lambda torch: given(torch, start, math=math, utils=torch.nn.utils))
utils = session("""
norms
    for dtype in (torch.float32, torch.float64):
        for order in (2, 1, 3.5, 0, math.inf, "inf", -math.inf, 0.5):
            for most in (0.5, 100):
                params = start(dtype)
                norm = utils.clip_grad_norm_(params, most, norm_type=order)
                assert not norm.requires_grad
                numbers(norm), slopes(params)
                [p.grad._version for p in params if p.grad is not None]
several kinds
    # One tensor, generators, mixed dtypes, nothing at all.
    params = start()
    utils.clip_grad_norm_(params[0], 0.1), utils.clip_grad_norm_(iter(params), 0.1), slopes(params)
    mixed = [start()[0], start(torch.float64)[1]]
    numbers(utils.clip_grad_norm_(mixed, 0.1, foreach=False)), slopes(mixed)
    empty = nn.Parameter(torch.ones(2))
    utils.clip_grad_norm_([], 1.0), utils.clip_grad_norm_([empty], 1.0)
    utils.clip_grad_norm_(empty, 1.0), warned(lambda: utils.clip_grad_norm_((p for p in []), 1.0))
    warned(lambda: utils.clip_grad_norm(params, 1.0)), slopes(params)
    utils.get_total_norm(torch.tensor([3.0, 4.0])), utils.get_total_norm([])
    numbers(utils.get_total_norm([p.grad for p in params[:2]], 1))
    _ = utils.clip_grads_with_norm_(params, 1.0, torch.tensor(10.0))
    slopes(params)
    _ = utils.clip_grads_with_norm_(params[0], 1.0, torch.tensor(0.1))
    _ = utils.clip_grads_with_norm_(empty, 1.0, torch.tensor(0.1))
    slopes(params)
not finite
    for bad in (math.nan, math.inf):
        p = nn.Parameter(torch.zeros(2))
        p.grad = torch.tensor([1.0, bad])
        utils.clip_grad_norm_(p, 1.0, error_if_nonfinite=True)
        utils.get_total_norm(p.grad, math.inf, True), repr(p.grad), utils.clip_grad_norm_(p, 1.0)
        repr(p.grad)
    zero = nn.Parameter(torch.zeros(2))
    zero.grad = torch.zeros(2)
    utils.clip_grad_norm_(zero, 0.0), repr(zero.grad)
bounds
    for bound in (0.5, 1, 0):
        params = start()
        utils.clip_grad_value_(params, bound), slopes(params), params[0].grad._version
    params = start()
    _ = utils.clip_grad_value_(params[0], 0.25, foreach=False)
    _ = utils.clip_grad_value_((p for p in params[1:]), 0.125)
    slopes(params), params[0].grad._version
vectors
    _ = torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    vector = utils.parameters_to_vector(model.parameters())
    _ = (vector**2).sum().backward()
    vector, slopes(model.parameters())
    before = [id(p) for p in model.parameters()]
    new = torch.arange(float(vector.numel()))
    _ = utils.vector_to_parameters(new, model.parameters())
    list(model.parameters()), before == [id(p) for p in model.parameters()]
    with torch.no_grad():
        _ = new.zero_()
    list(model.parameters()), [p.requires_grad for p in model.parameters()]
    utils.vector_to_parameters([1.0], model.parameters())
    utils.vector_to_parameters(torch.zeros(3), model.parameters()), utils.parameters_to_vector([])
    utils.parameters_to_vector([torch.ones(2, 3).t()])
""")
