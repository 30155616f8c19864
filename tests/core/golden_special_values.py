"""Zeros of both signs, infinities, nan and huge numbers: what kind of number comes of them.

An answer tells of each element only what every CPU agrees about: nan, an infinity, a zero and its
sign, or the sign of another number. Where there is a gradient, its kinds follow; the sign of a zero
in it depends on the way, and is left out.
"""

import math
from typing import Any

import numpy as np

INF, NAN = math.inf, math.nan
VALUES = [0.0, -0.0, 1.0, -1.0, INF, -INF, NAN, 1e-30, 1e30, -1e30, 0.5, 2.0, -2.5, 20.0, -3.0, 3.0]


def _kinds(tensor: Any, signed: bool) -> str:
    """The elements, a word each."""
    words = []
    for value in tensor.detach().numpy().ravel().tolist():
        if value != value or math.isinf(value):
            words.append(str(value))
        else:
            sign = "-" if np.signbit(value) else "+"
            words.append(sign if value else "-0" if signed and sign == "-" else "0")
    return " ".join(words)


def _asked(torch: Any, call: Any, *columns: list[float]) -> list[str]:
    """The kinds of a function's result and of its gradients."""
    inputs = [torch.tensor(column, requires_grad=True) for column in columns]
    out = call(*inputs)
    answer = [_kinds(out, True)]
    if out.requires_grad:
        grads = torch.autograd.grad(out, inputs, torch.ones_like(out))
        answer += [_kinds(g, False) for g in grads]
    return answer


def of_one(torch: Any) -> Any:
    names = (
        "abs acos asin asinh atan atanh ceil cos deg2rad erf erfc exp expm1 floor frac log log10 "
        "log1p log2 logit nan_to_num neg reciprocal round rsqrt sigmoid sign sin sinc sqrt square "
        "tan tanh trunc isfinite isnan signbit"
    )
    activations = (
        "relu selu silu softplus hardswish hardsigmoid hardtanh relu6 leaky_relu elu "
        "logsigmoid softsign tanhshrink"
    )
    calls = {name: getattr(torch, name) for name in names.split()}
    calls |= {name: getattr(torch.nn.functional, name) for name in activations.split()}
    calls |= {f"** {n}": lambda x, n=n: x**n for n in (0, 1, 2, 3, -1, -2, 0.5, -0.5, 1.5, INF)}
    calls |= {f"{n} **": lambda x, n=n: n**x for n in (0, 1, 2, -1, 0.5)}
    calls |= {f"** tensor {n}": lambda x, n=n: x ** torch.tensor(n) for n in (0.5, 2.0)}
    calls |= {f"{n} /": lambda x, n=n: n / x for n in (0, 1, INF)}
    calls |= {
        "at least 0": lambda x: x.clamp(min=0), "at most 0": lambda x: x.clamp(max=0),
        "0": lambda x: x.clamp(0, 0), "at least nan": lambda x: x.clamp(min=NAN),
        "norm": lambda x: x.unsqueeze(-1).norm(dim=-1),
        "sum of logs": lambda x: x.unsqueeze(-1).logsumexp(-1),
    }  # fmt: skip
    return {name: _asked(torch, call, VALUES) for name, call in calls.items()}


def of_two(torch: Any) -> Any:
    f, values = torch.nn.functional, [0.0, -0.0, 1.0, INF, -INF, NAN, 2.0, -3.0]
    names = "add sub mul div pow atan2 maximum minimum logaddexp hypot copysign"
    losses = "mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy_with_logits"
    calls = {name: getattr(torch, name) for name in names.split()}
    calls |= {
        name: lambda x, y, name=name: getattr(f, name)(x, y, reduction="none")
        for name in losses.split()
    }
    for name in ["sum", "prod", "nansum", "nanmean", "logsumexp", "softmax", "log_softmax"]:
        calls[f"{name} of a row"] = lambda x, y, name=name: getattr(torch, name)(
            torch.stack([x, y], -1), -1
        )
    left = [x for x in values for _ in values]
    return {name: _asked(torch, call, left, values * len(values)) for name, call in calls.items()}


def where_losses_bend(torch: Any) -> Any:
    f, x = torch.nn.functional, torch.tensor([[1.0, 0.0]], requires_grad=True)
    ones, near = torch.ones(1, 2), torch.tensor([[4.0, 4.0]])
    losses = [
        f.margin_ranking_loss(x, torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, -1.0]])),
        f.hinge_embedding_loss(x, -ones),
        f.triplet_margin_loss(x, near, torch.tensor([[7.0, 0.0]]), margin=1.0, eps=0.0),
        f.cosine_embedding_loss(x, torch.tensor([[1.0, 0.0]]), -ones[0, :1], margin=1.0),
        f.normalize(x * 0).sum(), f.smooth_l1_loss(x, ones * 0), f.huber_loss(x, ones * 0),
    ]  # fmt: skip
    return [torch.autograd.grad(loss, x)[0] for loss in losses]


def targets_of_far_logits(torch: Any) -> Any:
    x = torch.tensor([100.0, 200.0, -100.0, -200.0, 50.0])
    target = torch.full((5,), 0.5, requires_grad=True)
    for weight in (None, torch.tensor(2.0)):
        loss = torch.nn.functional.binary_cross_entropy_with_logits(
            x, target, reduction="sum", pos_weight=weight
        )
        loss.backward()
    return target.grad
