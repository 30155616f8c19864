"""What is read off the code of kernels and formulas."""

from collections.abc import Mapping
from inspect import Parameter, Signature
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

EMPTY: Any = Parameter.empty


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


class Argument(NamedTuple):
    """One argument of a kernel."""

    annotation: Any
    default: Any  # EMPTY if it has none
    keyword_only: bool


NO_ARGUMENTS: Mapping[str, Argument] = {}


def arguments_of(kernel: Any) -> dict[str, Argument]:
    """The arguments of a kernel, by name."""
    code, annotations = kernel.__code__, kernel.__annotations__
    count, total = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
    names, by_name = code.co_varnames[:total], kernel.__kwdefaults__ or {}
    by_place = kernel.__defaults__ or ()
    defaults = dict(zip(names[count - len(by_place) : count], by_place, strict=True)) | by_name
    return {
        name: Argument(annotations.get(name, EMPTY), defaults.get(name, EMPTY), place >= count)
        for place, name in enumerate(names)
    }


class LazySignature(Signature):
    """The signature of an operation, put together when it is asked for.

    Args:
        kernel: what has it.
        further: arguments beside those of the kernel.
    """

    __slots__ = ("further", "kernel")
    _return_annotation = EMPTY

    def __init__(self, kernel: Any, further: Mapping[str, Argument] = NO_ARGUMENTS) -> None:
        self.kernel, self.further = kernel, further

    @property
    def _parameters(self) -> MappingProxyType[str, Parameter]:
        kinds = Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY
        arguments = {**arguments_of(self.kernel), **self.further}
        return MappingProxyType(
            {
                name: Parameter(name, kinds[a.keyword_only], default=a.default)
                for name, a in arguments.items()
            }
        )
