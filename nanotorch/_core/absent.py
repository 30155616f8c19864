"""Dtypes that nanotorch lacks: programs compare with them, and no tensor has them."""

from typing import NoReturn

from nanotorch._core.dtypes import dtype
from nanotorch.names.lookup import told
from nanotorch.names.scope import why_not


class OutOfScopeError(NotImplementedError, AttributeError):
    """The error for the use of such a dtype, which `hasattr` takes for an absent attribute."""


class AbsentDtype(dtype):
    """A dtype that no tensor has, and whose use is an error."""

    __slots__ = ("is_complex", "is_signed")
    _shown = "torch.dtype"

    def __init__(self, name: str, itemsize: int, kind: str) -> None:
        self.name, self.itemsize = name, itemsize
        self.is_floating_point, self.is_complex = kind == "f", kind == "c"
        self.is_signed = not name.startswith(("uint", "float8_e8m0"))  # type: ignore[misc]
        self.category = 1 if kind == "i" else 2

    @property
    def _numpy(self) -> NoReturn:  # type: ignore[override]
        """What any use asks for.

        Raises:
            NotImplementedError: always.
        """
        raise OutOfScopeError(f"{self!r} is {told(why_not('', self.name) or '')}")

    char = _numpy

    def __reduce__(self) -> str:  # type: ignore[override]
        return self.name


KINDS = {
    "f2": "bfloat16",
    "f1": "float4_e2m1fn_x2 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz "
    "float8_e8m0fnu",
    "c4": "complex32 bcomplex32",
    "c8": "complex64",
    "c16": "complex128",
    "i1": "qint8 quint2x4 quint4x2 quint8",
    "i2": "uint16",
    "i4": "qint32 uint32",
    "i8": "uint64",
}
LACKING = {
    name: AbsentDtype(name, int(kind[1:]), kind[0])
    for kind, names in KINDS.items()
    for name in names.split()
}
LACKING |= {
    short: LACKING[name]
    for short, name in (("cdouble", "complex128"), ("cfloat", "complex64"), ("chalf", "complex32"))
}
globals().update(LACKING)
__all__ = sorted(LACKING)
