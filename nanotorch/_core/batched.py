"""`vmap`: a tensor stands for one sample of a batch; operations run for all samples at once."""

import inspect
import math
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from types import FunctionType
from typing import Any, NoReturn, TypeVar

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import METHOD
from nanotorch._core.bfloat16 import bfloat16, round_to_bfloat16, widen
from nanotorch._core.grad_mode import REQUIRES_GRAD, mode
from nanotorch._core.graph import Recorded
from nanotorch._core.layout import normal_dim
from nanotorch._core.meta import MetaArray, as_meta, dense
from nanotorch._core.meta import NoValues as NoValues
from nanotorch._core.substitutes import Substitutes
from nanotorch._core.tensor import Tensor

Op = Any  # that of the module `op`, which imports this one

# Tensors that stand for one sample of a batch while a function runs for all samples at once.
#
# Such a tensor holds the tensor of all samples, its first dimension counting them, and has no
# values of its own. In the place of its array stands a `Shadow`, which knows the shape and dtype of
# a sample and nothing else: whoever reaches for the values raises `NoValues`. The functions of
# operations catch that, which costs others nothing, and have a rule, as below, do the
# operation on the tensors of all samples. So operations are recorded there, and gradients are those
# of all samples.


ITEM = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling "
    ".item() on a Tensor, please try to rewrite what you're doing with other operations. If error "
    "is occurring somewhere inside PyTorch internals, please file a bug report."
)
CONTROL_FLOW = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We "
    "don't support that yet, please file an issue at https://github.com/pytorch/pytorch/issues ."
)
DATA = "Cannot access data pointer of Tensor that doesn't have storage"
STORAGE = "Cannot access storage of BatchedTensorImpl"


class Batch:
    """One use of `vmap`.

    Attributes:
        size: the number of samples.
        randomness: "error", "different" or "same".
        depth: how many uses of `vmap` are nested here, this one included.
    """

    __slots__ = ("depth", "randomness", "size")

    def __init__(self, size: int, randomness: str) -> None:
        self.size, self.randomness = size, randomness
        self.depth = len(active.batches) + 1


class _Active(threading.local):
    """Per thread: the uses of `vmap` whose functions run, the outermost first."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []


active = _Active()


@contextmanager
def activate_batch(batch: Batch) -> Iterator[None]:
    """A block in which a function runs on the samples of a batch.

    Raises:
        RuntimeError: where something asks for the values of a sample, which has none.
    """
    active.batches.append(batch)
    mode.transforms += 1
    substitutes.count(1)
    try:
        yield
    except NoValues:
        raise RuntimeError(ITEM) from None
    finally:
        substitutes.count(-1)
        active.batches.pop()
        mode.transforms -= 1


class Shadow:
    """Takes the place of one sample's array: it has a shape and a dtype, and no values."""

    __slots__ = ("whole",)

    def __init__(self, whole: Tensor) -> None:
        self.whole = whole  # the tensor of all samples

    shape = property(lambda self: self.whole._array.shape[1:])
    dtype = property(lambda self: self.whole._array.dtype)
    ndim = property(lambda self: self.whole._array.ndim - 1)
    size = property(lambda self: math.prod(self.shape))
    itemsize = property(lambda self: self.whole._array.itemsize)
    nbytes = property(lambda self: self.size * self.itemsize)
    strides = property(lambda self: self.whole._array.strides[1:])
    flags = property(lambda self: self.whole._array.flags)

    def __len__(self) -> int:
        return self.whole._array.shape[1]

    def __getattr__(self, name: str) -> NoReturn:
        raise NoValues(name)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **named: Any) -> Any:
        # NumPy's reductions never release their operand if this raises.
        if method in ("reduce", "accumulate", "reduceat") and "out" not in named:
            return Unknown(self.whole)
        raise NoValues


def refuse_values(self: Shadow, *args: Any, **kwargs: Any) -> NoReturn:
    """Raise the error for a call that needs values."""
    raise NoValues


