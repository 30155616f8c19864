"""Which arguments of a function are differentiated, and what its results must be."""

from collections.abc import Callable
from typing import Any

from nanotorch._core.tensor import Tensor

Numbers = int | tuple[int, ...]


def position(number: Any, count: int) -> int:
    """The position of an argument, counted from the front.

    Raises:
        RuntimeError: if there is none.
    """
    if not isinstance(number, int):
        raise RuntimeError(f"argnum must be int, got: {type(number)}")
    if not -count <= number < count:
        raise RuntimeError(f"Got argnum={number}, but only {count} positional inputs")
    return number % count


def positions(argnums: Any, count: int) -> tuple[int, ...]:
    """The positions of the arguments to differentiate by.

    Raises:
        RuntimeError: if there is none, one twice, or one is missing.
    """
    if not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    if isinstance(argnums, int):
        return (position(argnums, count),)
    found = tuple([position(n, count) for n in argnums])
    if not found:
        raise RuntimeError("argnums must be non-empty")
    if len(set(found)) != len(found):
        raise RuntimeError(f"argnums elements must be unique, got {found}")
    return found


def chosen(args: tuple[Any, ...], argnums: Numbers) -> Any:
    """The argument, or the tuple of them."""
    found = positions(argnums, len(args))
    return args[found[0]] if isinstance(argnums, int) else tuple([args[n] for n in found])


def replaced(args: tuple[Any, ...], argnums: Numbers, new: Any) -> tuple[Any, ...]:
    """The arguments with others in the place of those that `chosen` gives."""
    found = positions(argnums, len(args))
    values = dict(zip(found, (new,) if isinstance(argnums, int) else new, strict=True))
    return tuple([values.get(n, arg) for n, arg in enumerate(args)])


def with_aux(result: Any, has_aux: bool, name: str) -> tuple[Any, Any]:
    """What a function returned, and what it returned besides; None where that is not asked for.

    Raises:
        RuntimeError: if it should have returned two things.
    """
    if not has_aux:
        return result, None
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(
            f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True"
        )
    return result


def need_tensors(values: list[Any], error: Callable[[Any], str]) -> None:
    """Refuse results that are not tensors.

    Raises:
        RuntimeError: with what ``error`` says of the first.
    """
    for value in values:
        if not isinstance(value, Tensor):
            raise RuntimeError(error(value))


def need_output(output: Any, leaves: list[Any], name: str) -> None:
    """Refuse a function that returns nothing, or no tensors.

    Raises:
        RuntimeError: for such a one.
    """
    if not leaves or leaves == [None]:
        raise RuntimeError(
            f"{name}: Expected f to be a function that has non-empty output (got output = {leaves})"
        )
    need_tensors(
        leaves,
        lambda v: (
            f"{name}: expected f(*primals) to return only tensors, got unsupported type {type(v)}"
        ),
    )


def need_floats(outputs: list[Tensor]) -> None:
    """Refuse results that have no gradient.

    Raises:
        RuntimeError: for one of integers.
    """
    for tensor in outputs:
        if not tensor.is_floating_point():
            raise RuntimeError(
                "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got "
                f"Tensor with dtype {tensor.dtype}"
            )


def need_smooth(values: list[Any]) -> None:
    """Refuse arguments that cannot be changed by a little.

    Raises:
        ValueError: for a tensor of integers.
    """
    for value in values:
        if isinstance(value, Tensor) and not value.is_floating_point():
            raise ValueError(
                f"Expected primal to be floating point or complex, but got: {value.dtype}"
            )
