"""What a row of the table is made of: inputs by shape and domain, samples, rows.

Nothing here knows a framework. A row is called with PyTorch to make the golden answers and with
nanotorch to compare with them; both draw the same numbers from the same descriptions.
"""

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

import numpy as np

from tests.tolerances import DOUBLE

# Lowest and highest value of each domain. All values are odd multiples of 1/128 plus a shift of
# 1/512 per input, so no input sits on a kink (integers, halves, zero), no two inputs have equal
# elements, and float32 holds them exactly.
DOMAINS: dict[str, tuple[float, float]] = {
    "real": (-2.5, 2.5), "wide": (-9.0, 9.0), "positive": (0.2, 3.0), "above one": (1.1, 4.0),
    "inside one": (-0.9, 0.9), "probability": (0.05, 0.95),
}  # fmt: skip


@dataclass(frozen=True)
class Input:
    """A tensor to be drawn.

    Attributes:
        dtype: "float" stands for the floating-point dtype of the run, which requires grad.
        values: literal values in place of drawn ones.
    """

    shape: tuple[int, ...]
    domain: str = "real"
    dtype: str = "float"
    grad: bool = True
    values: Any = field(default=None, compare=False)

    @property
    def differentiable(self) -> bool:
        return self.dtype == "float" and self.grad

    def draw(self, position: int, floating: str) -> np.ndarray:
        """The array, the same in every run for the same description and ``position``."""
        dtype = floating if self.dtype == "float" else self.dtype
        if self.values is not None:
            return np.array(self.values, dtype)
        return numbers(self.dtype, self.shape, self.domain, position).astype(dtype)


@cache
def numbers(dtype: str, shape: tuple[int, ...], domain: str, position: int) -> np.ndarray:
    """The numbers of an array, floating-point ones in double precision; kept, to be copied."""
    rng = np.random.default_rng(zlib.crc32(f"{position} {shape} {domain} {dtype}".encode()))
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if dtype != "float":
        low = 1 if domain == "positive" else 0 if dtype == "uint8" else -4
        return rng.integers(low, 7, shape)
    low_end, high_end = DOMAINS[domain]
    grid = np.arange(np.ceil(low_end * 64), np.floor(high_end * 64)) / 64 + 1 / 128
    size = int(np.prod(shape))
    drawn = rng.choice(grid, size, replace=size > len(grid)) + position % 4 / 512
    return drawn.reshape(shape)


@dataclass(frozen=True)
class Dtype:
    """A dtype as a static argument, resolved in the framework that is called."""

    name: str


@dataclass(frozen=True)
class Sample:
    """The arguments of one call, tensors in their places also inside sequences.

    Attributes:
        fails: PyTorch refuses the call; None where the golden file says whether it does.
        smooth: the function has derivatives at the inputs, so that differences can be compared.
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    fails: bool | None = False
    smooth: bool = True

    def inputs(self) -> tuple[Input, ...]:
        return self._inputs

    @cached_property
    def _inputs(self) -> tuple[Input, ...]:
        return tuple([x for x in leaves((self.args, self.kwargs)) if isinstance(x, Input)])

    def __str__(self) -> str:
        parts = [text(a) for a in self.args]
        return ", ".join(parts + [f"{k}={text(v)}" for k, v in self.kwargs.items()])


@dataclass(frozen=True)
class Row:
    """An operation and its samples.

    Attributes:
        torch: the name PyTorch has for it, where it is not that of the row; None if PyTorch has
            no counterpart, and only the gradients are checked, against finite differences.
        call: how to call it, where it is not by name: ``call(torch, *arguments)``.
        layouts: whether inputs may come in any memory layout (False for `view`).
        second: whether the second derivative is compared.
        kinks: whether it is compared at kinks as well; False where PyTorch's is nan by accident.
        nodes: whether node names are compared: not where PyTorch numbers forms that are one here.
        tolerance: relative to the largest value, for float64; more than roundings ask for where
            PyTorch approximates in another way.
    """

    samples: tuple[Sample, ...]
    torch: str | None = ""
    call: Callable[..., Any] | None = None
    layouts: bool = True
    second: bool = True
    kinks: bool = True
    nodes: bool = True
    tolerance: float = DOUBLE


Table = dict[str, Row]


def x(*shape: int, domain: str = "real", grad: bool = True) -> Input:
    """A floating-point input that requires grad."""
    return Input(shape, domain, grad=grad)


def pos(*shape: int) -> Input:
    """A positive floating-point input."""
    return Input(shape, "positive")


def fixed(*values: Any) -> Input:
    """A floating-point input of these values that requires no grad."""
    return Input(np.shape(values), "given", grad=False, values=values)


def prob(*shape: int) -> Input:
    """A floating-point input between 0 and 1."""
    return Input(shape, "probability")


def ints(*shape: int, dtype: str = "int64", domain: str = "real") -> Input:
    """Small integers, from -4 to 6; with the domain "positive" from 1."""
    return Input(shape, domain, dtype)


def bools(*shape: int) -> Input:
    """Truth values."""
    return Input(shape, dtype="bool")


def given(values: Any, dtype: str = "int64") -> Input:
    """A tensor of these values."""
    return Input(np.shape(values), "given", dtype, values=values)


def at(*values: Any) -> Input:
    """A floating-point input of these values."""
    return given(values, "float")


def s(*args: Any, **kwargs: Any) -> Sample:
    """A call that succeeds."""
    return Sample(args, kwargs)


def kink(*args: Any, **kwargs: Any) -> Sample:
    """A call at a point without a derivative, where PyTorch's choice is what is compared."""
    return Sample(args, kwargs, smooth=False)


