"""`rearrange`: dimensions reordered, joined and taken apart as a pattern says."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from nanotorch import ops
from nanotorch._core.tensor import Tensor

ELLIPSIS = "…"
DOTS = "Expression may contain dots only inside ellipsis (...)"


class DimensionBindError(Exception):
    """Sizes that do not fit a pattern."""


class Side(NamedTuple):
    """One side of a pattern.

    Attributes:
        groups: for each dimension the names of what it is composed of, the slowest first; none for
            one of size 1.
        joined: whether the ellipsis stands in parentheses.
    """

    groups: list[list[str]]
    joined: bool

    @property
    def names(self) -> list[str]:
        """All names, in order."""
        return [name for group in self.groups for name in group]


def rearrange(tensor: Tensor | Sequence[Tensor], pattern: str, **axes_lengths: int) -> Tensor:
    """A tensor with its dimensions reordered, joined or taken apart.

    The pattern names the dimensions, as ``"b c (h k) -> b (c k) h"``: parentheses stand for one
    dimension that is composed of several, ``...`` for any others, 1 and ``()`` for one of size 1.

    Args:
        tensor: or several of one shape, which are stacked first.
        axes_lengths: sizes, by name, of what a dimension is composed of; one of each may be left
            out.

    Raises:
        ValueError: for a pattern that is not valid or does not fit the number of dimensions.
        TypeError: for a size that is no integer.
        DimensionBindError: for sizes that do not fit.

    Reference:
        Rogozhnikov, Einops: Clear and Reliable Tensor Manipulations with Einstein-like Notation,
        ICLR 2022.
    """
    given = tensor if isinstance(tensor, Tensor) else ops.stack(tensor)
    left, right = sides(pattern)
    check(left, right, axes_lengths)
    left, right = spelled_out(left, right, given.ndim)
    sizes = bound(left, tuple(given.shape), axes_lengths)
    parts = given.reshape(tuple([sizes[name] for name in left.names]))
    order = [left.names.index(name) for name in right.names]
    shape = [math.prod([sizes[name] for name in group]) for group in right.groups]
    return parts.permute(order).reshape(shape)


def sides(pattern: str) -> tuple[Side, Side]:
    """Both sides of a pattern.

    Raises:
        ValueError: if it is not valid.
    """
    texts = pattern.split("->")
    if len(texts) != 2:
        raise ValueError("Pattern must contain a single '->' separator")
    left, right = map(side, texts)
    if ELLIPSIS in right.names and ELLIPSIS not in left.names:
        raise ValueError(f"Ellipsis found in right side, but not left side of a pattern {pattern}")
    if left.joined:
        raise ValueError(f"Ellipsis is parenthesis in the left side is not allowed: {pattern}")
    return left, right


def side(text: str) -> Side:
    """One side of a pattern.

    Raises:
        ValueError: if it is not valid.
    """
    if "." in text:
        if "..." not in text:
            raise ValueError(DOTS)
        if text.count("...") != 1 or text.count(".") != 3:
            raise ValueError(f"{DOTS}; only one ellipsis for tensor ")
    groups: list[list[str]] = []
    inside = joined = False
    for word in words(text.replace("...", ELLIPSIS)):
        if word == "(":
            if inside:
                raise ValueError(
                    "Axis composition is one-level (brackets inside brackets not allowed)"
                )
            groups.append([])
        elif word == ")":
            if not inside:
                raise ValueError("Brackets are not balanced")
        else:
            check_name(word, groups)
            own = [] if word == "1" else [word]
            joined = joined or (inside and word == ELLIPSIS)
            if inside:
                groups[-1] += own
            else:
                groups.append(own)
        inside = word == "(" or (inside and word != ")")
    if inside:
        raise ValueError(f"Imbalanced parentheses in expression: '{text}'")
    return Side(groups, joined)


def words(text: str) -> list[str]:
    """Names and parentheses.

    Raises:
        ValueError: for any other character.
    """
    for letter in text:
        if not (letter.isalnum() or letter in f"_() {ELLIPSIS}"):
            raise ValueError(f"Unknown character '{letter}'")
    return text.replace("(", " ( ").replace(")", " ) ").split()


def check_name(name: str, groups: list[list[str]]) -> None:
    """Refuse what is no name, and one that stands there already.

    Raises:
        ValueError: for such a one.
    """
    if name.isdecimal():
        if name != "1":
            raise ValueError("rearrange only supports unnamed axes of size 1")
        return
    if any(name in group for group in groups):
        raise ValueError(f"Indexing expression contains duplicate dimension '{name}'")
    reason = None
    if name != ELLIPSIS and not name.isidentifier():
        reason = "not a valid python identifier"
    elif name[0] == "_" or name[-1] == "_":
        reason = "axis name should should not start or end with underscore"
    if reason:
        raise ValueError(f"Invalid axis identifier: {name}\n{reason}")


def check(left: Side, right: Side, lengths: dict[str, Any]) -> None:
    """Refuse names that stand on one side only, and sizes of what is not there.

    Raises:
        ValueError, TypeError: for such ones.
    """
    for length in lengths.values():
        if not isinstance(length, int):
            raise TypeError(f"rearrange axis lengths must be integers, got: {type(length)}")
    single = set(left.names) ^ set(right.names)
    if single:
        raise ValueError(
            f"Identifiers only on one side of rearrange expression (should be on both): {single}"
        )
    unknown = lengths.keys() - set(left.names)
    if unknown:
        raise ValueError(f"Identifiers not found in rearrange expression: {unknown}")


def spelled_out(left: Side, right: Side, ndim: int) -> tuple[Side, Side]:
    """Both sides with a name for each dimension that the ellipsis stands for.

    Raises:
        ValueError: if the tensor has another number of dimensions.
    """
    count, open_ended = len(left.groups), ELLIPSIS in left.names
    if open_ended and count - 1 > ndim:
        raise ValueError(
            f"Number of dimensions in pattern ({count - 1}) must be less than or equal to the "
            f"number of dimensions in the tensor ({ndim})"
        )
    if not open_ended and count != ndim:
        raise ValueError(
            f"Number of dimensions in pattern ({count}) must be equal to the number of dimensions "
            f"in the tensor ({ndim})"
        )
    others = [f"{ELLIPSIS}{k}" for k in range(ndim - count + 1)]

    def spelled(side: Side) -> Side:
        groups: list[list[str]] = []
        for group in side.groups:
            if group == [ELLIPSIS] and not side.joined:
                groups += [[name] for name in others]
            else:
                groups.append([n for name in group for n in ((name,), others)[name == ELLIPSIS]])
        return Side(groups, side.joined)

    return spelled(left), spelled(right)


def bound(left: Side, shape: tuple[int, ...], lengths: dict[str, int]) -> dict[str, int]:
    """The size of each name.

    Raises:
        DimensionBindError: if they do not fit the shape.
    """
    sizes, number = dict(lengths), left.names.index
    for group, size in zip(left.groups, shape, strict=True):
        open_ones = [name for name in group if name not in lengths]
        if len(open_ones) > 1:
            one, other = [f"d{number(name)}" for name in open_ones[:2]]
            raise DimensionBindError(
                f"cannot infer the sizes of two dimensions at once {one} and {other}"
            )
        known = math.prod([lengths[name] for name in group if name in lengths])
        if not open_ones and known != size:
            pack = tuple([f"d{number(name)}" for name in group])
            raise DimensionBindError(
                f"Dimension sizes to do not match ({size} != {known}) when matching dimension pack "
                f"{str(pack).replace(chr(39), '')}"
            )
        if open_ones:
            if not known or size % known:
                told = tuple(["?" if name in open_ones else lengths[name] for name in group])
                raise DimensionBindError(
                    f"inferred dimension does not evenly fit into larger dimension: {size} vs "
                    f"{told}"
                )
            sizes[open_ones[0]] = size // known
    return sizes
