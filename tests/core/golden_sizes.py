"""New tensors in a given layout, and of more bytes than there are; windows that do not move."""

import re
from typing import Any

from tests.answers import expressions, tables


def _names(torch: Any) -> dict[str, Any]:
    return {"x": torch.ones(2)}


def _large(torch: Any) -> dict[str, Any]:
    wide, long = torch.ones(1).expand(2**45), torch.ones(2**23)
    return {"n": 2**62, "x": torch.ones(3), "wide": wide, "long": long}


def _pictures(torch: Any) -> dict[str, Any]:
    x = torch.ones(1, 1, 4, 4, 4)
    return {"nn": torch.nn, "x1": x[..., 0, 0], "x2": x[..., 0], "x3": x}


# What takes a layout; `at` stands for it.
CREATING = """
torch.zeros(2, at)|torch.ones(2, at)|torch.empty(2, at)|torch.full((2,), 1.0, at)|torch.eye(2, at)
torch.arange(2, at)|torch.linspace(0, 1, 2, at)|torch.logspace(0, 1, 2, at)|torch.rand(2, at)
torch.randn(2, at)|torch.randint(3, (2,), at)|torch.randperm(3, at)
torch.normal(0.0, 1.0, (2,), at)|torch.zeros_like(x, at)|torch.ones_like(x, at)
torch.empty_like(x, at)|torch.full_like(x, 2, at)|torch.rand_like(x, at)|torch.randn_like(x, at)
torch.randint_like(x, 3, at)|x.new_zeros(2, at)|x.new_ones(2, at)|x.new_empty(2, at)
x.new_full((2,), 1.0, at)
torch.tril_indices(2, 2, at)|torch.triu_indices(2, 2, at)|torch.scalar_tensor(1.0, at)
torch.zeros(2, at, out=torch.empty(2))|torch.tensor([1.0], at)
torch.as_tensor([1.0], at)|x.new_tensor([1.0], at)
"""
# How each takes a layout: the result's dtype and shape, or the type of the error.
layouts = tables(_names, lambda told: told if "no error" in told else told.partition(":")[0])(
    "|".join(
        f"({call}).shape".replace(" at", f" layout={layout}")
        for layout in ("torch.strided", "None", "'strided'", "0")
        for call in expressions(CREATING)
    )
)
# The type of the error, and how its text begins.
too_large = tables(_large, lambda told: re.split(" with sizes| you tried", told)[0])("""
torch.zeros(n)|torch.ones(n)|torch.empty(n)|torch.full((n,), 1.0)|torch.rand(n)|torch.randn(n)
torch.randint(3, (n,))|torch.arange(n)|torch.linspace(0, 1, n)|torch.logspace(0, 1, n)
x.new_zeros(n)|x.new_ones(n)|x.new_empty(n)|x.new_full((n,), 1)|torch.empty(0).resize_(n)
torch.zeros(n, 4)|torch.zeros(2**32, 2**32)|torch.zeros_like(wide)|torch.ones_like(wide)
torch.full_like(wide, 2)|wide.clone()|wide.contiguous()|wide + 1|wide.exp()|wide.double()
torch.cat([wide, wide])|torch.outer(long, long)|long[:, None] * long|long[:, None] @ long[None]
torch.diag(long)|x.repeat(2**45)|x.repeat_interleave(2**45)|torch.nn.Linear(2**23, 2**23)
""")
windows_that_stay = tables(_pictures, lambda told: told[:99])("""
nn.MaxPool1d(2, 0)(x1)|nn.MaxPool2d(2, 0)(x2)|nn.MaxPool3d(2, 0)(x3)|nn.AvgPool1d(2, 0)(x1)
nn.AvgPool2d(2, 0)(x2)|nn.AvgPool3d(2, 0)(x3)
nn.AvgPool2d(2, [])|nn.AvgPool2d(2, [])(x2)|nn.AvgPool2d(2, (0, 1))(x2)|nn.AvgPool2d(2, -1)(x2)
nn.functional.avg_pool2d(x2, 2, 0)
nn.functional.max_pool2d(x2, 2, (1, 0))
""")
