"""In which order the dimensions of a result lie in memory, for operations that go by elements.

PyTorch lets the operands say, the first of them first; NumPy weighs them all alike. What people see
of it are the strides, and whether `view` works.
"""

from collections.abc import Sequence

import numpy as np

Strides = tuple[int, ...]  # of an operand along the dimensions of the result; 0 where it repeats


def slowest_first(shape: tuple[int, ...], operands: Sequence[Strides]) -> tuple[int, ...]:
    """The dimensions of a result in the order in which it lies in memory.

    Two dimensions change places if the first operand that repeats along neither has the larger
    stride in the later one. Of equal strides, the longer dimension is the slower one.
    """
    order = list(reversed(range(len(shape))))  # from the fastest to the slowest
    for place in range(1, len(order)):
        for before in range(place - 1, -1, -1):
            slower = compare(order[before], order[place], shape, operands)
            if slower < 0:
                break
            if slower > 0:
                order[before], order[place] = order[place], order[before]
                place = before
    return tuple(reversed(order))


def compare(a: int, b: int, shape: tuple[int, ...], operands: Sequence[Strides]) -> int:
    """1 if dimension ``a`` lies slower than ``b``, -1 if faster, 0 if no operand says which."""
    for strides in operands:
        one, other = strides[a], strides[b]
        if one and other:
            if one != other:
                return 1 if one > other else -1
            if shape[a] > shape[b]:
                return 1
    return 0


def arranged(values: np.ndarray, order: tuple[int, ...]) -> np.ndarray:
    """``values`` in memory in an order of their dimensions, a copy if they do not lie there so."""
    turned = values.transpose(order)
    if turned.flags.c_contiguous:
        return values
    return turned.copy("C").transpose(np.argsort(order))


def arranged_like(values: np.ndarray, input: np.ndarray) -> np.ndarray:
    """``values`` in memory in the order of the dimensions of ``input``, which has their shape."""
    if input.flags.c_contiguous and values.flags.c_contiguous:
        return values
    return arranged(values, slowest_first(values.shape, [input.strides]))
