"""Shapes as functions are given them."""

from typing import Any


def shape_of(name: str, size: tuple[Any, ...]) -> tuple[int, ...]:
    """The shape that a function was given as one sequence or as several numbers.

    Args:
        name: the function's, for messages.

    Raises:
        TypeError: for anything but integers.
        RuntimeError: for a negative one.
    """
    sizes = tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    shape = []
    for position, n in enumerate(sizes):
        if isinstance(n, bool) or not hasattr(n, "__index__"):
            kind = type(n).__name__
            if position == 0:
                raise TypeError(
                    f"{name}(): argument 'size' (position 1) must be tuple of ints, not {kind}"
                )
            raise TypeError(
                f"{name}(): argument 'size' failed to unpack the object at pos {position + 1} with "
                f'error "type must be tuple of ints,but got {kind}"'
            )
        shape.append(n.__index__())
    negative = [n for n in shape if n < 0]
    if negative and name == "zeros":
        raise RuntimeError("zeros: Dimension size must be non-negative.")
    if negative:
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {negative[0]}: {shape}"
        )
    return tuple(shape)