NUMBERS = ("bool", "int", "float", "index", "array", "getitem", "setitem", "iter", "contains")
OPERATORS = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "divmod", "pow", "matmul", "and", "or",
    "xor", "lshift", "rshift",
)  # fmt: skip
for _name in (
    *NUMBERS, *OPERATORS, *("r" + n for n in OPERATORS), *("i" + n for n in OPERATORS),
    *("eq", "ne", "lt", "le", "gt", "ge", "neg", "pos", "abs", "invert"),
    "array_function",
):  # fmt: skip
    setattr(Shadow, f"__{_name}__", refuse_values)
Shadow.__hash__ = object.__hash__  # type: ignore[method-assign]


class Unknown(Shadow):
    """The result of a reduction of one sample: not even its shape is known."""

    __slots__ = ()
    shape = dtype = ndim = size = itemsize = nbytes = strides = flags = property(refuse_values)
    __len__ = refuse_values


def refuse_method(text: str, error: type[Exception] = RuntimeError) -> Any:
    """A method that raises ``error``: samples cannot have it."""

    def refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise error(text)

    return refuse


class Batched(Tensor):
    """A tensor of one sample, as the function that `vmap` applies sees it."""

    _whole: Tensor
    _batch: Batch

    # An operation whose kernel has asked for no values learns here, at the latest, that it must.
    _history = _view = _past = property(refuse_values, refuse_values)

    @property
    def _writes(self) -> Any:  # type: ignore[override]
        return self._whole._cell

    @property
    def grad_fn(self) -> Any:
        return self._whole.grad_fn

    @property  # type: ignore[misc]
    def grad(self) -> Any:
        """The gradient of this sample."""
        g = self._whole.grad
        return None if g is None else make_sample(g, self._batch)

    @property
    def requires_grad(self) -> bool:
        return self._whole.requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        raise RuntimeError(REQUIRES_GRAD)

    def detach(self) -> Tensor:
        return make_sample(self._whole.detach(), self._batch)

    @property  # type: ignore[misc]
    def data(self) -> Any:
        return make_sample(self._whole.data, self._batch)

    def register_hook(self, hook: Callable[..., Any]) -> Any:
        def of_all(g: Tensor) -> Any:
            new = hook(make_sample(g, self._batch))
            return None if new is None else batch_tensor(new, self._batch)

        return self._whole.register_hook(of_all)

    item = __float__ = __int__ = __contains__ = refuse_method(ITEM)
    __bool__ = is_nonzero = refuse_method(CONTROL_FLOW)
    tolist = data_ptr = numpy = refuse_method(DATA)
    __deepcopy__ = refuse_method(STORAGE, NotImplementedError)

    def __index__(self) -> NoReturn:
        if self._array.size != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        raise RuntimeError(ITEM)

    def __repr__(self) -> str:
        inner = repr(self._whole).replace("\n", "\n    ")
        return f"BatchedTensor(lvl={self._batch.depth}, bdim=0, value=\n    {inner}\n)"

    def __format__(self, spec: str) -> str:
        if not self._array.ndim:
            raise RuntimeError(ITEM)
        return repr(self)


def make_sample(whole: Tensor, batch: Batch) -> Tensor:
    """One sample, from a tensor whose first dimension counts the samples."""
    out = object.__new__(Batched)
    out._whole, out._batch, out._array = whole, batch, Shadow(whole)  # type: ignore[assignment]
    return out


def replace_sample(sample: Any, other: Any) -> Any:
    """Replace a sample in place by another one, a view of it; returns it."""
    sample._whole, sample._array = other._whole, other._array
    return sample


def batch_tensor(tensor: Tensor, batch: Batch) -> Tensor:
    """The tensor of all samples; a tensor that all share is repeated, without a copy."""
    if isinstance(tensor, Batched):
        if tensor._batch is batch:
            return tensor._whole
        if tensor._batch.depth > batch.depth:  # this batch's dimension lies behind the inner one's
            return make_sample(batch_tensor(tensor._whole, batch).transpose(0, 1), tensor._batch)
    return tensor.expand(batch.size, *tensor.shape)


