"""Tensors among NumPy's arrays and numbers: operators, NumPy's functions, conversions."""

from typing import Any

import numpy as np

from tests.answers import expressions, raised, tables

OPERATORS = ("+", "-", "*", "/", "//", "%", "**", "@", "==")
PAIRS = """
x a|a x|g a|a g|x z|z x|z g|i k|k i|n a|a n|x single|single x|x double|double x|i whole|whole i
i single|single i|g single|single g
"""


def _names(torch: Any) -> dict[str, Any]:
    x = torch.tensor([1.0, 2.0])
    return {
        "np": np, "x": x, "g": x.clone().requires_grad_(), "i": torch.tensor([1, 0]),
        "n": torch.tensor(2.0), "a": np.array([3.0, 4.0]), "k": np.array([1, 0]),
        "z": np.array(2.0), "single": np.float32(2), "double": np.float64(2), "whole": np.int64(2),
    }  # fmt: skip


table = tables(_names)
# An array on the right is computed by NumPy and wrapped; one on the left is an error.
operators = table(
    "|".join(pair.replace(" ", f" {o} ") for pair in expressions(PAIRS) for o in OPERATORS)
)
calls = table("""
np.sin(x)|np.sin(g)|np.asarray(x)|np.asarray(g)|np.array(x)|np.array([n, n])|np.add(x, a)
np.add(a, x)|np.add(x, x)|np.multiply(x, 2)|np.dot(a, x)|np.matmul(a, x)|np.argmax(x)
np.concatenate([x, a])|np.stack([x, x])|np.allclose(x, a)|np.exp(i)|np.abs(x)|np.sqrt(n)
np.isnan(x)|np.zeros_like(x)|np.clip(x, 0, 1)|np.where(x > 1, x, 0)|np.reshape(x, (2, 1))
np.transpose(x)|np.linalg.norm(x)|np.round(x)|np.cumsum(x)|np.sort(x)|np.shape(x)|np.ndim(x)
np.float32(n)|a[i]|a[i[0]]|x[k]|x[np.int64(1)]|x[a > 3]|torch.tensor([single, double])
torch.tensor([a, a])|torch.tensor(single)|torch.tensor(whole)|torch.full((2,), single)
x.__array__()|x.__array__(np.float64)|x.__array_wrap__(a)|x.__array_wrap__(a > 3)|x.numpy()
single in x|max(x)|sum(x)|x.__iadd__(a)|a.__iadd__(x)|np.add.reduce(x)|np.less(x, a)
np.add(x, 1, out=a.copy())|np.multiply.outer(a, x)|x == np.ones(3)|x != a|x == np.array(["a", "b"])
x < a|x.__eq__(a)|np.unique(i)
""")


def in_place(torch: Any) -> Any:
    x, a = torch.tensor([1.0, 2.0]), np.array([3.0, 4.0])
    y = x
    y += a
    x *= np.float64(2)
    z = x.clone()
    z[0] = np.float64(7)
    b = a.copy()
    b[:] = x
    b[0] = torch.tensor(5.0)
    refused = raised(z.__setitem__, slice(None), a)
    return [
        y, x, z, repr(b), refused, raised(a.__setitem__, slice(None), x.clone().requires_grad_()),
    ]  # fmt: skip


def order_of_copies(torch: Any) -> Any:
    a = np.arange(24.0).reshape(2, 3, 4)
    given = [a.transpose(2, 0, 1), a[:, ::2], np.broadcast_to(a[:, :1], (2, 3, 4)), a.T, a[0, 0]]
    return [[torch.tensor(g).stride(), torch.tensor(g, dtype=torch.int32).stride()] for g in given]
