"""The layout of a tensor's array; how tensors are copied, converted and printed."""

import copy
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, Literal, NamedTuple, overload

import numpy as np
from numpy.lib.stride_tricks import as_strided

from nanotorch._core import dtypes
from nanotorch._core.arguments import as_int
from nanotorch._core.call_site import warn, warn_once
from nanotorch._core.dtypes import CPU, META, Size, device, dtype, new_tuple, with_shared_dtype
from nanotorch._core.grad_mode import mode, new_cell
from nanotorch._core.meta import NO_DATA, MetaArray, Region
from nanotorch.names.lookup import advised

# The layout of a tensor's array: shape, dtype, strides, device.


def normal_dim(dim: int, ndim: int) -> int:
    """A dimension counted from the front; a 0-d tensor counts as 1-d.

    Raises:
        IndexError: if there is no dimension ``dim``.
    """
    if dim.__class__ is not int:
        dim = as_int(dim)
    count = ndim or 1
    if not -count <= dim < count:
        as_int(dim)
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-count}, {count - 1}], "
            f"but got {dim})"
        )
    return dim % count


def existing_dim(dim: int, ndim: int) -> int:
    """`normal_dim` of a dimension that must exist: a 0-d tensor has none."""
    if not ndim:
        raise IndexError(f"Dimension specified as {as_int(dim)} but tensor has no dimensions")
    return normal_dim(dim, ndim)