def is_sample_of(value: Any, batch: Batch) -> bool:
    """Whether a value differs between the samples of the batch."""
    return isinstance(value, Batched) and value._batch is batch


def inner_batch(values: Iterable[Any]) -> Batch | None:
    """The innermost batch that has samples among the values."""
    found = None
    for value in values:
        if isinstance(value, Batched) and (found is None or value._batch.depth > found.depth):
            found = value._batch
    return found


def all_values(tensor: Tensor) -> np.ndarray:
    """The array of a tensor; for a sample, the array of all samples."""
    while isinstance(tensor, Batched):
        tensor = tensor._whole
    return tensor._array


# For transforms that differentiate inside of `vmap`


def unwrap(tensor: Tensor, batches: Sequence[Batch]) -> Tensor:
    """The tensor of all samples of several nested batches; it may be a sample of inner batches.

    Its first dimensions count the samples, the outermost batch first.
    """
    for batch in reversed(batches):
        tensor = batch_tensor(tensor, batch)
    return tensor


def rewrap(whole: Tensor, batches: Sequence[Batch]) -> Tensor:
    """The sample whose tensor of all samples `unwrap` returns: its inverse."""
    for batch in batches:
        whole = sample_of(whole, batch)
    return whole


def sample_of(whole: Tensor, batch: Batch) -> Tensor:
    """One sample of a tensor, which may itself be a sample of an inner batch."""
    if isinstance(whole, Batched) and whole._batch.depth > batch.depth:
        return make_sample(sample_of(whole._whole.transpose(0, 1), batch), whole._batch)
    return make_sample(whole, batch)


# How an operation is done for all samples of a batch at once.
#
# A rule gets a `Call` and does the operation on tensors whose first dimension counts the samples,
# by calling its function again or others. Which rule an operation has follows from its declaration
# where that says enough, else the declaration names it as ``batch``:
#
#     elementwise    numbers of dimensions are brought in line            those that broadcast
#     dimensions     static arguments that count dimensions are shifted   `dim`, `dims`, `shape`
#     leading        any dimensions may stand before those it works on    `linalg`
#     merged         the samples join the dimension that comes first      convolution, pooling
#     one_by_one     a loop over the samples                              whatever else there is


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
    """A call of an operation for all samples of a batch.

    Attributes:
        op: the operation.
        inplace: whether its in-place form was called.
        args: the arguments by name, as the caller gave them.
        batch: the innermost batch that has samples among the arguments.
    """

    __slots__ = ("args", "batch", "inplace", "op")

    def __init__(self, op: Op, inplace: bool, args: dict[str, Any], batch: Batch) -> None:
        self.op, self.inplace, self.args, self.batch = op, inplace, args, batch

    def is_batched(self, name: str) -> bool:
        """Whether an argument differs between the samples."""
        return is_sample_of(self.args[name], self.batch)

    def whole(self, name: str) -> Any:
        """The tensor of all samples; a value that all share stays as it is."""
        value = self.args[name]
        return value._whole if is_sample_of(value, self.batch) else value

    def repeated(self, name: str) -> Any:
        """The tensor of all samples; a tensor that all share is repeated."""
        value = self.args[name]
        return batch_tensor(value, self.batch) if isinstance(value, Tensor) else value

    def ndim(self, name: str) -> int:
        """The number of dimensions of a sample; 0 for a number."""
        value = self.args[name]
        return value._array.ndim if isinstance(value, Tensor) else 0

    def tensors(self) -> list[str]:
        """The names of the inputs that are tensors."""
        return [n for n in self.op.inputs if isinstance(self.args[n], Tensor)]

    def again(self, **changed: Any) -> Any:
        """Call the function again, with some arguments changed."""
        o, args = self.op, {**self.args, **changed}
        function = o.functions[f"{METHOD}{o.name}_"] if self.inplace else o.functions[o.name]
        by_name = {n: args.pop(n) for n, a in o.arguments.items() if a.keyword_only}
        return function(*args.values(), **by_name)


