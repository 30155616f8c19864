"""`np.where` without branches, which take most of its time where a mask is irregular."""

from typing import Any

import numpy as np

BITS = {n: np.dtype(f"int{8 * n}") for n in (2, 4, 8)}  # integers of the sizes of floats
SMALL = 4096  # elements; below, branches cost less than passes


def pick(mask: Any, a: Any, b: Any) -> Any:
    """``a`` where ``mask`` is true and ``b`` elsewhere, bit by bit; either may be one number."""
    # Steps that are traced, which `type` alone sees, have arrays of another class.
    if mask.__class__ is not np.ndarray or mask.size < SMALL:
        return np.where(mask, a, b)
    if isinstance(a, (int, float)):
        a = np.result_type(a, b).type(a)
    elif isinstance(b, (int, float)):
        b = np.result_type(a, b).type(b)
    if not fits(a, b, mask.shape):
        return np.where(mask, a, b)
    bits = BITS[a.dtype.itemsize]
    out = mask.astype(bits)
    np.negative(out, out=out)  # all bits set, or none
    other = b.view(bits)
    out &= a.view(bits) ^ other
    out ^= other
    return out.view(a.dtype)


def fits(a: Any, b: Any, shape: tuple[int, ...]) -> bool:
    """Whether the two are of one dtype of two or four bytes, and need no broadcasting."""
    kind = a.dtype
    return (
        kind == b.dtype
        and kind.itemsize in (2, 4)
        and all((x.__class__ is np.ndarray and x.shape == shape) or x.shape == () for x in (a, b))
    )
