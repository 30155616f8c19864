"""`FloatTensor` and its kin: PyTorch's first names for tensors of a dtype."""

from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import integer, kind_of
from nanotorch._core.dtypes import dtype as DType
from nanotorch._core.op import method
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.ops.constructor import sizes_from
from nanotorch.ops.values import array_of, is_sequence


class tensortype(type):  # noqa: N801 - PyTorch's name
    """The type of these types: calling one gives a `Tensor`, and tensors of its dtype are its.

    Attributes:
        dtype: what its tensors have.
    """

    dtype: DType

    def __call__(cls, *given: Any) -> Tensor:
        """A tensor: of sizes, or of one sequence of values; the same tensor, if that is given.

        Raises:
            TypeError: for what is neither, or a tensor of another dtype.
        """
        if len(given) != 1 or isinstance(given[0], dtypes.Size) or integer(given[0]) is not None:
            return wrap(np.empty(sizes_from(given), cls.dtype._numpy))
        data = given[0]
        if isinstance(data, Tensor):
            if data.dtype != cls.dtype:
                raise TypeError(f"expected a tensor of dtype {cls.dtype} (got {data.dtype})")
            return data.detach()
        if isinstance(data, str):
            raise TypeError("new(): invalid data type 'str'")
        if not is_sequence(data):
            raise TypeError(f"new(): data must be a sequence (got {kind_of(data)})")
        return wrap(array_of(data, cls.dtype))

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, Tensor) and value.dtype == cls.dtype

    def __repr__(cls) -> str:
        return f"<class 'torch.{cls.__name__}'>"


TYPES = {
    name: tensortype(name, (), {"dtype": kind, "__module__": "torch"})
    for kind in dtypes.ALL
    for name in [f"{kind.char}Tensor"]
}
globals().update(TYPES)


def dtype_of(kind: Any) -> DType:
    """The dtype of a tensor type, or of its name ``torch.FloatTensor``, or a dtype itself.

    Raises:
        ValueError: for a text that names none.
        TypeError: for anything else.
    """
    if kind is Tensor or kind == "torch.Tensor":
        return dtypes.default.dtype
    if isinstance(kind, str):
        found = TYPES.get(kind.removeprefix("torch."))
        if found is None:
            raise ValueError(f"invalid type: '{kind}'")
        return found.dtype
    if isinstance(kind, tensortype):
        return kind.dtype
    if not isinstance(kind, DType):
        raise TypeError("dtype must be a type, str, or dtype object")
    return kind


@method(public=False)
def new(self: Tensor, *given: Any) -> Tensor:
    """A tensor of this one's dtype, made as its type makes them: `torch.FloatTensor(*given)`.

    Raises:
        TypeError: see there.
    """
    made: Tensor = TYPES[f"{self.dtype.char}Tensor"](*given)
    return made