def in_batch(o: Op, inplace: bool, *values: Any) -> Any:
    """Run an operation on tensors without values; its generated functions fall back to this.

    Args:
        values: all its arguments, in the order of the kernel's parameters.
    """
    args = dict(zip(o.arguments, values, strict=True))
    inputs = args[o.variadic] if o.variadic else [args[n] for n in o.inputs]
    batch = inner_batch([*inputs, *[t for n in o.statics for t in getattr(args[n], "tensors", ())]])
    if batch is None:
        for is_asked, operation in subclasses:
            if is_asked(flat_args([args])):
                return operation(o, inplace, args)
        if any(isinstance(getattr(v, "_array", v), MetaArray) for v in flat_args([args])):
            return on_zeros(o, inplace, args)
        return in_single(o, inplace, args)
    call = Call(o, inplace, args, batch)
    if inplace and not call.is_batched(o.inputs[0]):
        name, where = f"{o.known_as}_", "in a vmap"  # all samples share the memory
        if o.name in ARITHMETIC:
            name = "inplace arithmetic"
        elif o.known_as not in WITH_RULES:
            name, where = f"aten::{name}", f"at level {batch.depth}"
        raise RuntimeError(IN_PLACE.format(name, where))
    result = (o.batch or derive_rule(o))(call)
    return args[o.inputs[0]] if inplace else wrap_results(result, batch)


# For subclasses of `Tensor`: whether values are of some, and what does an operation on them then.
subclasses: list[tuple[Callable[[Any], bool], Callable[..., Any]]] = []
SINGLE_OR_OWN = (np.dtype(np.float32), dtypes.BFLOAT16)
OPERANDS = ("input", "other", "exponent")  # what numbers are rounded as


def in_single(o: Op, inplace: bool, args: dict[str, Any]) -> Any:
    """Run an operation on bfloat16 in float32, and round its result.

    The tensors hold float32 arrays meanwhile, so the operation records these tensors themselves.
    """
    given = list(flat_args([args]))
    # Bare arrays among the static arguments may be written to.
    bare = [v for v in given if isinstance(v, np.ndarray) and v.dtype == dtypes.BFLOAT16]
    args = {name: widen(value) for name, value in args.items()}
    tensors = [v for v in given if isinstance(v, Tensor)]
    held = {t: t._array for t in tensors if t._array.dtype == dtypes.BFLOAT16}
    if not held and not bare:
        raise NoValues
    again = Call(o, inplace, args, None).again  # type: ignore[arg-type]
    if not held:  # as formulas call it
        return again()
    operands = [v._array.item() if v._is_number else v._array for v in tensors]
    kinds = [v for v in given if isinstance(v, dtypes.dtype)]  # asked for
    if not kinds and o.cast:
        kinds = [dtypes.result_type(operands)]
    floats = sorted([t for t in tensors if t.is_floating_point()], key=lambda t: not t.ndim)
    kind = [*kinds, *(t.dtype for t in floats)][0]
    changed, others = {}, {}
    if kind is dtypes.bfloat16:
        numbers = [n for n in OPERANDS if isinstance(args.get(n), float)]
        changed = {n: round_to_bfloat16(args[n]).item() for n in numbers}
        exact = args["other"] if o.unrounded else None
        others = {t: t._array for t in floats if o.cast and t not in held and t is not exact}
    # Operations that refuse, or allow, several dtypes see them.
    alike = o.cast or all(v._array.dtype.kind != "f" or v in held for v in tensors)
    try:
        for tensor, array in held.items():
            tensor._array = widen(array) if alike else array.view(np.ndarray)
        for tensor, array in others.items():
            tensor._array = round_to_bfloat16(array).astype(array.dtype)
        out = again(**changed)
    finally:
        for tensor, array in others.items():
            tensor._array = array
        for tensor, array in held.items():
            single, tensor._array = tensor._array, array
            accumulator = tensor._accumulator_ref and tensor._accumulator_ref()
            if accumulator:
                accumulator._outputs = ((array.shape, dtypes.BFLOAT16),)
            if inplace and tensor is args[o.inputs[0]]:
                array[...] = single
    for part in flat_args([out] if isinstance(out, Tensor) else out):
        if not inplace and kind is dtypes.bfloat16 and part._array.dtype in SINGLE_OR_OWN:
            part._array[...] = round_to_bfloat16(part._array)  # which may be saved
            part._array = bfloat16(part._array)
            node = part._history
            if node.__class__ is Recorded and not node.multi:
                node._dtype = dtypes.BFLOAT16
    return out