def either(*args: Any, **kwargs: Any) -> Sample:
    """A call of which the golden file says whether it fails."""
    return Sample(args, kwargs, fails=None)


def bad(*args: Any, **kwargs: Any) -> Sample:
    """A call that PyTorch refuses, with an error whose text is compared."""
    return Sample(args, kwargs, fails=True)


def rows(*samples: Sample, **options: Any) -> Row:
    """A row of these samples."""
    return Row(samples, **options)


def alike(names: str, row: Row) -> Table:
    """The same samples for several operations."""
    return dict.fromkeys(names.split(), row)


def unary(domain: str = "real", *more: Sample, integers: bool = True, **options: Any) -> Row:
    """Samples of any elementwise function of one tensor: shapes, empty, 0-d, integer dtypes."""
    shapes = [(3, 4), (), (2, 0, 3), (2, 1, 3)]
    samples = [s(Input(shape, domain)) for shape in shapes]
    if integers:
        kind = "positive" if domain != "real" else "real"
        kinds = [ints(4, domain=kind), ints(3, dtype="uint8", domain=kind), bools(3)]
        samples += [either(of_kind) for of_kind in kinds]
    return Row((*samples, *more), **options)


def binary(
    domain: str = "real", second: str = "", *more: Sample, integers: bool = True, **options: Any
) -> Row:
    """Samples of any broadcasting function of two tensors, the second of domain ``second``."""
    second = second or domain
    shapes: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
        ((3, 4), (3, 4)), ((3, 4), (4,)), ((2, 1, 3), (4, 1)), ((), (2, 3)), ((), ()),
        ((2, 0), (1,)), ((0, 3), (1, 1, 3)),
    ]  # fmt: skip
    samples = [s(Input(a, domain), Input(b, second)) for a, b in shapes]
    samples.append(bad(Input((2, 3), domain), Input((2, 4), second)))
    if integers:
        kinds = ["positive" if d != "real" else "real" for d in (domain, second)]
        samples += [
            s(ints(2, 3, domain=kinds[0]), Input((3,), second)),
            s(Input((2, 3), domain), ints(domain=kinds[1])),
            s(ints(4, domain=kinds[0]), ints(4, domain=kinds[1])),
            s(ints(4, dtype="int16", domain=kinds[0]), ints(dtype="int64", domain=kinds[1])),
            s(ints(4, dtype="uint8", domain=kinds[0]), ints(4, dtype="int8", domain=kinds[1])),
        ]
    return Row((*samples, *more), **options)


