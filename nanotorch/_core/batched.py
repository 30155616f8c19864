"""Tensors that stand for one sample of a batch while a function runs for all samples at once.

Such a tensor holds the tensor of all samples, its first dimension counting them, and has no values
of its own. In the place of its array stands a `Shadow`, which knows the shape and dtype of a sample
and nothing else: whoever reaches for the values raises `NoValues`. The functions of operations
catch that, which costs others nothing, and have a rule of `batch_rules` do the operation on the
tensors of all samples. So operations are recorded there, and gradients are those of all samples.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np

from nanotorch._core.grad_mode import mode
from nanotorch._core.tensor import Tensor
from nanotorch._core.transforms import REQUIRES_GRAD

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


class NoValues(Exception):  # noqa: N818 - no error where an operation catches it
    """The values of one sample were asked for, and there are those of all samples."""


class Batch:
    """One use of `vmap`.

    Attributes:
        size: the number of samples.
        randomness: "error", "different" or "same".
        depth: how many other uses it is inside of, and itself.
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
def running(batch: Batch) -> Iterator[None]:
    """A block in which a function runs for the samples of a batch.

    Raises:
        RuntimeError: where something asks for the values of a sample that can have none.
    """
    active.batches.append(batch)
    mode.transforms += 1
    try:
        yield
    except NoValues:
        raise RuntimeError(ITEM) from None
    finally:
        active.batches.pop()
        mode.transforms -= 1


class Shadow:
    """What stands for the array of one sample: its shape and dtype, and no values."""

    __slots__ = ("whole",)

    def __init__(self, whole: Tensor) -> None:
        self.whole = whole  # the tensor of all samples

    @property
    def shape(self) -> tuple[int, ...]:
        return self.whole._array.shape[1:]

    @property
    def dtype(self) -> np.dtype:
        return self.whole._array.dtype

    @property
    def ndim(self) -> int:
        return self.whole._array.ndim - 1

    @property
    def size(self) -> int:
        count = 1
        for n in self.shape:
            count *= n
        return count

    @property
    def itemsize(self) -> int:
        return self.whole._array.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        return self.whole._array.strides[1:]

    @property
    def flags(self) -> Any:
        return self.whole._array.flags

    def __len__(self) -> int:
        return self.whole._array.shape[1]

    def __getattr__(self, name: str) -> NoReturn:
        raise NoValues(name)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **named: Any) -> Any:
        # NumPy's reductions never release their operand if this raises.
        if method in ("reduce", "accumulate", "reduceat") and "out" not in named:
            return Unknown(self.whole)
        raise NoValues


def no_values(self: Shadow, *args: Any, **kwargs: Any) -> NoReturn:
    """Refuse whatever needs values."""
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
    setattr(Shadow, f"__{_name}__", no_values)
Shadow.__hash__ = object.__hash__  # type: ignore[method-assign]


class Unknown(Shadow):
    """What a reduction of one sample gives: nothing is known of it, not even the shape."""

    __slots__ = ()
    shape = dtype = ndim = size = itemsize = nbytes = strides = flags = property(no_values)
    __len__ = no_values