def zeros_of(value: Any) -> Any:
    """In an index, zeros for a tensor without values; other values as they are."""
    meta = isinstance(value, Tensor) and isinstance(value._array, MetaArray)
    return type(value)._lift(dense(value._array)) if meta else value


def on_zeros(o: Op, inplace: bool, args: dict[str, Any]) -> Any:
    """Run an operation on zeros in place of tensors without values; its results have none."""
    tensors = [v for v in flat_args([args]) if isinstance(v, Tensor)]
    held = {t: t._array for t in tensors if isinstance(t._array, MetaArray)}
    plain = {n: v.replaced(zeros_of) for n, v in args.items() if hasattr(v, "replaced")}
    args = {name: dense(value) for name, value in args.items()} | plain
    written = args[o.inputs[0]] if inplace else None
    try:
        for tensor, array in held.items():
            zeros = np.zeros_like(dense(array)) if tensor is written else dense(array)
            tensor._array = bfloat16(zeros) if array.dtype == dtypes.BFLOAT16 else zeros
        with np.errstate(all="ignore"):
            out = Call(o, inplace, args, None).again()  # type: ignore[arg-type]
    finally:
        for tensor, array in held.items():
            now, tensor._array = tensor._array, array
            if tensor is written and now.shape != array.shape:
                tensor._array = as_meta(now)
    parts = list(flat_args([out]))
    for part in parts:
        if isinstance(part, Tensor) and not isinstance(part._array, MetaArray):
            part._array = as_meta(part._array)
    return out if isinstance(parts[0], Tensor) else as_meta(out)  # bare, as formulas call it


def derive_rule(o: Op) -> Rule:
    """The rule of an operation, derived from its declaration."""
    named = set(o.statics)
    single = len(o.inputs) == 1 and not o.variadic
    if single and (named & set(COUNT_DIMS) or (o.view and named & set(ARE_SIZES))):
        return dimensions
    if o.variadic or named & {*COUNT_DIMS, *ARE_SIZES, "reduction"}:
        return one_by_one
    return elementwise if o.cast or (single and o.inplace) else one_by_one


# Rules of operations


def align_dims(whole: Tensor, own: int, ndim: int) -> Tensor:
    """Add dimensions of size 1 to samples with ``own`` dimensions, so that they have ``ndim``."""
    if own == ndim:
        return whole
    shape = whole.shape
    return whole.view(shape[0], *(1,) * (ndim - own), *shape[1:])


def elementwise(call: Call) -> Any:
    """The rule of operations that broadcast their inputs, or the dimensions before their matrices.

    All samples get as many dimensions as the one with the most."""
    names = call.tensors()
    ndim = max([call.ndim(n) for n in names])
    # Kernels that do not convert need not broadcast either: what is the same for all is repeated.
    used = [n for n in names if call.is_batched(n)] if call.op.cast else names
    changed = {n: align_dims(call.repeated(n), call.ndim(n), ndim) for n in used}
    if len(names) > 1 and call.op.cast:
        held = [call.args[n]._array for n in names]
        if any(a.ndim == 0 for a in held) and len({a.dtype for a in held}) > 1:
            # A sample without dimensions is weak among the dtypes, its whole would not be.
            kind = dtypes.result_type([np.empty((0,) * a.ndim, a.dtype) for a in held])
            first = call.op.inputs[0] if call.inplace else None
            changed = {n: t if n == first else t.to(kind) for n, t in changed.items()}
    return call.again(**changed)


