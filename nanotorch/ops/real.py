"""What PyTorch has for complex tensors: a tensor of real numbers is its own real part."""

from typing import Any

from nanotorch._core.arguments import named
from nanotorch._core.op import method, public
from nanotorch._core.tensor import Tensor
from nanotorch.ops.arguments import need_tensors


def itself(name: str) -> None:
    """A method and a function that return the tensor itself."""

    def same(input: Tensor) -> Tensor:
        need_tensors(input)
        return input

    named(same, name).__doc__ = "The tensor itself, whose numbers are real."
    method(same)


for _name in ("conj", "resolve_conj", "resolve_neg"):
    itself(_name)


@public
def real(input: Tensor) -> Tensor:
    """The tensor itself, whose numbers are real."""
    need_tensors(input)
    return input


@public
def imag(input: Tensor) -> Tensor:
    """Always an error: no dtype is complex.

    Raises:
        TypeError: PyTorch's.
    """
    need_tensors(input)
    raise TypeError("imag is not implemented for tensors with non-complex dtypes.")


_properties: dict[str, Any] = {f.__name__: property(f, doc=f.__doc__) for f in (real, imag)}
for _name, _property in _properties.items():
    method(_property, name=_name, public=False)