def strides_of(array: np.ndarray) -> tuple[int, ...]:
    """The strides in elements, with PyTorch's values for dimensions of size 0 or 1."""
    if not array.size:  # NumPy's strides are then zeros
        sizes = [max(n, 1) for n in array.shape]
        return tuple(math.prod(sizes[d + 1 :]) for d in range(array.ndim))
    strides = [s // array.itemsize for s in array.strides]
    if 0 in strides:
        for d in reversed(range(array.ndim)):
            if strides[d] == 0 and array.shape[d] == 1:  # a new dimension spans all later ones
                last = d + 1 == array.ndim
                strides[d] = 1 if last else array.shape[d + 1] * strides[d + 1]
    return tuple(strides)


def address(array: np.ndarray) -> int:
    """The address of the first element."""
    return int(array.__array_interface__["data"][0])


class layout:  # noqa: N801 - PyTorch's name
    """How the elements of a tensor are stored: always `strided`."""

    __slots__ = ()

    def __new__(cls) -> "layout":
        raise TypeError("cannot create 'torch.layout' instances")

    def __repr__(self) -> str:
        return "torch.strided"

    def __reduce__(self) -> str:
        return "strided"


strided = object.__new__(layout)
# Properties such as `is_sparse` ask for kinds of tensors and devices that nanotorch lacks.
KINDS = (
    "is_cuda", "is_ipu", "is_maia", "is_mkldnn", "is_mps", "is_mtia", "is_nested",
    "is_quantized", "is_sparse", "is_sparse_csr", "is_vulkan", "is_xla", "is_xpu",
)  # fmt: skip


class Layout:
    """The part of `Tensor` that describes its array."""

    _array: np.ndarray

    @property
    def shape(self) -> Size:
        """The sizes of the dimensions."""
        return new_tuple(Size, self._array.shape)

    @property
    def dtype(self) -> dtype:
        """The type of the elements."""
        return dtypes.OF_NUMPY[self._array.dtype]

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._array.ndim

    @property
    def device(self) -> device:
        """The CPU; "meta" for a tensor without values."""
        return META if isinstance(self._array, MetaArray) else CPU

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self._array.size * self.dtype.itemsize

    @property
    def is_cpu(self) -> bool:
        """Whether the tensor has values."""
        return not isinstance(self._array, MetaArray)

    @property
    def is_meta(self) -> bool:
        """Whether the tensor has a shape and a dtype, and no values."""
        return isinstance(self._array, MetaArray)

    @property
    def layout(self) -> layout:
        """Always `strided`."""
        return strided

    @overload
    def size(self) -> Size: ...
    @overload
    def size(self, dim: int) -> int: ...
    def size(self, dim: int | None = None) -> Any:
        """The shape, or one of its sizes.

        Raises:
            IndexError: if there is no dimension ``dim``.
        """
        if dim is None:
            return self.shape
        return self._array.shape[existing_dim(dim, self._array.ndim)]

    def stride(self, dim: int | None = None) -> Any:
        """The strides, in elements: the distances between neighbours along each dimension.

        Args:
            dim: the only dimension; default: all.

        Raises:
            IndexError: if there is no dimension ``dim``.
        """
        strides = strides_of(self._array)
        return strides if dim is None else strides[existing_dim(dim, len(strides))]

    def dim(self) -> int:
        """The number of dimensions."""
        return self._array.ndim

    ndimension = dim

    def numel(self) -> int:
        """The number of elements."""
        return self._array.size

    nelement = numel

    def element_size(self) -> int:
        """Bytes per element."""
        return self.dtype.itemsize

    def data_ptr(self) -> int:
        """The address of the first element; 0 without values.

        Raises:
            NotImplementedError: for bfloat16, which the memory holds as float32.
        """
        if self._array.dtype == dtypes.BFLOAT16:
            raise NotImplementedError(
                "nanotorch keeps bfloat16 as float32, so there is no address where it lies. "
                "torch.save writes it; tensor.view(torch.int16) gives its bits"
            )
        return 0 if isinstance(self._array, MetaArray) else address(self._array)

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Whether the elements are in memory in the order of the dimensions, without gaps."""
        return bool(self._array.flags.c_contiguous)

    def is_floating_point(self) -> bool:
        """Whether the dtype is one of the floating-point types."""
        return self._array.dtype.kind == "f"

    def is_signed(self) -> bool:
        """Whether the dtype has negative values."""
        return self.dtype.is_signed

    def dim_order(self) -> tuple[int, ...]:
        """The dimensions in their order in memory, the largest stride first."""
        strides = strides_of(self._array)
        return tuple(sorted(range(len(strides)), key=lambda d: -strides[d]))

    def get_device(self) -> int:
        """-1, the number of the CPU."""
        return -1

    def is_pinned(self, device: Any = None) -> bool:
        """Always False; ``device`` is accepted for compatibility."""
        return False


def never(self: Layout) -> bool:
    """Always False."""
    return False


for _name in KINDS:
    setattr(Layout, _name, property(never, doc=never.__doc__))
Layout.is_complex = never  # type: ignore[attr-defined]


# Copies and pickles of tensors keep strides; tensors that share memory share it afterwards, too.


# The engine's attributes of a tensor. All others are set by the user.
OWN = frozenset(
    (
        "_array", "_writes", "_history", "_view", "_grad", "_past", "_accumulator_ref",
        "_leaf_hooks", "_post_accumulate_hooks", "_retains_grad", "_is_number",
    )
)  # fmt: skip
LEAVES_ONLY = (
    "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at "
    "the moment.  If you were attempting to deepcopy a module, this may be because of a "
    "torch.nn.utils.weight_norm usage, see https://github.com/pytorch/pytorch/pull/103001"
)
HOOK_LOST = (
    "backward hook {!r} on tensor will not be serialized.  If this is expected, you can decorate "
    "the function with @torch.utils.hooks.unserializable_hook to suppress this warning"
)
MEMORY = "nanotorch memory"  # with the owner's `id`, the key of copied memory in a memo


def attributes_of(tensor: Any) -> dict[str, Any]:
    """The attributes that the user has set on a tensor."""
    return {name: value for name, value in vars(tensor).items() if name not in OWN}


def owner_of(array: np.ndarray) -> np.ndarray:
    """The array whose memory ``array`` is a view of."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def memory_length(array: np.ndarray) -> int:
    """The length, in elements, of the memory from the first element to the last; 0 for none."""
    steps = zip(array.shape, array.strides, strict=True)
    return (1 + sum((n - 1) * step // array.itemsize for n, step in steps)) if array.size else 0


def whole_memory(array: np.ndarray) -> np.ndarray:
    """All bytes of the memory that ``array`` is a view of."""
    owner = owner_of(array)
    if memory_length(owner) != owner.size:  # NumPy's `as_strided` made it: its base is not an array
        owner = as_strided(owner, (memory_length(owner),), (owner.itemsize,))
    return owner.ravel("K").view(np.uint8)


def copy_with_memory(array: np.ndarray, memo: dict[Any, Any]) -> np.ndarray:
    """A copy of an array in a copy of its whole memory, which ``memo`` keeps for other views."""
    owner = owner_of(array)
    if owner is not array and memory_length(owner) != owner.size:
        return compact_copy(array)  # no array owns this memory
    place = (MEMORY, id(owner))
    if place not in memo:
        memo[place] = (owner.copy("K"), owner)  # keep the owner alive while its `id` is a key
    memory: np.ndarray = memo[place][0]
    if owner is array:
        return memory
    start = address(array) - address(owner)
    return array.__class__(array.shape, array.dtype, whole_memory(memory), start, array.strides)


def has_overlap(array: np.ndarray) -> bool:
    """Whether several elements share a place in memory."""
    if 0 not in array.strides or not array.size:
        return False
    if Region.exceeded and array.__class__ is MetaArray:
        return False
    return any(d == 0 and n > 1 for d, n in zip(array.strides, array.shape, strict=True))


def order_of(array: np.ndarray) -> Literal["C", "K"]:
    """NumPy's ``order`` for a new array like ``array``; "K" keeps the order in memory."""
    return "C" if has_overlap(array) else "K"


def compact_copy(array: np.ndarray) -> np.ndarray:
    """A copy without gaps, with the dimensions in the same order in memory."""
    return array.copy(order_of(array))


def rebuilt(
    kind: type[Any],
    segment: np.ndarray,
    shape: tuple[int, ...],
    strides: tuple[int, ...] | None,
    requires_grad: bool,
) -> Any:
    """The tensor that `Exchange.__reduce_ex__` describes."""
    out = object.__new__(kind)
    segment = with_shared_dtype(segment)
    if strides is None:
        out._array = segment.reshape(shape)
    else:
        out._array = segment.__class__(shape, segment.dtype, segment, 0, strides)
    out._cell = new_cell(1)  # PyTorch counts the filling
    out._set_flag(requires_grad)
    return out


# Writes to memory that several elements or several tensors share, and their refusal.


OVERLAP = (
    "unsupported operation: more than one element of the written-to tensor refers to a single "
    "memory location. Please clone() the tensor before performing the operation."
)
PARTIAL_OVERLAP = (
    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a "
    "single memory location. Please clone() the tensor before performing the operation."
)
EXPANDED = (
    "Use of {} on expanded tensors is deprecated. Please clone() the tensor before performing this "
    "operation. This also applies to advanced indexing e.g. tensor[{}"
)


def check_overlap(array: np.ndarray) -> None:
    """Refuse a write to memory that several elements share."""
    if has_overlap(array):
        raise RuntimeError(OVERLAP)


def refuse_overlap(written: Any, read: Any, same_too: bool = False) -> None:
    """Refuse an in-place operation whose operand partly overlaps the tensor that it writes to.

    As in PyTorch, the check covers only tensors that are dense in memory. An operand with exactly
    the same elements is allowed: each element is read before it is written.

    Args:
        written, read: the tensor that the operation writes to, and an operand.
        same_too: refuse exactly the same elements as well.
    """
    if read is written and not same_too:
        return
    a, b = written._array, read._array
    if read is not written:
        if not (a.size and b.size and is_dense(a) and is_dense(b)):
            return
        low, other = address(a), address(b)
        if low >= other + b.nbytes or other >= low + a.nbytes:
            return
        if not same_too and low == other and a.nbytes == b.nbytes and a.ndim == b.ndim:
            steps = zip(a.strides, b.strides, a.shape, strict=True)
            if all(s == t or n == 1 for s, t, n in steps):  # the very same elements
                return
    raise RuntimeError(PARTIAL_OVERLAP)


def is_dense(array: np.ndarray) -> bool:
    """Whether the elements fill a range of memory, each once, in any order of the dimensions."""
    step = array.itemsize
    for stride, size in sorted(zip(array.strides, array.shape, strict=True)):
        if size != 1:
            if stride != step and array.size:
                return False
            step *= size
    return True


# The printed form of a tensor: PyTorch's, character for character.
#
# All elements of a tensor have one style (a `_Style`: digits, exponent, width) and form columns.
# A tensor of more than `threshold` elements shows only the first and last `edgeitems` of each axis.
# Only the elements that are shown decide the style.


_FLOAT32 = np.dtype(np.float32)


_PROFILES: dict[str | None, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}
_options = SimpleNamespace(**_PROFILES["default"], sci_mode=None)


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors are printed. Options that are left out do not change, except ``sci_mode``.

    Args:
        precision: the number of digits after the point; at first 4.
        threshold: the number of elements above which a tensor is summarised; at first 1000.
        edgeitems: the number of elements at each end of an axis of a summarised tensor; at first 3.
        linewidth: the number of columns of a line; at first 80.
        profile: "default", "short" or "full": values for the four options above. Options that are
            also given override them. As in PyTorch, an unknown name changes nothing.
        sci_mode: whether to write exponents; default: decided by the values.
    """
    given = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
    }
    vars(_options).update(_PROFILES.get(profile, {}), sci_mode=sci_mode)
    vars(_options).update((name, value) for name, value in given.items() if value is not None)


def get_printoptions() -> dict[str, Any]:
    """The print options as a dict of arguments for `set_printoptions`."""
    return dict(vars(_options))


@contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """Context manager: set print options for a `with` block; see `set_printoptions`."""
    before = get_printoptions()
    set_printoptions(**options)
    try:
        yield
    finally:
        set_printoptions(**before)


class _Style(NamedTuple):
    """How the elements of a tensor are written: a format, a mark after finite ones, a width."""

    spec: str
    mark: str
    width: int

    def write(self, value: bool | int | float) -> str:
        text = format(value, self.spec) if self.spec else str(value)
        if self.mark and math.isfinite(value):
            text += self.mark
        return text.rjust(self.width)


def _style(values: np.ndarray) -> _Style:
    """The style that suits `values`; zeros, infinities and NaN do not count."""
    if values.dtype.kind != "f":
        return _Style("", "", max(map(len, map(str, values.ravel().tolist())), default=1))
    values = values[np.isfinite(values) & (values != 0)]
    if values.size == 0:
        return _Style(".0f", ".", 1)
    sizes = np.abs(values).astype(np.float64)
    low, high = float(sizes.min()), float(sizes.max())
    scientific = _options.sci_mode
    if scientific is None:
        scientific = high / low > 1000.0 or high > 1.0e8 or low < 1.0e-4
    if scientific:
        spec, mark = f".{_options.precision}e", ""
    elif (values == np.ceil(values)).all():
        spec, mark = ".0f", "."
    else:
        spec, mark = f".{_options.precision}f", ""
    longest = max(len(format(value, spec)) for value in values.tolist())
    return _Style(spec, mark, longest + len(mark))


def _shown(array: np.ndarray) -> np.ndarray:
    """The elements of a summarised `array` that are shown."""
    edge = _options.edgeitems
    if edge == 0 and array.ndim:
        return array[:0]
    for axis, size in enumerate(array.shape):
        if size > 2 * edge:
            array = np.take(array, [*range(edge), *range(size - edge, size)], axis)
    return array


def _row(array: np.ndarray, indent: int, summarize: bool, style: _Style) -> str:
    """A vector in brackets, broken into lines of at most `linewidth` columns."""
    edge = _options.edgeitems
    if summarize and edge == 0:
        items = ["..."]
    elif summarize and len(array) > 2 * edge:
        first, last = array[:edge].tolist(), array[-edge:].tolist()
        items = [*map(style.write, first), " ...", *map(style.write, last)]
    else:
        items = [style.write(value) for value in array.tolist()]
    per_line = max(1, (_options.linewidth - indent) // (style.width + 2))
    lines = [", ".join(items[i : i + per_line]) for i in range(0, len(items), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _block(array: np.ndarray, indent: int, summarize: bool, style: _Style) -> str:
    """The elements of `array`, nested in brackets, by one recursive call per axis."""
    if array.ndim == 0:
        return style.write(array.item())
    if array.ndim == 1:
        return _row(array, indent, summarize, style)
    edge, count = _options.edgeitems, len(array)
    cut = summarize and count > 2 * edge
    shown = [*array[:edge], *array[count - edge :]] if cut else array
    parts = [_block(part, indent + 1, summarize, style) for part in shown]
    if cut:
        parts.insert(edge, "...")
    return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(parts) + "]"


def _close(text: str, suffixes: Sequence[str], indent: int) -> str:
    """The text with suffixes, each on the last line if it fits there, else on a new line."""
    # This count exceeds the true columns by one or two: PyTorch breaks lines by it.
    used = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        breaks = used + len(suffix) + 2 > _options.linewidth
        text += (",\n" + " " * indent if breaks else ", ") + suffix
        used = (indent if breaks else used + 2) + len(suffix)
    return text + ")"


def format_tensor(
    array: np.ndarray,
    default_dtype: np.dtype[Any] = _FLOAT32,
    suffixes: Sequence[str] = (),
    prefix: str = "tensor(",
) -> str:
    """The text of an array as PyTorch prints a tensor.

    Args:
        array: the elements.
        default_dtype: the floating-point dtype that is not printed. int64 and bool are printed only
            for an empty tensor, which has no element to show them.
        suffixes: the texts after the elements, size and dtype: `"requires_grad=True"`, ...
        prefix: the text up to the opening parenthesis; its length is the indentation.
    """
    implied = [default_dtype]
    if isinstance(array, MetaArray):
        text, sized = "...", True
    elif array.size:
        implied += [np.dtype(np.int64), np.dtype(np.bool_)]
        summarize = array.size > _options.threshold
        style = _style(_shown(array) if summarize else array)
        text = _block(array, len(prefix), summarize, style)
        sized = _options.edgeitems == 0
    else:
        text, sized = "[]", array.ndim != 1
    marks = [f"size={array.shape}"] if sized else []
    if isinstance(array, MetaArray):
        marks.insert(0, "device='meta'")
    if array.dtype not in implied:
        marks.append(f"dtype={dtypes.OF_NUMPY[array.dtype]}")
    return _close(prefix + text, [*marks, *suffixes], len(prefix))


# Tensors in Python's and NumPy's forms: numbers, lists, arrays, text, copies, pickles.


SCALAR = (
    "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
    "Consider using tensor.detach() first."
)


class Exchange:
    """The part of `Tensor` that implements Python's and NumPy's protocols."""

    _array: np.ndarray
    _lift: Any
    _cell: list[Any]
    _grad: Any
    requires_grad: Any
    grad_fn: Any
    device: Any

    def item(self) -> int | float | bool:
        """The only element, as a Python number.

        Raises:
            RuntimeError: if there is not exactly one element, or it has no value.
        """
        if self._array.size != 1:
            count = self._array.size
            error = RuntimeError(f"a Tensor with {count} elements cannot be converted to Scalar")
            raise advised(error, "one number", count)
        return self._array.item()

    def tolist(self) -> Any:
        """The values as nested lists of Python numbers; a number for a 0-d tensor."""
        return self._array.tolist()

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """The values as an ndarray on the same memory, with a shape and flags of its own.

        Args:
            force: whether a tensor that requires grad is allowed.

        Raises:
            RuntimeError: with grad mode on, if the tensor requires grad and ``force`` is not set.
            TypeError: for bfloat16, and for a tensor without values.
        """
        if isinstance(self._array, MetaArray):
            raise TypeError(
                "can't convert meta device type tensor to numpy. Use Tensor.cpu() to copy the "
                "tensor to host memory first."
            )
        if self.requires_grad and mode.enabled and not force:
            raise RuntimeError(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() "
                "instead."
            )
        if self._array.dtype == dtypes.BFLOAT16:
            raise TypeError("Got unsupported ScalarType BFloat16")
        return self._array.view()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = self.numpy()
        if dtype is not None and array.dtype != np.dtype(dtype):
            return array.astype(dtype)
        return array.copy() if copy else array

    def __array_wrap__(
        self, array: np.ndarray, context: Any = None, return_scalar: bool = False
    ) -> Any:
        """The result of a NumPy function as a tensor; bools become uint8."""
        if array.dtype.kind == "b":
            array = array.astype(np.uint8)
        return self._lift(dtypes.with_shared_dtype(array))

    def cpu(self) -> Any:
        """The tensor itself: it is on the CPU.

        Raises:
            NotImplementedError: if it has no values.
        """
        if isinstance(self._array, MetaArray):
            raise NotImplementedError(NO_DATA)
        return self

    def __bool__(self) -> bool:
        if self._array.size != 1:
            what = "more than one value" if self._array.size else "no values"
            error = RuntimeError(f"Boolean value of Tensor with {what} is ambiguous")
            raise advised(error, "one truth")
        return bool(self._array.item())

    def __float__(self) -> float:
        if self.requires_grad:
            warn_once(SCALAR)
        return float(self._single())

    def __int__(self) -> int:
        return int(self._single())

    def _single(self) -> Any:
        if self._array.size != 1:
            error = ValueError("only one element tensors can be converted to Python scalars")
            raise advised(error, "one number", self._array.size)
        return self._array.item()

    def __index__(self) -> int:
        if self._array.dtype.kind == "f" or self._array.size != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self._array.item())

    def __len__(self) -> int:
        if self._array.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return self._array.shape[0]

    def __iter__(self) -> Iterator[Any]:
        if self._array.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))  # type: ignore[attr-defined]

    def __contains__(self, element: Any) -> bool:
        if isinstance(element, (Exchange, bool, int, float, np.generic)):
            return bool(self.eq(element)._array.any())  # type: ignore[attr-defined]
        raise RuntimeError(
            "Tensor.__contains__ only supports Tensor or scalar, but you passed in a "
            f"{type(element)}."
        )

    __hash__ = object.__hash__

    def __format__(self, spec: str) -> str:
        if self._array.ndim == 0 and type(self).__name__ == "Tensor" and self.device is CPU:
            return format(self.item(), spec)
        return object.__format__(self, spec)

    def __repr__(self) -> str:
        name = type(self).__name__
        prefix = "tensor(" if name in ("Tensor", "Parameter") else f"{name}("
        return format_tensor(self._array, dtypes.default.numpy, self._marks(), prefix)

    def _marks(self) -> list[str]:
        """The texts after the values when the tensor is printed."""
        try:
            node = self.grad_fn
        except RuntimeError:  # the view lost its history by a write elsewhere
            return ["grad_fn=<Invalid>"]
        if node is not None:
            return [f"grad_fn=<{type(node).__name__}>"]
        return ["requires_grad=True"] if self.requires_grad else []

    def __deepcopy__(self: Any, memo: dict[Any, Any]) -> Any:
        """A deep copy of a leaf, with its gradient and attributes. Copies with the same ``memo``
        share memory as the originals do."""
        if id(self) in memo:
            return memo[id(self)]
        if self.grad_fn is not None:
            raise RuntimeError(LEAVES_ONLY)
        out = memo[id(self)] = object.__new__(type(self))
        out._array, out._cell = copy_with_memory(self._array, memo), new_cell(1)
        out._set_flag(self.requires_grad)
        if self._grad is not None:
            out._grad = copy.deepcopy(self._grad, memo)
        vars(out).update(copy.deepcopy(attributes_of(self), memo))
        return out

    def __reduce_ex__(self: Any, protocol: Any) -> Any:
        """The parts of the tensor: a `copy.copy` shares the memory, a pickle has it.

        Warns:
            UserWarning: for each hook, because it is lost.
        """
        for hook in (self._leaf_hooks or {}).values():
            warn(HOOK_LOST.format(hook))
        array: np.ndarray = self._array
        memory = whole_memory(array)
        strides = array.strides if array.size and np.may_share_memory(memory, array) else None
        if strides is None:
            segment = array.reshape(-1)
        else:
            start = address(array) - address(memory)
            segment = array.__class__((memory_length(array),), array.dtype, memory, start)
        args = (type(self), segment, array.shape, strides, self.requires_grad)
        return rebuilt, args, attributes_of(self) or None
