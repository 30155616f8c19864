"""Sizes by dimension, given as one number or several: `_pair(3)` is `(3, 3)`.

PyTorch has these in `nn.modules.utils`, from where programs with layers of their own import them.
"""

from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    """A function that makes a tuple of a sequence, and ``n`` times the same of anything else."""

    def parse(x: Any) -> tuple[Any, ...]:
        return tuple(x) if isinstance(x, Iterable) else tuple(repeat(x, n))

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t: Iterable[Any], n: int) -> tuple[Any, ...]:
    """The elements from the last to the first, each ``n`` times: sizes as `pad` takes them."""
    return tuple(x for x in reversed(tuple(t)) for _ in range(n))