def dimensions(call: Call, added: int = 0) -> Any:
    """Adapt static arguments to one more dimension: positions of dimensions, and whole shapes.

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
            changed[name] = shift_dim(value, own + added)
            if changed[name] == () and not own:
                changed[name] = (1,)
        elif name in ARE_SIZES and isinstance(value, tuple):
            changed[name] = (size, *value) if value or name == "size" else (size, 1)
    result = call.again(**wholes, **changed)
    if flat and "size" not in changed:
        return map_args(result, lambda part: part.reshape(size))
    return result


# For results with one dimension more, which are the ones counted.
new_dimension = partial(dimensions, added=1)


def shift_dim(dim: Any, ndim: int) -> Any:
    """Dimensions of a sample, counted in the tensor of all samples."""
    if isinstance(dim, (tuple, list)):
        return tuple([shift_dim(d, ndim) for d in dim])
    return normal_dim(dim, ndim) + 1


def joined(call: Call) -> Any:
    """The rule of operations that join several tensors along a dimension."""
    o = call.op
    assert o.variadic is not None
    given = call.args[o.variadic]
    if len({t.ndim for t in given}) > 1:  # `cat` takes no notice of empty vectors
        given = [t for t in given if tuple(t.shape) != (0,)]
    ndim = given[0].ndim + (o.name == "stack_along")
    wholes = [batch_tensor(t, call.batch) for t in given]
    return call.again(**{o.variadic: wholes, "dim": shift_dim(call.args["dim"], ndim)})


def leading(call: Call) -> Any:
    """The rule of operations on the last dimensions: they take any dimensions before these."""
    return call.again(**{n: call.repeated(n) for n in call.tensors()})


def merged(call: Call) -> Any:
    """The rule of operations on each entry of the first dimension: the samples join it."""
    wholes = {n: call.repeated(n) for n in call.tensors()}
    size = call.batch.size
    changed: dict[str, Any] = {n: t.flatten(0, 1) for n, t in wholes.items()}
    if "shape" in call.args:
        count, *rest = call.args["shape"]
        changed["shape"] = (size * count, *rest)
    return map_args(call.again(**changed), lambda whole: split_samples(whole, size))


def split_samples(whole: Tensor, size: int) -> Tensor:
    """Undo `merged`: give the samples a dimension of their own again."""
    return whole.unflatten(0, (size, whole.shape[0] // (size or 1)))


def per_sample(call: Call) -> Any:
    """The rule of elementwise losses: each sample has a mean or a sum of its own."""
    how = call.args["reduction"]
    losses = elementwise(Call(call.op, False, {**call.args, "reduction": "none"}, call.batch))
    return losses if how == "none" else getattr(flat_samples(losses), how)(1)


def flat_samples(whole: Tensor) -> Tensor:
    """Flatten each sample to one dimension."""
    return whole.reshape(whole.shape[0], math.prod(whole.shape[1:]))


def one_by_one(call: Call) -> Any:
    """The rule that loops over the samples."""
    o, first = call.op, call.op.inputs[0]
    # An operation with another form takes that one: a write to a sample spoils what others saved.
    collect = not call.inplace or o.public
    each = Call(o, call.inplace and not o.public, call.args, call.batch)

    def one(args: dict[str, Any]) -> Any:
        if call.inplace and collect:  # it will be written to
            args[first] = args[first].clone()
        return each.again(**args)

    varying = {n: v for n, v in call.args.items() if n in o.inputs or hasattr(v, "replaced")}
    results = loop_over_samples(one, varying, call.batch)
    if not collect:
        return None
    whole = stacked(results, call.batch.size)
    return call.whole(first).copy_(whole) if call.inplace else whole


def loop_over_samples(function: Any, given: Any, batch: Batch, copy: bool = False) -> list[Any]:
    """Call a function for one sample after the other, and stack the results.

    Args:
        copy: whether to copy each sample to memory of its own.
    """

    def one(value: Any, number: int) -> Any:
        part = take_sample(value, batch, number)
        return part.clone() if copy and part is not value else part

    numbers = range(batch.size or 1)
    return [function(map_args(given, partial(one, number=k))) for k in numbers]


def take_sample(value: Any, batch: Batch, number: int) -> Any:
    """One sample of a value, or zeros if there are no samples; a shared value as it is."""
    if not is_sample_of(value, batch):
        return value
    whole = value._whole
    return whole.select(0, number) if len(whole) else whole.new_zeros(whole.shape[1:])


def stacked(samples: Any, size: int) -> Any:
    """Stack samples to one tensor; without samples, an empty tensor of a sample's shape."""
    first = samples[0]
    if isinstance(first, tuple):
        return type(first)([stacked(column, size) for column in zip(*samples, strict=True)])
    if not isinstance(first, Tensor):
        raise RuntimeError(CONTROL_FLOW)
    whole = first._stacked_with(samples[1:])
    return whole if size else whole.narrow(0, 0, 0)