def leaves(tree: Any) -> Iterator[Any]:
    """The arguments inside sequences and dicts, in order."""
    if isinstance(tree, dict):
        tree = list(tree.values())
    if isinstance(tree, (tuple, list)):
        for branch in tree:
            yield from leaves(branch)
    else:
        yield tree


def rebuilt(tree: Any, replace: Callable[[Any], Any]) -> Any:
    """The same nesting with every argument replaced."""
    if isinstance(tree, dict):
        return {key: rebuilt(branch, replace) for key, branch in tree.items()}
    if isinstance(tree, (tuple, list)):
        return type(tree)(rebuilt(branch, replace) for branch in tree)
    return replace(tree)


def text(tree: Any) -> str:
    """How an argument shows in the name of a test."""
    if isinstance(tree, Input):
        kind = {"float": "", "int64": "i", "bool": "b"}.get(tree.dtype, tree.dtype)
        return f"{kind}[{'x'.join(map(str, tree.shape))}]"
    if isinstance(tree, Dtype):
        return tree.name
    if callable(tree):
        return str(getattr(tree, "__name__", type(tree).__name__))
    if isinstance(tree, (tuple, list)):
        return f"({' '.join(text(branch) for branch in tree)})"
    return str(tree)


class Call:
    """One sample ready to be called in one framework: arguments made, inputs at hand.

    Args:
        lib: `torch` or `nanotorch`.
        function: takes the arguments of the sample.
        make: an ndarray to a tensor of the framework.
        inplace: the function writes to its first argument and a copy of it is given.
    """

    def __init__(
        self,
        lib: Any,
        function: Callable[..., Any],
        sample: Sample,
        arrays: Sequence[np.ndarray],
        make: Callable[[np.ndarray], Any],
        *,
        inplace: bool = False,
    ) -> None:
        self.lib, self.function, self.inplace = lib, function, inplace
        descriptions = sample.inputs()
        self.tensors = [make(array) for array in arrays]
        self.leaves = []
        for description, tensor in zip(descriptions, self.tensors, strict=True):
            if description.differentiable:
                self.leaves.append(tensor.requires_grad_())
        waiting = iter(self.tensors)

        def replace(leaf: Any) -> Any:
            if isinstance(leaf, Input):
                return next(waiting)
            return getattr(lib, leaf.name) if isinstance(leaf, Dtype) else leaf

        self.args = rebuilt(sample.args, replace)
        self.kwargs = rebuilt(sample.kwargs, replace)

    def __call__(self) -> list[Any]:
        """The tensors the operation returns."""
        args = self.args
        if self.inplace:
            args = (args[0].clone(), *args[1:])
        result = self.function(*args, **self.kwargs)
        if self.inplace:
            result = args[0]
        if isinstance(result, (tuple, list)):
            return [r for r in result if isinstance(r, self.lib.Tensor)]
        return [result]


def weights_like(shape: Sequence[int], kind: str, number: int) -> np.ndarray:
    """Weights of outputs ("weight") and directions of inputs ("direction"): fixed numbers."""
    return directions_of(tuple(shape), kind, number).copy()


@cache
def directions_of(shape: tuple[int, ...], kind: str, number: int) -> np.ndarray:
    """The numbers of `weights_like`; kept, to be copied."""
    rng = np.random.default_rng(zlib.crc32(f"{kind} {shape} {number}".encode()))
    return np.asarray(rng.integers(-48, 48, shape) / 32 + 1 / 64)


def is_inplace(name: str) -> bool:
    """Whether the operation of this name writes to its first argument."""
    return name == "__setitem__" or (name.endswith("_") and not name.endswith("__"))


def find(lib: Any, name: str) -> Callable[..., Any]:
    """A function of a framework by its name: in `nn.functional`, the package, or `Tensor`."""
    if hasattr(lib.Tensor, name) and (is_inplace(name) or name.startswith("__")):
        return getattr(lib.Tensor, name)  # type: ignore[no-any-return]
    functional = getattr(getattr(lib, "nn", None), "functional", None)
    for place in (functional, lib, lib.Tensor):
        if place is not None and callable(getattr(place, name, None)):
            return getattr(place, name)  # type: ignore[no-any-return]
    raise AttributeError(f"{lib.__name__} has no operation '{name}'")
