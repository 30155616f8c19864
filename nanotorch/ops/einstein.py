"""Sums of products in Einstein's notation, put together from views and `bmm`.

Every operand is brought to the same dimensions: first those of the result, then those summed over,
in one order, with size 1 where it lacks a label. Then the operands are multiplied from left to
right, and a label is summed over as soon as no later operand has it.
"""

import math
import string
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from nanotorch._core.op import public
from nanotorch._core.tensor import Tensor
from nanotorch.ops.matrix import bmm
from nanotorch.ops.reduction import sum_along
from nanotorch.ops.shape import diagonal, movedim, permute_to, reshape, unsqueeze, view

DOTS = "..."
LETTERS = string.ascii_uppercase + string.ascii_lowercase  # also the order of an implicit result
Labels = list[str]  # letters and DOTS


def labels_of(text: str, offset: int, whose: str) -> Labels:
    """The letters and dots of one operand or of the result.

    Raises:
        RuntimeError: for anything else.
    """
    labels: Labels = []
    position = 0
    while position < len(text):
        symbol = text[position]
        if symbol == ".":
            words = ("but an", " (...)") if whose == "output" else ("for which an", "")
            if DOTS in labels:
                fault = f"{words[0]} ellipsis{words[1]} was already found"
                raise RuntimeError(f"einsum(): found '.' for {whose} {fault}")
            if text[position : position + 3] != DOTS:
                fault = f"that is not part of any ellipsis{words[1]}"
                raise RuntimeError(f"einsum(): found '.' for {whose} {fault}")
            labels.append(DOTS)
            position += 3
            continue
        if symbol != " ":
            if symbol not in LETTERS:
                raise RuntimeError(
                    f"einsum(): invalid subscript given at index {offset + position} in the "
                    "equation string, subscripts must be in [a-zA-Z]"
                )
            labels.append(symbol)
        position += 1
    return labels


def parse(equation: str) -> tuple[list[Labels], Labels | None]:
    """The labels of the operands and, if given, of the result."""
    left, arrow, right = equation.partition("->")
    inputs = []
    offset = 0
    for number, text in enumerate(left.split(",")):
        inputs.append(labels_of(text, offset, f"operand {number}"))
        offset += len(text) + 1
    return inputs, labels_of(right, len(left) + 2, "output") if arrow else None


def from_lists(arguments: Sequence[Any]) -> tuple[str, list[Tensor]]:
    """The equation and operands of the form ``einsum(a, [0, 1], b, [1, 2], [0, 2])``."""

    def letters(numbers: Sequence[Any]) -> str:
        return "".join([DOTS if n is ... else LETTERS[n] for n in numbers])

    count = len(arguments) // 2
    equation = ",".join([letters(arguments[2 * i + 1]) for i in range(count)])
    if len(arguments) % 2:
        equation += "->" + letters(arguments[-1])
    return equation, [arguments[2 * i] for i in range(count)]


def covered(inputs: list[Labels], ndims: Sequence[int]) -> int:
    """How many dimensions the dots stand for at most.

    Raises:
        RuntimeError: if the labels do not fit the operands.
    """
    if len(inputs) != len(ndims):
        given = "more" if len(inputs) < len(ndims) else "fewer"
        raise RuntimeError(
            f"einsum(): {given} operands were provided than specified in the equation"
        )
    most = 0
    for number, (labels, ndim) in enumerate(zip(inputs, ndims, strict=True)):
        named = len(labels) - (DOTS in labels)
        if DOTS in labels:
            if named > ndim:
                raise RuntimeError(
                    f"einsum(): the number of subscripts in the equation ({named}) is more than "
                    f"the number of dimensions ({ndim}) for operand {number}"
                )
            most = max(most, ndim - named)
        elif named != ndim:
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({named}) does not match the "
                f"number of dimensions ({ndim}) for operand {number} and no ellipsis was given"
            )
    return most


def implicit_output(inputs: list[Labels]) -> Labels:
    """The result's labels where none are given: the dots, then what occurs once, in order."""
    every = [label for labels in inputs for label in labels]
    dots = [DOTS] if DOTS in every else []
    return dots + [letter for letter in LETTERS if every.count(letter) == 1]


def check_output(output: Labels, inputs: list[Labels]) -> None:
    """Refuse a label that comes twice or from nowhere."""
    for label in output:
        if output.count(label) > 1:
            raise RuntimeError(
                f"einsum(): output subscript {label} appears more than once in the output"
            )
        if label != DOTS and not any(label in labels for labels in inputs):
            raise RuntimeError(
                f"einsum(): output subscript {label} does not appear in the equation for any input "
                "operand"
            )


def spelled_out(labels: Labels, ndim: int, dots: int) -> Labels:
    """Labels with a number for each dimension that the dots stand for, counted from the last."""
    if DOTS not in labels:
        return labels
    count = ndim - len(labels) + 1
    at = labels.index(DOTS)
    return labels[:at] + [str(n) for n in range(dots - count, dots)] + labels[at + 1 :]


@lru_cache(maxsize=256)
def planned(equation: str, ndims: tuple[int, ...]) -> tuple[list[Labels], Labels, int]:
    """What an equation says of operands of so many dimensions.

    Returns:
        The labels of each operand; those of all dimensions in the order in which every operand
        is arranged; and how many of these the result keeps.
    """
    inputs, output = parse(equation)
    dots = covered(inputs, ndims)
    if output is None:
        output = implicit_output(inputs)
    else:
        check_output(output, inputs)
    dotted = [str(n) for n in range(dots)]
    inputs = [spelled_out(*pair, dots) for pair in zip(inputs, ndims, strict=True)]
    result = [x for label in output for x in (dotted if label == DOTS else [label])]
    present = {label for labels in inputs for label in labels}
    summed = [x for x in (*dotted, *LETTERS) if x in present and x not in result]
    return inputs, result + summed, len(result)


