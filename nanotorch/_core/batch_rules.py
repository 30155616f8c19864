"""How an operation is done for all samples of a batch at once; see `batched`.

A rule gets a `Call` and does the operation on tensors whose first dimension counts the samples,
by calling its function again or others. Which rule an operation has follows from its declaration
where that says enough, else the declaration names it as ``batch``:

    elementwise    numbers of dimensions are brought in line            most with ``cast``
    dimensions     static arguments that count dimensions are shifted   `dim`, `dims`, `shape`
    leading        any dimensions may stand before those it works on    `linalg`
    merged         the samples join the dimension that comes first      convolution, pooling
    one_by_one     a loop over the samples                              whatever else there is
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import METHOD
from nanotorch._core.batched import Batch, Batched, NoValues, batched, innermost, whole_of
from nanotorch._core.tensor import Tensor

if TYPE_CHECKING:
    from nanotorch._core.op import Op

Rule = Callable[["Call"], Any]

COUNT_DIMS = ("dim", "dims", "dim0", "dim1", "dim2", "dimension")
ARE_SIZES = ("shape", "size")
IN_PLACE = (
    "vmap: {0}(self, *extra_args) is not possible because there exists a Tensor `other` in "
    "extra_args that has more elements than `self`. This happened due to `other` being vmapped "
    "over but `self` not being vmapped over {1}. Please try to use out-of-place operators instead "
    "of {0}. If said operator is being called inside the PyTorch framework, please file a bug "
    "report instead."
)
# By what PyTorch's errors know operations in place; others go by their own names.
ARITHMETIC = (
    "add", "sub", "mul", "div", "copied_into", "logical_and", "logical_or", "logical_xor",
    "mask_by_number_in_place", "mask_by_tensor_in_place",
)  # fmt: skip
WITH_RULES = ("fill", "index_add", "index_fill", "index_put", "scatter_add")


class Call:
    """An operation that is to be done for all samples of a batch.

    Attributes:
        op: the operation.
        inplace: whether its in-place form was called.
        args: the arguments by name, as they were given.
        batch: the innermost of the batches that tensors among them are samples of.
    """

    __slots__ = ("args", "batch", "inplace", "op")

    def __init__(self, op: "Op", inplace: bool, args: dict[str, Any], batch: Batch) -> None:
        self.op, self.inplace, self.args, self.batch = op, inplace, args, batch

    def is_batched(self, name: str) -> bool:
        """Whether an argument differs between the samples."""
        return self.differs(self.args[name])

    def differs(self, value: Any) -> bool:
        return isinstance(value, Batched) and value._batch is self.batch

    def whole(self, name: str) -> Any:
        """A tensor of all samples; what is the same for all is left as it is."""
        value = self.args[name]
        return value._whole if self.differs(value) else value

    def repeated(self, name: str) -> Any:
        """A tensor of all samples, also where it is the same for all."""
        value = self.args[name]
        return whole_of(value, self.batch) if isinstance(value, Tensor) else value

    def ndim(self, name: str) -> int:
        """How many dimensions a sample has; a number has none."""
        value = self.args[name]
        return value._array.ndim if isinstance(value, Tensor) else 0

    def tensors(self) -> list[str]:
        """The names of the inputs that were given a tensor."""
        return [n for n in self.op.inputs if isinstance(self.args[n], Tensor)]

    def again(self, **changed: Any) -> Any:
        """What the same function makes of the arguments, some of them changed."""
        o, args = self.op, {**self.args, **changed}
        function = o.functions[f"{METHOD}{o.name}_"] if self.inplace else o.functions[o.name]
        by_name = {n: args.pop(n) for n, a in o.arguments.items() if a.keyword_only}
        return function(*args.values(), **by_name)


def in_batch(o: "Op", inplace: bool, *values: Any) -> Any:
    """Do an operation of which some tensors have no values; its functions call this then.

    Args:
        values: all its arguments, in the order of the kernel's parameters.
    """
    args = dict(zip(o.arguments, values, strict=True))
    inputs = args[o.variadic] if o.variadic else [args[n] for n in o.inputs]
    batch = innermost([*inputs, *[t for n in o.statics for t in getattr(args[n], "tensors", ())]])
    if batch is None:  # a kernel called it for the shadow that it was given itself
        raise NoValues
    call = Call(o, inplace, args, batch)
    if inplace and not call.is_batched(o.inputs[0]):
        raise cannot_hold(o, batch)
    rule: Rule = o.batch or derived(o)
    result = rule(call)
    if inplace:
        return args[o.inputs[0]]
    if isinstance(result, tuple):
        return tuple([batched(r, batch) for r in result])
    return batched(result, batch)


def cannot_hold(o: "Op", batch: Batch) -> RuntimeError:
    """The error for an operation that would write different values for the samples to one place."""
    if o.name in ARITHMETIC:
        return RuntimeError(IN_PLACE.format("inplace arithmetic", "in a vmap"))
    name = f"{o.known_as}_"
    if o.known_as in WITH_RULES:
        return RuntimeError(IN_PLACE.format(name, "in a vmap"))
    return RuntimeError(IN_PLACE.format(f"aten::{name}", f"at level {batch.depth}"))


def derived(o: "Op") -> Rule:
    """The rule that follows from a declaration."""
    named = set(o.statics)
    single = len(o.inputs) == 1 and not o.variadic
    if single and (named & set(COUNT_DIMS) or (o.view and named & set(ARE_SIZES))):
        return dimensions
    if o.variadic or named & {*COUNT_DIMS, *ARE_SIZES, "reduction"}:
        return one_by_one
    return elementwise if o.cast or (single and o.inplace) else one_by_one


# Rules


def in_line(whole: Tensor, own: int, ndim: int) -> Tensor:
    """A tensor of samples with ``own`` dimensions, broadcast as if they had ``ndim``."""
    if own == ndim:
        return whole
    shape = whole.shape
    return whole.view(shape[0], *(1,) * (ndim - own), *shape[1:])


def elementwise(call: Call) -> Any:
    """The inputs broadcast together: to as many dimensions as the sample with the most has."""
    names = call.tensors()
    ndim = max([call.ndim(n) for n in names])
    # Kernels that do not convert need not broadcast either: what is the same for all is repeated.
    used = [n for n in names if call.is_batched(n)] if call.op.cast else names
    changed = {n: in_line(call.repeated(n), call.ndim(n), ndim) for n in used}
    if len(names) > 1 and call.op.cast:
        held = [call.args[n]._array for n in names]
        if any(a.ndim == 0 for a in held) and len({a.dtype for a in held}) > 1:
            # A sample without dimensions is weak among the dtypes, its whole would not be.
            kind = dtypes.result_type([np.empty((0,) * a.ndim, a.dtype) for a in held])
            first = call.op.inputs[0] if call.inplace else None
            changed = {n: t if n == first else t.to(kind) for n, t in changed.items()}
    return call.again(**changed)


def dimensions(call: Call) -> Any:
    """Static arguments that count dimensions, or are sizes of all of them, get one more."""
    return with_dimensions(call, 0)


def new_dimension(call: Call) -> Any:
    """As `dimensions`, for results with one dimension more, which are the ones counted."""
    return with_dimensions(call, 1)


def with_dimensions(call: Call, added: int) -> Any:
    """Do an operation with its dimensions shifted.

    Args:
        added: how many dimensions the result has more than the samples. Of an adjoint, which is
            given the shape of its result, the dimensions of that are counted.
    """
    names = call.tensors()
    shape = call.args.get("shape")
    own = call.ndim(names[0]) if shape is None else len(shape)
    wholes = {n: call.repeated(n) for n in names}
    flat = not own and not added  # then there is one dimension, of size one
    if flat:
        wholes = {n: t.unsqueeze(-1) for n, t in wholes.items()}
    size = call.batch.size
    changed: dict[str, Any] = {}
    for name in call.op.statics:
        value = call.args[name]
        if name in COUNT_DIMS and value is not None:
            several, count = isinstance(value, (tuple, list)), own + added
            changed[name] = (
                tuple([shifted(d, count) for d in value]) if several else shifted(value, count)
            )
            if several and not own and not value:
                changed[name] = (1,)
        elif name in ARE_SIZES and isinstance(value, tuple):
            changed[name] = (size, *value) if value or name == "size" else (size, 1)
    result = call.again(**wholes, **changed)
    if flat and "size" not in changed:
        parts = result if isinstance(result, tuple) else (result,)
        parts = tuple([part.reshape(size) for part in parts])
        return parts if isinstance(result, tuple) else parts[0]
    return result


def shifted(dim: int, ndim: int) -> int:
    """A dimension of a sample as one of all samples.

    Raises:
        IndexError: if the sample has none such.
    """
    count = ndim or 1
    if not -count <= dim < count:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-count}, {count - 1}], "
            f"but got {dim})"
        )
    return dim % count + 1


def joined(call: Call) -> Any:
    """Several tensors and a dimension to join them along."""
    o = call.op
    assert o.variadic is not None
    given = call.args[o.variadic]
    if len({t.ndim for t in given}) > 1:  # `cat` takes no notice of empty vectors
        given = [t for t in given if tuple(t.shape) != (0,)]
    ndim = given[0].ndim + (o.name == "stack_along")
    wholes = [whole_of(t, call.batch) for t in given]
    return call.again(**{o.variadic: wholes, "dim": shifted(call.args["dim"], ndim)})


def leading(call: Call) -> Any:
    """Operations that work on the last dimensions, whatever stands before them."""
    return call.again(**{n: call.repeated(n) for n in call.tensors()})


def matrices(call: Call) -> Any:
    """As `leading`, for matrices of several inputs whose further dimensions broadcast."""
    names = call.tensors()
    ndim = max([call.ndim(n) for n in names])
    return call.again(**{n: in_line(call.repeated(n), call.ndim(n), ndim) for n in names})


def merged(call: Call) -> Any:
    """Operations that take what their first dimension counts one by one: the samples as well."""
    wholes = {n: call.repeated(n) for n in call.tensors()}
    size = call.batch.size
    changed: dict[str, Any] = {n: t.flatten(0, 1) for n, t in wholes.items()}
    if "shape" in call.args:
        count, *rest = call.args["shape"]
        changed["shape"] = (size * count, *rest)
    result = call.again(**changed)
    if isinstance(result, tuple):
        return tuple([apart(r, size) for r in result])
    return apart(result, size)


def apart(whole: Tensor, size: int) -> Tensor:
    """The samples in a dimension of their own again."""
    return whole.unflatten(0, (size, whole.shape[0] // (size or 1)))


def per_sample(call: Call) -> Any:
    """Elementwise losses: of each sample by itself the mean or the sum."""
    how = call.args["reduction"]
    losses = elementwise(Call(call.op, False, {**call.args, "reduction": "none"}, call.batch))
    if how == "none":
        return losses
    rows = in_rows(losses)
    return rows.sum(1) if how == "sum" else rows.mean(1)


def in_rows(whole: Tensor) -> Tensor:
    """All elements of each sample in one dimension."""
    return whole.reshape(whole.shape[0], math.prod(whole.shape[1:]))


def one_by_one(call: Call) -> Any:
    """A loop over the samples."""
    o, size = call.op, call.batch.size
    names = [n for n in o.inputs if n != o.variadic and call.is_batched(n)]
    # What has another form does not write to each sample, lest the others' saved values be lost.
    collect = not call.inplace or o.public
    each = Call(o, call.inplace and not o.public, call.args, call.batch)
    results = []
    for k in range(size or 1):
        changed: dict[str, Any] = {n: sample(call.whole(n), k) for n in names}

        if call.inplace and collect:  # it will be written to
            changed[o.inputs[0]] = changed[o.inputs[0]].clone()

        def one(t: Tensor, k: int = k) -> Tensor:
            return sample(t._whole, k) if call.differs(t) else t

        for name in o.statics:  # an index
            if hasattr(call.args[name], "replaced"):
                changed[name] = call.args[name].replaced(one)
        if o.variadic:
            changed[o.variadic] = [one(t) for t in call.args[o.variadic]]
        results.append(each.again(**changed))
    if not collect:
        return None
    if call.inplace:
        return call.whole(o.inputs[0]).copy_(stacked(results, size))
    if isinstance(results[0], tuple):
        return tuple([stacked(column, size) for column in zip(*results, strict=True)])
    return stacked(results, size)


def sample(whole: Tensor, number: int) -> Tensor:
    """One sample; zeros where there is none."""
    if not whole.shape[0]:
        return whole.new_zeros(whole.shape[1:])
    return whole.select(0, number)


def stacked(samples: Any, size: int) -> Tensor:
    """The tensor of all samples; without any, an empty one of what a sample would be like.

    Raises:
        RuntimeError: if their shapes differ.
    """
    whole: Tensor = samples[0]._stacked_with(samples[1:])
    return whole if size else whole.narrow(0, 0, 0)