def wrap_results(result: Any, batch: Batch) -> Any:
    """Turn a result for all samples, or several results, into the result of one sample."""
    return map_args(result, lambda v: make_sample(v, batch) if isinstance(v, Tensor) else v)


def flat_args(tree: Any) -> Iterator[Any]:
    """The arguments, sequences flattened."""
    for value in tree.values() if isinstance(tree, dict) else tree:
        if isinstance(value, (tuple, list, dict)):
            yield from flat_args(value)
        else:
            yield value


def map_args(tree: Any, change: Callable[[Any], Any]) -> Any:
    """Apply ``change`` to every argument, in nested sequences too, and in an index."""
    if isinstance(tree, dict):
        return {name: map_args(value, change) for name, value in tree.items()}
    if isinstance(tree, (tuple, list)):
        return type(tree)([map_args(value, change) for value in tree])
    return tree.replaced(change) if hasattr(tree, "replaced") else change(tree)


# Functions that are no operations and yet look at values, while `vmap` runs.
#
# They are made of operations and of NumPy, which has nothing to look at where a tensor is a sample.
# So while a function runs under `vmap`, they have the code of `code_under_vmap`, which applies
# their rule. At all other times they have their own code: a test at the beginning of each would
# cost a tenth of `reshape`.


F = TypeVar("F", bound=Callable[..., Any])
# Does what a function does for one sample, for all: (function, batch, arguments, named ones).
FunctionRule = Callable[[Any, Batch, tuple[Any, ...], dict[str, Any]], Any]

DYNAMIC = (
    "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap "
    "over aten::{}. Please file an issue at https://github.com/pytorch/pytorch/issues if you need "
    "this feature."
)
NO_RULE = "Batching rule not implemented for aten::{}. We could not generate a fallback."


def code_under_vmap(*args: Any, under_vmap: Any, **kwargs: Any) -> Any:
    """The code that replaces a function's own while `vmap` runs; it uses the function's globals."""
    return under_vmap(args, kwargs)


def function_in_batch(
    function: Any, rule: FunctionRule, random: bool, args: Any, kwargs: Any
) -> Any:
    """Apply a function's rule if an argument is a sample; else call the function."""
    batch = (
        active.batches[-1] if random and active.batches else inner_batch(flat_args((args, kwargs)))
    )
    if batch is None:
        return function(*args, **kwargs)
    return rule(function, batch, args, kwargs)


