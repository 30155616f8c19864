"""What is read off the code of kernels and formulas."""

from typing import Any

import numpy as np


def one(a: Any) -> Any:
    return np.function(a)  # type: ignore[attr-defined]


def two(a: Any, b: Any) -> Any:
    return np.function(a, b)  # type: ignore[attr-defined]


WRAPPERS = {f.__code__.co_code for f in (one, two)}


def without_wrapper(kernel: Any) -> Any:
    """The function of NumPy to which a kernel hands its arguments and does no more, or itself."""
    code = kernel.__code__
    wraps = code.co_code in WRAPPERS and code.co_names[0] == "np" and not code.co_kwonlyargcount
    return getattr(np, code.co_names[1]) if wraps else kernel


def parameters(formula: Any) -> list[str]:
    """The names of a formula's parameters; `inspect` would take a tenth of the import for it."""
    code = formula.__code__
    return list(code.co_varnames[: code.co_argcount])
