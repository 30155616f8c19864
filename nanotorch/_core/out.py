"""`out=`: results written to tensors that the caller provides.

The result is computed as always and then copied, so that the same memory may be among the inputs;
what is saved is the memory that stays in use, not the time.
"""

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import LazySignature, export, missing_args, wrong_type
from nanotorch._core.call_site import count_write, warn
from nanotorch._core.grad_mode import mode
from nanotorch._core.graph import check_memory
from nanotorch._core.layout import is_dense, refuse_overlap, strides_of
from nanotorch._core.meta import MetaArray
from nanotorch._core.tensor import Tensor

Function = Callable[..., Any]

NO_GRADIENTS = (
    "{}(): functions with out=... arguments don't support automatic differentiation, but one of "
    "the arguments requires grad."
)
RESIZED = (
    "An output with one or more elements was resized since it had shape {}, which does not match "
    "the required output shape {}. This behavior is deprecated, and in a future PyTorch release "
    "outputs will not be resized unless they have zero elements. You can explicitly reuse an out "
    "tensor t by resizing it, inplace, to zero elements with t.resize_(0)."
)


CROSSED = "Attempting to copy from device {} to device {}, but cross-device copies are not allowed!"
CONVERTED = "result type {result} can't be cast to the desired output type {out}"


class Out(NamedTuple):
    """How a function treats ``out=``.

    Attributes:
        name: how messages call the function.
        strict: accept the result's dtype only; else any dtype that the result converts to. Several
            results are never converted.
        error: the type of the error.
        dtype: the function has an argument of that name, whose default is then that of ``out``.
        creates: the function makes a tensor from nothing, of the dtype of ``out``.
        fills: ``out`` of as many elements keeps its shape.
        warns: of another shape.
        each: several results are converted, as one is.
        also: names of dtypes that take the result besides its own.
        recorded: whether inputs that require grad are refused.
        early: an ``out`` whose elements share memory is refused in any shape.
        elementwise: the result has the shape to which the inputs are broadcast.
        overlap: which memory of an input is refused: "part" of it, "any" or "no"; several words for
            several inputs, the last for the rest.
        expanded: memory that several elements share is written to all the same.
        drawn: for random numbers: makes a stream that draws in the order of a given array's memory.
        along: only results along a given dimension are written.
    """

    name: str
    strict: bool = False
    error: type[Exception] = RuntimeError
    dtype: bool = False
    creates: bool = False
    fills: bool = False
    warns: bool = True
    each: bool = False
    also: tuple[str, ...] = ()
    recorded: bool = True
    early: bool = False
    elementwise: bool = False
    overlap: str = "no"
    expanded: bool = False
    drawn: Callable[[Any, np.ndarray], Any] | None = None
    along: bool = False

    def fill(self, function: Function, out: Any, args: Sequence[Any], named: dict[str, Any]) -> Any:
        """Call the function and write its results to ``out``, which is returned.

        Raises:
            TypeError: if ``out`` is no tensor, or not as many as there are results.
            RuntimeError: if something requires grad, the result cannot be converted, or an
                element of ``out`` stands for several or for other elements of an input.
        """
        single = isinstance(out, Tensor)
        outs = list(out) if isinstance(out, (tuple, list)) else [out]
        for one in outs:
            if not isinstance(one, Tensor):
                raise wrong_type(out, "Tensor", (self.name, "out", 0))
        if self.along and len(args) < 2 and "dim" not in named:
            raise missing_args(self.name, "dim")
        inputs = tensors_among((*args, *named.values()))
        before = mode.enabled
        if before and self.recorded:
            for one in (*inputs, *outs):
                if one.requires_grad:
                    raise RuntimeError(NO_GRADIENTS.format(self.name))
        if named.get("dtype") is not None:
            self.check_asked(named["dtype"], outs[0].dtype)
        elif self.dtype:
            named["dtype"] = outs[0].dtype
        if self.drawn and not outs[0]._array.flags.c_contiguous:
            named["generator"] = self.drawn(named.get("generator"), outs[0]._array)
        if before:
            mode.enabled = False
        try:
            results = function(*args, **named)
        finally:
            mode.enabled = before
        if isinstance(results, Tensor) is not single:
            wanted = "tuple of Tensors" if single else "Tensor"
            raise wrong_type(out, wanted, (self.name, "out", 0))
        if single:
            self.check(out, results._array, inputs, single)
            self.write(out, results._array, inputs)
        else:
            if len(results) != len(outs):
                raise TypeError(f"expected tuple of {len(results)} elements but got {len(outs)}")
            for one, result in zip(outs, results, strict=True):
                self.check(one, result._array, inputs, single)
            for one, result in zip(outs, results, strict=True):
                self.write(one, result._array, inputs)
        asked = bool(named.get("requires_grad"))
        if self.creates and (asked or out.is_leaf):
            out._set_requires_grad(asked)
        return out if single else results._given(outs)

    def check_asked(self, asked: dtypes.dtype, given: dtypes.dtype) -> None:
        """Refuse a ``dtype`` that differs from that of ``out``."""
        if asked is given:
            return
        if self.creates:
            raise RuntimeError(
                f"dtype {asked.char} does not match dtype of out parameter ({given.char})"
            )
        raise RuntimeError(dtype_refusal(asked, given))

    def check(
        self, out: Tensor, result: np.ndarray, inputs: Iterable[Tensor], single: bool
    ) -> None:
        """Refuse an ``out`` that cannot take the result.

        Args:
            single: whether it is the only result.
        """
        places = ["meta" if isinstance(a, MetaArray) else "cpu" for a in (result, out._array)]
        if places[0] != places[1]:
            raise RuntimeError(CROSSED.format(*places))
        wanted, given = dtypes.dtype_of(result), out.dtype
        if wanted is not given and given.name not in self.also:
            if self.strict or not (single or self.each):
                raise self.error(dtype_refusal(wanted, given))
            if not dtypes.can_cast(wanted, given):
                raise self.error(CONVERTED.format(result=wanted.char, out=given.char))
        if self.early:
            check_memory(out)
        if self.elementwise:
            shape = out._array.shape
            if shape != result.shape and any(t is out for t in inputs):
                raise RuntimeError(
                    f"output with shape {list(shape)} doesn't match the broadcast shape "
                    f"{list(result.shape)}"
                )
            self.check_memory(out, inputs)  # as it lies before it is given the right shape

    def check_memory(self, out: Tensor, inputs: Iterable[Tensor]) -> None:
        """Refuse an ``out`` whose elements share memory, or that overlaps an input."""
        check_memory(out, "" if self.expanded else None)
        for place, t in enumerate(inputs):
            if t._cell is out._cell:
                words = self.overlap.split()
                how = words[min(place, len(words) - 1)]
                if how != "no":
                    refuse_overlap(out, t, same_too=how == "any")

    def write(self, out: Tensor, result: np.ndarray, inputs: Iterable[Tensor]) -> None:
        """Write one result."""
        if self.fills and out._array.size == result.size:
            result = result.reshape(out._array.shape)
        if out._array.shape != result.shape:
            if out._array.size and self.warns:
                warn(RESIZED.format(list(out._array.shape), list(result.shape)))
            version = out._cell[0]
            out._give_shape(result.shape, strides_of(result) if is_dense(result) else None)
            out._cell[0] = version  # it is all one write
        if not self.elementwise:
            self.check_memory(out, inputs)
        out._array[...] = result
        count_write(out._cell, self.name)


def dtype_refusal(wanted: dtypes.dtype, given: dtypes.dtype) -> str:
    """The error text for an ``out`` of another dtype than the result's."""
    names = dtypes.C_NAMES[wanted.name], dtypes.C_NAMES[given.name]
    return "Expected out tensor to have dtype {}, but got {} instead".format(*names)


def tensors_among(values: Iterable[Any]) -> list[Tensor]:
    """The tensors among arguments, in sequences too."""
    found = []
    for value in values:
        if isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, (tuple, list)):
            found += tensors_among(value)
    return found


def with_out(home: str, name: str, function: Function, rule: Out, **options: bool) -> Function:
    """The function with the further argument ``out``; see `export`."""
    accepting = export(home, name, function, rule, **options)
    make = partial(parameters_with_out, function)
    accepting.__signature__ = LazySignature(make)  # type: ignore[attr-defined]
    return accepting


def parameters_with_out(function: Function) -> list[inspect.Parameter]:
    """The parameters of a function with the further argument ``out``."""
    own = list(inspect.signature(function).parameters.values())
    if all(parameter.name != "out" for parameter in own):
        last = len(own) - bool(own and own[-1].kind is own[-1].VAR_KEYWORD)
        own.insert(last, inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None))
    return own