class Batched(Tensor):
    """A tensor of one sample, as the function that `vmap` applies sees it."""

    _whole: Tensor
    _batch: Batch

    # An operation whose kernel has asked for no values learns here, at the latest, that it must.
    _requires_grad = _edge = _view = _past = property(no_values, no_values)

    @property
    def _cell(self) -> Any:  # type: ignore[override]
        return self._whole._cell

    @property
    def grad_fn(self) -> Any:
        return self._whole.grad_fn

    @property  # type: ignore[misc]
    def grad(self) -> Any:
        """The gradient of this sample."""
        g = self._whole.grad
        return None if g is None else batched(g, self._batch)

    @property
    def requires_grad(self) -> bool:
        return self._whole.requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        raise RuntimeError(REQUIRES_GRAD)

    def detach(self) -> Tensor:
        return batched(self._whole.detach(), self._batch)

    @property  # type: ignore[misc]
    def data(self) -> Any:
        return batched(self._whole.data, self._batch)

    def register_hook(self, hook: Callable[..., Any]) -> Any:
        def of_all(g: Tensor) -> Any:
            new = hook(batched(g, self._batch))
            return None if new is None else whole_of(new, self._batch)

        return self._whole.register_hook(of_all)

    def item(self) -> NoReturn:
        raise RuntimeError(ITEM)

    __float__ = __int__ = item

    def __index__(self) -> NoReturn:
        if self._array.size != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        raise RuntimeError(ITEM)

    def __contains__(self, value: Any) -> NoReturn:
        raise RuntimeError(ITEM)

    def __bool__(self) -> NoReturn:
        raise RuntimeError(CONTROL_FLOW)

    is_nonzero = __bool__

    def tolist(self) -> NoReturn:
        raise RuntimeError(DATA)

    data_ptr = tolist

    def numpy(self, *, force: bool = False) -> NoReturn:
        raise RuntimeError(DATA)

    def __deepcopy__(self, memo: Any) -> NoReturn:
        raise NotImplementedError(STORAGE)

    def __repr__(self) -> str:
        inner = repr(self._whole).replace("\n", "\n    ")
        return f"BatchedTensor(lvl={self._batch.depth}, bdim=0, value=\n    {inner}\n)"

    def __format__(self, spec: str) -> str:
        if not self._array.ndim:
            raise RuntimeError(ITEM)
        return repr(self)


def batched(whole: Tensor, batch: Batch) -> Tensor:
    """The sample of a tensor whose first dimension counts samples."""
    out = object.__new__(Batched)
    out._whole, out._batch, out._array = whole, batch, Shadow(whole)  # type: ignore[assignment]
    return out


def stand_for(sample: Any, other: Any) -> Any:
    """Let a sample be another one, its view, from now on; returns it."""
    sample._whole, sample._array = other._whole, other._array
    return sample


def whole_of(tensor: Tensor, batch: Batch) -> Tensor:
    """The tensor of all samples; one that is the same for all is repeated, without a copy."""
    if isinstance(tensor, Batched):
        if tensor._batch is batch:
            return tensor._whole
        if tensor._batch.depth > batch.depth:  # this batch's dimension lies behind the inner one's
            return batched(whole_of(tensor._whole, batch).transpose(0, 1), tensor._batch)
    return tensor.expand(batch.size, *tensor.shape)


def innermost(values: Iterable[Any]) -> Batch | None:
    """Of the batches that samples among the values are of, the innermost."""
    found = None
    for value in values:
        if isinstance(value, Batched) and (found is None or value._batch.depth > found.depth):
            found = value._batch
    return found


def everything(tensor: Tensor) -> np.ndarray:
    """The values of a tensor, those of all samples where it is one."""
    while isinstance(tensor, Batched):
        tensor = tensor._whole
    return tensor._array


# For transforms that differentiate inside of `vmap`


def beneath(tensor: Tensor, batches: Sequence[Batch]) -> Tensor:
    """The tensor of all samples of several batches, which may still be a sample of inner ones.

    Its first dimensions count them, the outermost batch's first.
    """
    for batch in reversed(batches):
        tensor = whole_of(tensor, batch)
    return tensor


def above(whole: Tensor, batches: Sequence[Batch]) -> Tensor:
    """The sample that `beneath` gives the whole of."""
    for batch in batches:
        whole = sample_of(whole, batch)
    return whole


def sample_of(whole: Tensor, batch: Batch) -> Tensor:
    """The sample of a tensor, which may itself be one of a batch further inside."""
    if isinstance(whole, Batched) and whole._batch.depth > batch.depth:
        return batched(sample_of(whole._whole.transpose(0, 1), batch), whole._batch)
    return batched(whole, batch)
