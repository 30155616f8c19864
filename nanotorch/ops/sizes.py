"""Shapes as functions are given them."""

from typing import Any

from nanotorch._core.arguments import as_ints, refused, twice


def shape_of(
    name: str, size: tuple[Any, ...], keyword: Any = None, position: int = 1
) -> tuple[int, ...]:
    """The shape that a function was given as one sequence or as several numbers.

    Args:
        name: the function's, for messages.
        keyword: the sequence, where it was given by its name.
        position: of the argument, for messages.

    Raises:
        TypeError: for anything but integers.
        RuntimeError: for a negative one.
    """
    if keyword is not None:
        if size:
            raise twice(name, "size")
        if not isinstance(keyword, (tuple, list)):
            raise refused(keyword, "tuple of ints", (name, "size", 0))
        size = (keyword,)
    if not size:
        raise TypeError(f'{name}() missing 1 required positional arguments: "size"')
    shape = as_ints(size[0] if len(size) == 1 else size, (name, "size", position))
    negative = [n for n in shape if n < 0]
    if negative and name == "zeros":
        raise RuntimeError("zeros: Dimension size must be non-negative.")
    if negative:
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {negative[0]}: {list(shape)}"
        )
    return shape