def under_vmap(rule: FunctionRule, *, random: bool = False) -> Callable[[F], F]:
    """Give a function a rule for samples, if it cannot treat them like other tensors.

    Args:
        random: whether the rule also applies if no argument is a sample.
    """

    def register(function: Any) -> Any:
        plain = FunctionType(
            function.__code__, function.__globals__, function.__name__, function.__defaults__
        )
        plain.__kwdefaults__ = function.__kwdefaults__
        substitutes.add(function, partial(function_in_batch, plain, rule, random))
        return function

    return register


def share_rule(copy: F) -> F:
    """Give a copy of a function the function's rule."""
    rule = (getattr(copy, "__kwdefaults__", None) or {}).get("under_vmap")
    if rule is not None:
        substitutes.add(copy, rule)
    return copy


substitutes = Substitutes("under_vmap", code_under_vmap)


# Rules of functions


def looped(function: Any, batch: Batch, args: Any, kwargs: Any) -> Any:
    """A rule: call the function on samples; if it needs values, loop over the samples."""
    try:
        return function(*args, **kwargs)
    except NoValues:
        return separately(function, batch, args, kwargs, copy=False)


def separately(
    function: Any, batch: Batch, args: Any, kwargs: Any, copy: bool = True,
    rule: FunctionRule = looped,
) -> Any:  # fmt: skip
    """A rule: loop over the samples, each copied to memory of its own."""

    def one(given: Any) -> Any:  # there may be other batches
        return function_in_batch(function, rule, False, *given)

    found = loop_over_samples(one, (args, kwargs), batch, copy)
    return wrap_results(stacked(found, batch.size), batch)


def for_each(function: Any, batch: Batch, args: Any, kwargs: Any) -> Any:
    """A rule for functions that make a tensor from shapes alone: one for each sample."""
    given = map_args((args, kwargs), lambda value: take_sample(value, batch, 0))
    made = function_in_batch(function, for_each, False, *given).detach()
    return make_sample(made.expand(batch.size, *made.shape).clone(), batch)


def in_place(function: Any, batch: Batch, args: Any, kwargs: Any) -> Any:
    """A rule for functions that write to their first tensor and return it."""
    tensor = next(value for value in args if isinstance(value, Tensor))
    if not is_sample_of(tensor, batch):
        raise RuntimeError(IN_PLACE.format("inplace arithmetic", "in a vmap"))
    separately(function, batch, args, kwargs, copy=False)
    return tensor


def wholes(function: Any, batch: Batch, args: Any, kwargs: Any) -> Any:
    """A rule for functions that accept further leading dimensions: one call for all samples."""

    def whole(value: Any) -> Any:
        return batch_tensor(value, batch) if isinstance(value, Tensor) else value

    given = map_args((args, kwargs), whole)
    return wrap_results(function_in_batch(function, wholes, False, *given), batch)


def along(function: Any, batch: Batch, args: Any, kwargs: Any) -> Any:
    """A rule for functions of a tensor and ``dim``, where None means all dimensions."""
    bound = inspect.signature(function).bind(*args, **kwargs)
    bound.apply_defaults()
    given = bound.arguments
    (first, tensor), dim = next(iter(given.items())), given["dim"]
    whole, own = tensor._whole, tensor.ndim
    if not own:
        whole = whole.unsqueeze(-1)
    if dim is None:
        whole, dim = whole.flatten(1), 0
    given[first] = whole
    given["dim"] = shift_dim(dim, own)
    result = function_in_batch(function, along, False, bound.args, bound.kwargs)
    if given["dim"] == 1 and bound.arguments.get("keepdim") and whole.ndim == 2:
        result = result.view(batch.size, *(1,) * own)
    elif not own:
        result = result.view(batch.size)
    return make_sample(result, batch)


def never(text: str) -> FunctionRule:
    """A rule for functions that samples cannot have: it raises an error."""

    def rule(function: Any, batch: Batch, args: Any, kwargs: Any) -> Any:
        raise RuntimeError(text)

    return rule