def check_sizes(operands: Sequence[Tensor], inputs: list[Labels]) -> None:
    """Refuse a label of two sizes, unless one is 1."""
    sizes: dict[str, int] = {}
    for number, (labels, operand) in enumerate(zip(inputs, operands, strict=True)):
        own: dict[str, int] = {}
        for label, n in zip(labels, operand.shape, strict=True):
            if own.setdefault(label, n) != n:
                raise RuntimeError(
                    f"einsum(): subscript {label} is repeated for operand {number} but the sizes "
                    f"don't match, {n} != {own[label]}"
                )
        for label, n in own.items():
            seen = sizes.get(label, 1)
            if seen != 1 and n not in (1, seen):
                if label in LETTERS:
                    where = f"subscript {label} has size {n} for operand {number}"
                    before = f"size {seen}"
                else:
                    place = [x for x in own if x not in LETTERS].index(label)
                    where = f"dimension {place} covered by ellipsis in operand {number}has size {n}"
                    before = f"ellipsis with size {seen} for the respective dimension"
                raise RuntimeError(
                    f"einsum(): {where} which does not broadcast with previously seen {before}"
                )
            sizes[label] = n if seen == 1 else seen


def arranged(operand: Tensor, labels: Labels, order: Labels) -> Tensor:
    """An operand with its dimensions in ``order``, size 1 where it has none."""
    labels = list(labels)
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            operand = movedim(diagonal(operand, 0, first, second), -1, first)
            del labels[second]
    missing = [label for label in order if label not in labels]
    for _ in missing:
        operand = unsqueeze(operand, operand.ndim)
    places = labels + missing
    return permute_to(operand, tuple([places.index(label) for label in order]))


def multiplied(a: Tensor, b: Tensor, summed: list[int]) -> Tensor:
    """``a * b``, summed over some dimensions, which stay with size 1; sizes 1 broadcast."""
    wide_a, wide_b = ([n != 1 for n in x._array.shape] for x in (a, b))
    only_a = tuple([d for d in summed if wide_a[d] and not wide_b[d]])
    only_b = tuple([d for d in summed if wide_b[d] and not wide_a[d]])
    if only_a:
        a = sum_along(a, only_a, True)
    if only_b:
        b = sum_along(b, only_b, True)
    inner = [d for d in summed if wide_a[d] and wide_b[d]]
    if not inner:
        return a * b
    rest = [d for d in range(a.ndim) if d not in inner]
    both = [d for d in rest if wide_a[d] and wide_b[d]]
    left = [d for d in rest if wide_a[d] and not wide_b[d]]
    right = [d for d in rest if not wide_a[d]]
    m, n = a._array.shape, b._array.shape

    def size(shape: tuple[int, ...], dims: list[int]) -> int:
        return math.prod([shape[d] for d in dims])

    if left and right and max(right) < min(left):  # then the product comes out in order
        a, b, m, n, left, right = b, a, n, m, right, left
    batch, middle = size(m, both), size(m, inner)
    x = permute_to(a, (*both, *left, *inner, *right))
    y = permute_to(b, (*both, *inner, *right, *left))
    out = bmm(
        reshape(x, (batch, size(m, left), middle)), reshape(y, (batch, middle, size(n, right)))
    )
    order = [*both, *left, *inner, *right]
    shape = [*(m[d] for d in both), *(m[d] for d in left), *(1 for _ in inner)]
    out = view(out, (*shape, *(n[d] for d in right)))
    return permute_to(out, tuple([order.index(d) for d in range(a.ndim)]))


@public
def einsum(*args: Any) -> Tensor:
    """A sum of products, for example ``einsum("ij,jk->ik", a, b)`` for a product of matrices.

    Args:
        args: the equation and the operands; or each operand with a list of numbers for labels, and
            a last list for the result. Repeated labels mean a diagonal; labels that the result
            lacks are summed over; dots stand for the other dimensions, which broadcast. Without
            ``->`` the result has the labels that occur once, in order.

    Raises:
        RuntimeError: if the equation is not valid or does not fit the operands.
    """
    if isinstance(args[0], str):
        equation, operands = args[0], list(args[1:])
        if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
            operands = list(operands[0])
    else:
        equation, operands = from_lists(args)
    for number, operand in enumerate(operands):
        if not isinstance(operand, Tensor):
            raise TypeError(
                f"expected Tensor as element {number} in argument 1, but got "
                f"{type(operand).__name__}"
            )
    inputs, order, kept = planned(equation, tuple([t._array.ndim for t in operands]))
    check_sizes(operands, inputs)
    parts = [arranged(*pair, order) for pair in zip(operands, inputs, strict=True)]
    return evaluate(parts, kept, len(order))


def evaluate(parts: list[Tensor], kept: int, ndim: int) -> Tensor:
    """The product of arranged operands, summed over all dimensions but the first ``kept``."""
    result = parts[0]
    if len(parts) == 1:
        rest = tuple(range(kept, ndim))
        return sum_along(result, rest, False) if rest else result
    for number in range(1, len(parts)):
        later = [part._array.shape for part in parts[number + 1 :]]
        last = [d for d in range(kept, ndim) if all(shape[d] == 1 for shape in later)]
        result = multiplied(result, parts[number], last)
    return view(result, result._array.shape[:kept]) if kept < ndim else result
