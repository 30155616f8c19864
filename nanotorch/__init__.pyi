"""What `nanotorch` has.

`scripts/stubs.py` writes this file.
"""

from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, SupportsInt, TypeVar, overload

import numpy as np

from nanotorch import accelerator as accelerator
from nanotorch import amp as amp
from nanotorch import autograd as autograd
from nanotorch import backends as backends
from nanotorch import compiler as compiler
from nanotorch import cuda as cuda
from nanotorch import distributed as distributed
from nanotorch import distributions as distributions
from nanotorch import func as func
from nanotorch import functional as functional
from nanotorch import hub as hub
from nanotorch import linalg as linalg
from nanotorch import multiprocessing as multiprocessing
from nanotorch import names as names
from nanotorch import nn as nn
from nanotorch import onnx as onnx
from nanotorch import ops as ops
from nanotorch import optim as optim
from nanotorch import overrides as overrides
from nanotorch import profiler as profiler
from nanotorch import quasirandom as quasirandom
from nanotorch import return_types as return_types
from nanotorch import serialization as serialization
from nanotorch import special as special
from nanotorch import testing as testing
from nanotorch import torch_version as torch_version
from nanotorch import types as types
from nanotorch import utils as utils
from nanotorch import version as version
from nanotorch import xpu as xpu
from nanotorch._core.dtypes import Size as Size
from nanotorch._core.dtypes import device as device
from nanotorch._core.dtypes import dtype as dtype
from nanotorch._core.dtypes import finfo as finfo
from nanotorch._core.dtypes import iinfo as iinfo
from nanotorch._core.grad_mode import enable_grad as enable_grad
from nanotorch._core.grad_mode import inference_mode as inference_mode
from nanotorch._core.grad_mode import no_grad as no_grad
from nanotorch._core.grad_mode import set_grad_enabled as set_grad_enabled
from nanotorch._core.graph import RemovableHandle as RemovableHandle
from nanotorch._core.layout import layout as layout
from nanotorch._core.tensor import Tensor as Tensor
from nanotorch.amp import GradScaler as GradScaler
from nanotorch.amp import autocast as autocast
from nanotorch.ops import random as random
from nanotorch.ops.random import Generator as Generator
from nanotorch.ops.storage import UntypedStorage as UntypedStorage

_F = TypeVar("_F", bound=Callable[..., Any])
BoolTensor: Any
ByteTensor: Any
CharTensor: Any
DoubleTensor: Any
FloatTensor: Any
HalfTensor: Any
IntTensor: Any
LongTensor: Any
ShortTensor: Any

def abs(input: Tensor, *, out: Any = ...) -> Tensor:
    """The absolute value; its gradient at 0 is 0."""

def abs_(input: Tensor) -> Tensor:
    """In-place `abs`: writes its result into the tensor."""

def absolute(input: Tensor, *, out: Any = ...) -> Tensor:
    """The absolute value; its gradient at 0 is 0."""

def acos(input: Tensor, *, out: Any = ...) -> Tensor:
    """The inverse cosine, in [0, pi]; nan outside [-1, 1]."""

def acos_(input: Tensor) -> Tensor:
    """In-place `acos`: writes its result into the tensor."""

def acosh(input: Tensor, *, out: Any = ...) -> Tensor:
    """The inverse hyperbolic cosine; nan below 1."""

def acosh_(input: Tensor) -> Tensor:
    """In-place `acosh`: writes its result into the tensor."""

def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """The means of ``output_size`` parts of the last dimension."""

def adaptive_max_pool1d(input: Tensor, output_size: Any) -> tuple[Tensor, Tensor]:
    """The maxima, and their indices, of ``output_size`` parts as in `adaptive_avg_pool1d`."""

def add(input: Tensor, other: Any, *, alpha: _bool | _int | _float = ..., out: Any = ...) -> Tensor:
    """``input + alpha * other``, broadcasting."""

def addcdiv(
    input: Tensor, tensor1: Any, tensor2: Any, *, value: _bool | _int | _float = ..., out: Any = ...
) -> Tensor:
    """``input + value * tensor1 / tensor2``, broadcasting."""

def addcmul(
    input: Tensor, tensor1: Any, tensor2: Any, *, value: _bool | _int | _float = ..., out: Any = ...
) -> Tensor:
    """``input + value * tensor1 * tensor2``, broadcasting."""

def addmm(
    input: Tensor,
    mat1: Any,
    mat2: Any,
    *,
    beta: _bool | _int | _float = ...,
    alpha: _bool | _int | _float = ...,
    out: Any = ...,
) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)``; ``input`` broadcasts."""

def adjoint(input: Tensor) -> Tensor:
    """A view with the last two dimensions swapped; for real numbers, the adjoint."""

def affine_grid_generator(theta: Tensor, size: Sequence[_int], align_corners: _bool) -> Tensor:
    """The positions ``(N, H, W, 2)`` of an image's elements, mapped by ``theta``."""

def all(
    input: Tensor, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., *, out: Any = ...
) -> Tensor:
    """Whether all elements are nonzero, overall or along ``dim``."""

def allclose(
    input: Tensor, other: Tensor, rtol: _float = ..., atol: _float = ..., equal_nan: _bool = ...
) -> _bool:
    """Whether all elements of ``input`` and ``other`` are close: see `isclose`."""

def amax(
    input: Tensor, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., *, out: Any = ...
) -> Tensor:
    """The greatest element of all, or along ``dim``; equal ones share the gradient."""

def amin(
    input: Tensor, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., *, out: Any = ...
) -> Tensor:
    """The smallest element of all, or along ``dim``; equal ones share the gradient."""

def aminmax(
    input: Tensor, *, dim: _int | None = ..., keepdim: _bool = ..., out: Any = ...
) -> return_types.aminmax:
    """The least and the greatest element, of all or along ``dim``: the named tuple ``(min, max)``."""

def angle(input: Tensor, *, out: Any = ...) -> Tensor:
    """The angle of each real number in the complex plane: π below 0, nan for nan, else 0."""

def any(
    input: Tensor, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., *, out: Any = ...
) -> Tensor:
    """Whether any element is nonzero, overall or along ``dim``."""

def arange(
    *bounds: Any,
    start: Any = ...,
    end: Any = ...,
    step: Any = ...,
    dtype: dtype | None = ...,
    out: Any = ...,
    device: Any = ...,
    layout: Any = ...,
    pin_memory: _bool = ...,
    requires_grad: _bool | None = ...,
) -> Tensor:
    """Numbers from ``start`` (default 0) to ``end``, exclusive, in steps of ``step`` (default 1)."""

def arccos(input: Tensor, *, out: Any = ...) -> Tensor:
    """The inverse cosine, in [0, pi]; nan outside [-1, 1]."""

def arccos_(input: Tensor) -> Tensor:
    """In-place `acos`: writes its result into the tensor."""

def arccosh(input: Tensor, *, out: Any = ...) -> Tensor:
    """The inverse hyperbolic cosine; nan below 1."""

def arccosh_(input: Tensor) -> Tensor:
    """In-place `acosh`: writes its result into the tensor."""

def arcsin(input: Tensor, *, out: Any = ...) -> Tensor:
    """The inverse sine, in [-pi/2, pi/2]; nan outside [-1, 1]."""

def arcsin_(input: Tensor) -> Tensor:
    """In-place `asin`: writes its result into the tensor."""

def arcsinh(input: Tensor, *, out: Any = ...) -> Tensor:
    """The inverse hyperbolic sine."""

def arcsinh_(input: Tensor) -> Tensor:
    """In-place `asinh`: writes its result into the tensor."""

def arctan(input: Tensor, *, out: Any = ...) -> Tensor:
    """The inverse tangent, in [-pi/2, pi/2]."""

def arctan2(input: Tensor, other: Any, *, out: Any = ...) -> Tensor:
    """The angle of the point with x ``other`` and y ``input``, in [-pi, pi]."""

def arctan_(input: Tensor) -> Tensor:
    """In-place `atan`: writes its result into the tensor."""

def arctanh(input: Tensor, *, out: Any = ...) -> Tensor:
    """The inverse hyperbolic tangent; nan outside [-1, 1]."""

def arctanh_(input: Tensor) -> Tensor:
    """In-place `atanh`: writes its result into the tensor."""

def are_deterministic_algorithms_enabled() -> _bool:
    """Whether `use_deterministic_algorithms` is on."""

def argmax(
    input: Tensor, dim: _int | None = ..., keepdim: _bool = ..., *, out: Any = ...
) -> Tensor:
    """The index of the greatest element, of all (flat) or along ``dim``; the first of equal ones."""

def argmin(
    input: Tensor, dim: _int | None = ..., keepdim: _bool = ..., *, out: Any = ...
) -> Tensor:
    """The index of the smallest element; arguments and errors as for `argmax`."""

def argsort(
    input: Tensor, dim: _int = ..., descending: _bool = ..., *, stable: _bool = ..., out: Any = ...
) -> Tensor:
    """The indices that sort ``input`` along ``dim``; arguments as for `sort`."""

def argwhere(input: Tensor) -> Tensor:
    """The indices of the elements that are not zero, of shape ``(number, ndim)``."""

def as_strided(input: Tensor, size: Any, stride: Any, storage_offset: _int | None = ...) -> Tensor:
    """A view of the tensor's memory with the given sizes, strides and offset, in elements."""

def as_tensor(data: Any, *, dtype: dtype | None = ..., device: Any = ...) -> Tensor:
    """``data`` as a tensor; tensors and arrays that have ``dtype`` share their memory with it."""

def as_torch() -> Any:
    """Make `import torch` import nanotorch in this process; returns nanotorch."""

def asarray(
    obj: Any,
    *,
    dtype: dtype | None = ...,
    device: Any = ...,
    copy: _bool | None = ...,
    requires_grad: _bool = ...,
) -> Tensor:
    """``obj`` as a tensor, on the same memory where possible."""

def asin(input: Tensor, *, out: Any = ...) -> Tensor:
    """The inverse sine, in [-pi/2, pi/2]; nan outside [-1, 1]."""

def asin_(input: Tensor) -> Tensor:
    """In-place `asin`: writes its result into the tensor."""

def asinh(input: Tensor, *, out: Any = ...) -> Tensor:
    """The inverse hyperbolic sine."""

def asinh_(input: Tensor) -> Tensor:
    """In-place `asinh`: writes its result into the tensor."""

def atan(input: Tensor, *, out: Any = ...) -> Tensor:
    """The inverse tangent, in [-pi/2, pi/2]."""

def atan2(input: Tensor, other: Any, *, out: Any = ...) -> Tensor:
    """The angle of the point with x ``other`` and y ``input``, in [-pi, pi]."""

def atan_(input: Tensor) -> Tensor:
    """In-place `atan`: writes its result into the tensor."""

def atanh(input: Tensor, *, out: Any = ...) -> Tensor:
    """The inverse hyperbolic tangent; nan outside [-1, 1]."""

def atanh_(input: Tensor) -> Tensor:
    """In-place `atanh`: writes its result into the tensor."""

def atleast_1d(*tensors: Any) -> Tensor:
    """Tensors with at least one dimension: a 0-d tensor becomes a vector; others stay as they are."""

def atleast_2d(*tensors: Any) -> Tensor:
    """Tensors with at least two dimensions: 0-d tensors and vectors become matrices of one row."""

def atleast_3d(*tensors: Any) -> Tensor:
    """Tensors with at least three dimensions: (N,) becomes (1, N, 1), and (M, N) (M, N, 1)."""

def autocast_decrement_nesting() -> _int:
    """Count that a block ends; returns the number of blocks."""

def autocast_increment_nesting() -> _int:
    """Count that a block begins; returns the number of blocks."""

def avg_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = ...,
    padding: Any = ...,
    ceil_mode: _bool = ...,
    count_include_pad: _bool = ...,
) -> Tensor:
    """The means of windows over the last dimension; see `max_pool2d` for the other arguments."""

def baddbmm(
    input: Tensor,
    batch1: Any,
    batch2: Any,
    *,
    beta: _bool | _int | _float = ...,
    alpha: _bool | _int | _float = ...,
    out: Any = ...,
) -> Tensor:
    """``beta * input + alpha * bmm(batch1, batch2)``; ``input`` broadcasts."""

bcomplex32: dtype

def bernoulli(
    input: Tensor, p: _float | None = ..., *, generator: Generator | None = ..., out: Any = ...
) -> Tensor:
    """A tensor of 0 and 1 like ``input``; the elements of ``input`` are the probabilities of 1."""

bfloat16: dtype

def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = ...) -> Tensor:
    """``input1ᵀ A input2 + b`` for each matrix A of ``weight`` and each b of ``bias``."""

def bincount(input: Tensor, weights: Any = ..., minlength: _int = ...) -> Tensor:
    """The count of each integer 0, 1, ..., or the sum of its weights."""

def bitwise_and(input: Tensor, other: Any, *, out: Any = ...) -> Tensor:
    """``input & other``, for integers and bools."""

def bitwise_left_shift(input: Tensor, other: Any, *, out: Any = ...) -> Tensor:
    """``input << other``; 0 where ``other`` is negative or at least the number of bits."""

def bitwise_not(input: Tensor, *, out: Any = ...) -> Tensor:
    """``~input``, for integers; `logical_not` for bools."""

def bitwise_or(input: Tensor, other: Any, *, out: Any = ...) -> Tensor:
    """``input | other``, for integers and bools."""

def bitwise_right_shift(input: Tensor, other: Any, *, out: Any = ...) -> Tensor:
    """``input >> other``; copies of the sign bit fill the upper bits."""

def bitwise_xor(input: Tensor, other: Any, *, out: Any = ...) -> Tensor:
    """``input ^ other``, for integers and bools."""

def block_diag(*tensors: Any) -> Tensor:
    """A block diagonal matrix: the tensors along its diagonal, zeros elsewhere."""

def bmm(input: Tensor, mat2: Any, *, out: Any = ...) -> Tensor:
    """The products of two batches of matrices, ``(b, n, m)`` and ``(b, m, p)``: ``(b, n, p)``."""

bool: dtype

def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that tensors of these shapes broadcast to."""

def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """The tensors expanded to the shape that they broadcast to."""

def broadcast_to(input: Tensor, size: Sequence[_int]) -> Tensor:
    """`Tensor.expand` to ``size``."""

def bucketize(
    input: Tensor, boundaries: Tensor, *, out_int32: _bool = ..., right: _bool = ..., out: Any = ...
) -> Tensor:
    """The index of the bucket of each value, between sorted ``boundaries``: see `searchsorted`."""

def can_cast(from_: dtype, to: dtype) -> _bool:
    """Whether PyTorch's rules allow values of dtype ``from_`` to be stored in dtype ``to``."""

def cartesian_prod(*tensors: Any) -> Tensor:
    """The Cartesian product, ``(tuples, vectors)``; a single vector is returned as it is."""

def cat(tensors: Any, dim: _int = ..., *, out: Any = ...) -> Tensor:
    """The tensors joined in order along ``dim``; their other sizes must be equal."""

def cdist(x1: Any, x2: Any, p: _float = ..., compute_mode: str = ...) -> Tensor:
    """The distances between all rows of ``x1`` and all rows of ``x2``, ``(..., P, R)``."""

cdouble: dtype

def ceil(input: Tensor, *, out: Any = ...) -> Tensor:
    """The smallest integer that is at least ``input``."""

def ceil_(input: Tensor) -> Tensor:
    """In-place `ceil`: writes its result into the tensor."""

cfloat: dtype
chalf: dtype

def cholesky(input: Tensor, upper: _bool = ...) -> Tensor:
    """Raise an error: PyTorch removed this older form of `torch.linalg.cholesky`."""

def cholesky_solve(input: Tensor, input2: Any, upper: _bool = ..., *, out: Any = ...) -> Tensor:
    """The solutions X of ``A X = input``, where ``input2`` is the Cholesky factor of A."""

def chunk(input: Tensor, chunks: _int, dim: _int = ...) -> tuple[Tensor, ...]:
    """At most ``chunks`` parts of one size along ``dim`` (the last may be smaller), as views."""

def clamp(input: Tensor, min: Any = ..., max: Any = ..., *, out: Any = ...) -> Tensor:
    """``input`` clamped to [``min``, ``max``]; the result is ``max`` where ``max < min``."""

def clamp_(input: Tensor, min: Any = ..., max: Any = ...) -> Tensor:
    """In-place `clamp`: writes its result into the tensor."""

def clamp_max(input: Tensor, max: Any, *, out: Any = ...) -> Tensor:
    """The smaller of ``input`` and ``max``, elementwise."""

def clamp_max_(input: Tensor, max: Any) -> Tensor:
    """In-place `clamp_max`: writes its result into the tensor."""

def clamp_min(input: Tensor, min: Any, *, out: Any = ...) -> Tensor:
    """The greater of ``input`` and ``min``, elementwise."""

def clamp_min_(input: Tensor, min: Any) -> Tensor:
    """In-place `clamp_min`: writes its result into the tensor."""

def clear_autocast_cache() -> None:
    """Forget the converted parameters of this thread."""

def clip(input: Tensor, min: Any = ..., max: Any = ..., *, out: Any = ...) -> Tensor:
    """``input`` clamped to [``min``, ``max``]; the result is ``max`` where ``max < min``."""

def clip_(input: Tensor, min: Any = ..., max: Any = ...) -> Tensor:
    """In-place `clamp`: writes its result into the tensor."""

def clone(input: Tensor, *, memory_format: Any = ...) -> Tensor:
    """A copy of ``input``."""

def column_stack(tensors: Sequence[Tensor], *, out: Any = ...) -> Tensor:
    """The tensors joined along the second dimension; vectors count as columns."""

def combinations(input: Tensor, r: _int = ..., with_replacement: _bool = ...) -> Tensor:
    """All combinations of ``r`` elements of a vector, in its order: ``(combinations, r)``."""

@overload
def compile(
    model: _F,
    *,
    fullgraph: _bool = ...,
    dynamic: _bool | None = ...,
    backend: Any = ...,
    mode: str | None = ...,
    options: dict[str, Any] | None = ...,
    name: str | None = ...,
    disable: _bool = ...,
    recompile_limit: _int | None = ...,
) -> _F:
    """Capture the NumPy calls of a training step and replay them, without graph or allocation."""

@overload
def compile(
    model: None = ...,
    *,
    fullgraph: _bool = ...,
    dynamic: _bool | None = ...,
    backend: Any = ...,
    mode: str | None = ...,
    options: dict[str, Any] | None = ...,
    name: str | None = ...,
    disable: _bool = ...,
    recompile_limit: _int | None = ...,
) -> Callable[[_F], _F]:
    """Capture the NumPy calls of a training step and replay them, without graph or allocation."""

complex128: dtype
complex32: dtype
complex64: dtype

def concat(tensors: Any, dim: _int = ..., *, out: Any = ...) -> Tensor:
    """The tensors joined in order along ``dim``; their other sizes must be equal."""

def concatenate(tensors: Any, dim: _int = ..., *, out: Any = ...) -> Tensor:
    """The tensors joined in order along ``dim``; their other sizes must be equal."""

def conj(input: Tensor) -> Tensor:
    """The tensor itself, whose numbers are real."""

def constant_pad_nd(input: Tensor, pad: Any, value: Any = ...) -> Tensor:
    """``input`` with elements of ``value`` around its last dimensions."""

contiguous_format: Any

def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = ...,
    stride: Any = ...,
    padding: Any = ...,
    dilation: Any = ...,
    groups: _int = ...,
) -> Tensor:
    """The convolution of signals (`conv1d`), pictures (`conv2d`) or volumes (`conv3d`)."""

def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = ...,
    stride: Any = ...,
    padding: Any = ...,
    dilation: Any = ...,
    groups: _int = ...,
) -> Tensor:
    """The convolution of signals (`conv1d`), pictures (`conv2d`) or volumes (`conv3d`)."""

def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = ...,
    stride: Any = ...,
    padding: Any = ...,
    dilation: Any = ...,
    groups: _int = ...,
) -> Tensor:
    """The convolution of signals (`conv1d`), pictures (`conv2d`) or volumes (`conv3d`)."""

def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = ...,
    stride: Any = ...,
    padding: Any = ...,
    output_padding: Any = ...,
    groups: _int = ...,
    dilation: Any = ...,
) -> Tensor:
    """The adjoint of a convolution with respect to its input, plus a bias."""

def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = ...,
    stride: Any = ...,
    padding: Any = ...,
    output_padding: Any = ...,
    groups: _int = ...,
    dilation: Any = ...,
) -> Tensor:
    """The adjoint of a convolution with respect to its input, plus a bias."""

def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = ...,
    stride: Any = ...,
    padding: Any = ...,
    output_padding: Any = ...,
    groups: _int = ...,
    dilation: Any = ...,
) -> Tensor:
    """The adjoint of a convolution with respect to its input, plus a bias."""

def copysign(input: Tensor, other: Any, *, out: Any = ...) -> Tensor:
    """The absolute value of ``input`` with the sign of ``other``, a tensor or a number."""

def corrcoef(input: Tensor) -> Tensor:
    """The correlation matrix of variables, from -1 to 1; shapes as for `cov`."""

def cos(input: Tensor, *, out: Any = ...) -> Tensor:
    """The cosine of an angle in radians."""

def cos_(input: Tensor) -> Tensor:
    """In-place `cos`: writes its result into the tensor."""

def cosh(input: Tensor, *, out: Any = ...) -> Tensor:
    """The hyperbolic cosine."""

def cosh_(input: Tensor) -> Tensor:
    """In-place `cosh`: writes its result into the tensor."""

def cosine_similarity(x1: Any, x2: Any, dim: _int = ..., eps: _float = ...) -> Tensor:
    """The cosine of the angle between vectors: ``x1 · x2 / (‖x1‖ ‖x2‖)``."""

def count_nonzero(input: Tensor, dim: _int | Sequence[_int] | None = ...) -> Tensor:
    """The number of nonzero elements, overall or along ``dim``."""

def cov(
    input: Tensor, *, correction: _int = ..., fweights: Any = ..., aweights: Any = ...
) -> Tensor:
    """The covariance matrix of variables, ``(variables, variables)``."""

def cross(input: Tensor, other: Tensor, dim: _int | None = ..., *, out: Any = ...) -> Tensor:
    """The cross products of vectors along ``dim``, by default the first dimension of size 3."""

def cummax(input: Tensor, dim: _int, *, out: Any = ...) -> return_types.cummax:
    """The greatest (`cummax`) or smallest (`cummin`) element so far along ``dim``."""

def cummin(input: Tensor, dim: _int, *, out: Any = ...) -> return_types.cummin:
    """The greatest (`cummax`) or smallest (`cummin`) element so far along ``dim``."""

def cumprod(input: Tensor, dim: _int, *, dtype: dtype | None = ..., out: Any = ...) -> Tensor:
    """The cumulative products along ``dim``; int64 for integers, unless ``dtype`` is given."""

def cumsum(input: Tensor, dim: _int, *, dtype: dtype | None = ..., out: Any = ...) -> Tensor:
    """The cumulative sums along ``dim``; int64 for integers, unless ``dtype`` is given."""

default_generator: Generator

def deg2rad(input: Tensor, *, out: Any = ...) -> Tensor:
    """Degrees in radians."""

def deg2rad_(input: Tensor) -> Tensor:
    """In-place `deg2rad`: writes its result into the tensor."""

def det(input: Tensor) -> Tensor:
    """The determinants of square matrices, ``(..., n, n)``."""

def detach(input: Tensor) -> Tensor:
    """`Tensor.detach`: a view of ``input`` without a history."""

def detach_(self: Any) -> Tensor:
    """Make this tensor a leaf that does not require grad; returns the tensor."""

def diag(input: Tensor, diagonal: _int = ..., *, out: Any = ...) -> Tensor:
    """A copy of a diagonal of a matrix; or the matrix with a vector on its diagonal."""

def diag_embed(input: Tensor, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor:
    """Square matrices with the last dimension of ``input`` on a diagonal, zeros elsewhere."""

def diagflat(input: Tensor, offset: _int = ...) -> Tensor:
    """The matrix with all elements of ``input`` on a diagonal, zeros elsewhere."""

def diagonal(input: Tensor, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor:
    """A view of a diagonal of dimensions ``dim1`` and ``dim2``, as the last dimension."""

def diff(
    input: Tensor,
    n: _int = ...,
    dim: _int = ...,
    prepend: Any = ...,
    append: Any = ...,
    *,
    out: Any = ...,
) -> Tensor:
    """The differences of neighbouring elements along ``dim``."""

def digamma(input: Tensor, *, out: Any = ...) -> Tensor:
    """The derivative of `lgamma`; infinite at 0, nan at the negative integers."""

def dist(input: Tensor, other: Any, p: _bool | _int | _float = ...) -> Tensor:
    """The norm of order ``p`` of ``input - other``: see `torch.linalg.vector_norm`."""

def div(input: Tensor, other: Any, *, rounding_mode: str | None = ..., out: Any = ...) -> Tensor:
    """``input / other``, broadcasting; without rounding, integers become the default float dtype."""

def divide(input: Tensor, other: Any, *, rounding_mode: str | None = ..., out: Any = ...) -> Tensor:
    """``input / other``, broadcasting; without rounding, integers become the default float dtype."""

def dot(input: Tensor, tensor: Any, *, out: Any = ...) -> Tensor:
    """The sum of the products of the elements of two vectors."""

double: dtype

def dsplit(
    input: Tensor, *split: Any, sections: Any = ..., indices: Any = ...
) -> tuple[Tensor, ...]:
    """The parts of ``input`` along dimension 2, as views."""

def dstack(tensors: Sequence[Tensor], *, out: Any = ...) -> Tensor:
    """The tensors joined along the third dimension, each as `atleast_3d`."""

e: _float

def einsum(*args: Any) -> Tensor:
    """A sum of products; ``einsum("ij,jk->ik", a, b)``, for example, is a product of matrices."""

def empty(
    *sizes: Any,
    size: Sequence[_int] | None = ...,
    dtype: dtype | None = ...,
    out: Any = ...,
    device: Any = ...,
    layout: Any = ...,
    pin_memory: _bool = ...,
    requires_grad: _bool | None = ...,
) -> Tensor:
    """A tensor of arbitrary values; ``sizes`` is its shape, as one sequence or several numbers."""

def empty_like(
    input: Tensor,
    *,
    dtype: dtype | None = ...,
    memory_format: Any = ...,
    device: Any = ...,
    layout: Any = ...,
    pin_memory: _bool = ...,
    requires_grad: _bool | None = ...,
) -> Tensor:
    """A tensor of empty, with the shape and dtype of ``input``."""

def eq(input: Tensor, other: Any, *, out: Any = ...) -> Tensor:
    """``input == other``, elementwise."""

def equal(input: Tensor, other: Tensor) -> _bool:
    """Whether ``input`` and ``other`` have the same shape and values."""

def erf(input: Tensor, *, out: Any = ...) -> Tensor:
    """``2/√π ∫₀ˣ exp(-t²) dt``; for float32 within three units of the last place."""

def erf_(input: Tensor) -> Tensor:
    """In-place `erf`: writes its result into the tensor."""

def erfc(input: Tensor, *, out: Any = ...) -> Tensor:
    """``1 - erf(input)``, exact even where it is tiny."""

def erfc_(input: Tensor) -> Tensor:
    """In-place `erfc`: writes its result into the tensor."""

def erfinv(input: Tensor, *, out: Any = ...) -> Tensor:
    """The inverse of `erf`; infinite at 1 and -1, nan outside [-1, 1]."""

def exp(input: Tensor, *, out: Any = ...) -> Tensor:
    """The exponential function."""

def exp2(input: Tensor, *, out: Any = ...) -> Tensor:
    """``2 ** input``."""

def exp2_(input: Tensor) -> Tensor:
    """In-place `exp2`: writes its result into the tensor."""

def exp_(input: Tensor) -> Tensor:
    """In-place `exp`: writes its result into the tensor."""

def expm1(input: Tensor, *, out: Any = ...) -> Tensor:
    """``exp(input) - 1``, exact near 0."""

def expm1_(input: Tensor) -> Tensor:
    """In-place `expm1`: writes its result into the tensor."""

def eye(
    n: _int,
    m: _int | None = ...,
    *,
    dtype: dtype | None = ...,
    out: Any = ...,
    device: Any = ...,
    layout: Any = ...,
    pin_memory: _bool = ...,
    requires_grad: _bool | None = ...,
) -> Tensor:
    """A matrix ``(n, m)`` of zeros with ones on the diagonal; square by default."""

def fill_(self: Tensor, value: Any) -> Tensor:
    """Write a number, or the value of a 0-d tensor, to every element; returns the tensor."""

def fix(input: Tensor, *, out: Any = ...) -> Tensor:
    """The integer part of each element."""

def fix_(input: Tensor) -> Tensor:
    """In-place `trunc`: writes its result into the tensor."""

def flatten(input: Tensor, start_dim: _int = ..., end_dim: _int = ...) -> Tensor:
    """``input`` with dimensions ``start_dim`` to ``end_dim`` (inclusive) merged into one."""

def flip(input: Tensor, dims: Sequence[_int] = ...) -> Tensor:
    """A copy with the order of elements reversed along the given dimensions."""

def fliplr(input: Tensor) -> Tensor:
    """`flip` along the second dimension."""

def flipud(input: Tensor) -> Tensor:
    """`flip` along the first dimension."""

float: dtype
float16: dtype
float32: dtype
float4_e2m1fn_x2: dtype
float64: dtype
float8_e4m3fn: dtype
float8_e4m3fnuz: dtype
float8_e5m2: dtype
float8_e5m2fnuz: dtype
float8_e8m0fnu: dtype

def floor(input: Tensor, *, out: Any = ...) -> Tensor:
    """The greatest integer that is at most ``input``."""

def floor_(input: Tensor) -> Tensor:
    """In-place `floor`: writes its result into the tensor."""

def floor_divide(input: Tensor, other: Any, *, out: Any = ...) -> Tensor:
    """``floor(input / other)``, broadcasting; its backward raises an error."""

def fmod(input: Tensor, other: Any, *, out: Any = ...) -> Tensor:
    """``input - trunc(input / other) * other``, with the sign of ``input``, as C's `fmod`."""

def frac(input: Tensor, *, out: Any = ...) -> Tensor:
    """The fractional part of each element, ``input - trunc(input)``."""

def frac_(input: Tensor) -> Tensor:
    """In-place `frac`: writes its result into the tensor."""

def from_dlpack(ext_tensor: Any, *, device: Any = ..., copy: _bool | None = ...) -> Tensor:
    """A tensor that shares the memory of another library's array."""

def from_numpy(ndarray: np.ndarray) -> Tensor:
    """A tensor on the memory of ``ndarray``: a write to one changes both."""

def frombuffer(
    buffer: Any, *, dtype: dtype, count: _int = ..., offset: _int = ..., requires_grad: _bool = ...
) -> Tensor:
    """A 1-d tensor on the memory of an object with Python's buffer protocol."""

def full(
    size: Sequence[_int],
    fill_value: Any,
    *,
    dtype: dtype | None = ...,
    out: Any = ...,
    device: Any = ...,
    layout: Any = ...,
    pin_memory: _bool = ...,
    requires_grad: _bool | None = ...,
) -> Tensor:
    """A tensor of shape ``size`` filled with the number ``fill_value``."""

def full_like(
    input: Tensor,
    fill_value: Any,
    *,
    dtype: dtype | None = ...,
    device: Any = ...,
    layout: Any = ...,
    pin_memory: _bool = ...,
    requires_grad: _bool | None = ...,
) -> Tensor:
    """A tensor filled with the number ``fill_value``, with the shape and dtype of ``input``."""

def gather(
    input: Tensor, dim: _int, index: Any, *, sparse_grad: _bool = ..., out: Any = ...
) -> Tensor:
    """The elements of ``input`` at ``index`` along ``dim``, in the shape of ``index``."""

def gcd(input: Tensor, other: Any, *, out: Any = ...) -> Tensor:
    """The greatest common divisor of integers."""

def gcd_(input: Tensor, other: Any) -> Tensor:
    """In-place `gcd`: writes its result into the tensor."""

def ge(input: Tensor, other: Any, *, out: Any = ...) -> Tensor:
    """``input >= other``, elementwise."""

def ger(input: Tensor, vec2: Tensor, *, out: Any = ...) -> Tensor:
    """The outer product of two vectors: ``out[i, j] = input[i] * vec2[j]``."""

def get_autocast_cpu_dtype() -> dtype:
    """See `get_autocast_dtype`."""

def get_autocast_dtype(device_type: str) -> dtype:
    """The lower dtype of ``device_type`` in this thread. Default: bfloat16 for "cpu", else float16."""

def get_default_device() -> device:
    """The device that new tensors get: see `set_default_device`."""

def get_default_dtype() -> dtype:
    """The dtype that new floating-point tensors get; ``float32`` unless set."""

def get_device(input: Tensor) -> _int:
    """The number of the tensor's device: always -1, the CPU."""

def get_float32_matmul_precision() -> str:
    """The precision that `set_float32_matmul_precision` has set. Default: "highest"."""

def get_num_threads() -> _int:
    """The number of threads for matrix products."""

def get_printoptions() -> dict[str, Any]:
    """The print options as a dict of arguments for `set_printoptions`."""

def get_rng_state() -> Tensor:
    """The state of the default generator: a tensor of 5056 bytes."""

def gradient(
    input: Tensor, *, spacing: Any = ..., dim: Any = ..., edge_order: _int = ...
) -> tuple[Tensor, ...]:
    """The slopes of the values of a function on a grid: central differences along each dimension."""

def greater(input: Tensor, other: Any, *, out: Any = ...) -> Tensor:
    """``input > other``, elementwise."""

def greater_equal(input: Tensor, other: Any, *, out: Any = ...) -> Tensor:
    """``input >= other``, elementwise."""

def gt(input: Tensor, other: Any, *, out: Any = ...) -> Tensor:
    """``input > other``, elementwise."""

half: dtype

def hardshrink(input: Tensor, lambd: _bool | _int | _float = ..., *, out: Any = ...) -> Tensor:
    """``input``, but 0 from ``-lambd`` to ``lambd``."""

def heaviside(input: Tensor, values: Any, *, out: Any = ...) -> Tensor:
    """0 for negative numbers and nan, 1 for positive ones, ``values`` at 0."""

def histc(
    input: Tensor,
    bins: _int = ...,
    min: _bool | _int | _float = ...,
    max: _bool | _int | _float = ...,
    *,
    out: Any = ...,
) -> Tensor:
    """The number of elements in each of ``bins`` intervals of equal width."""

def histogram(
    input: Tensor,
    bins: Any = ...,
    *,
    range: Sequence[_float] | None = ...,
    weight: Tensor | None = ...,
    density: _bool = ...,
    out: Any = ...,
) -> return_types.histogram:
    """The number of elements in each bin, between two edges."""

def hsplit(
    input: Tensor, *split: Any, sections: Any = ..., indices: Any = ...
) -> tuple[Tensor, ...]:
    """The parts of ``input`` along dimension 1, as views."""

def hstack(tensors: Sequence[Tensor], *, out: Any = ...) -> Tensor:
    """The tensors joined side by side: along the second dimension, vectors along the first."""

def hypot(input: Tensor, other: Any, *, out: Any = ...) -> Tensor:
    """``sqrt(input**2 + other**2)``, without overflow."""

def imag(input: Tensor) -> Tensor:
    """The imaginary part, which no tensor has, since no dtype is complex."""

def index_add(
    input: Tensor,
    dim: _int,
    index: Any,
    source: Any,
    *,
    alpha: _bool | _int | _float = ...,
    out: Any = ...,
) -> Tensor:
    """``input`` with ``alpha * source`` added to its slices at ``index`` along ``dim``."""

def index_copy(input: Tensor, dim: _int, index: Any, source: Any, *, out: Any = ...) -> Tensor:
    """``input`` with the slices of ``source`` at ``index`` along ``dim``."""

def index_fill(input: Tensor, dim: _int, index: Tensor, value: Any) -> Tensor:
    """``input`` with ``value`` in its slices at ``index`` along ``dim``."""

def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: _bool = ...) -> Tensor:
    """A copy of ``input`` with ``values`` at the elements ``input[indices]``."""

def index_put_(self: Tensor, indices: Any, values: Tensor, accumulate: _bool = ...) -> Tensor:
    """In-place `index_put`."""

def index_select(input: Tensor, dim: _int, index: Any, *, out: Any = ...) -> Tensor:
    """The slices of ``input`` at ``index`` along ``dim``; a copy."""

inf: _float

def initial_seed() -> _int:
    """The seed of the default generator."""

def inner(input: Tensor, other: Tensor, *, out: Any = ...) -> Tensor:
    """The sums of products over the last dimension of both; with a 0-d tensor, the product."""

int: dtype
int16: dtype
int32: dtype
int64: dtype
int8: dtype

def inverse(input: Tensor, *, out: Any = ...) -> Tensor:
    """Another name of `torch.linalg.inv`."""

def is_anomaly_check_nan_enabled() -> _bool:
    """Whether anomaly mode looks for nan and infinity when it is on."""

def is_anomaly_enabled() -> _bool:
    """Whether anomaly mode is on."""

def is_autocast_cache_enabled() -> _bool:
    """Whether a parameter is converted once in this thread, until the outermost block ends."""

def is_autocast_cpu_enabled() -> _bool:
    """See `is_autocast_enabled`."""

def is_autocast_enabled(device_type: str = ...) -> _bool:
    """Whether autocast is on for ``device_type`` in this thread."""

def is_complex(input: Tensor) -> _bool:
    """Whether ``input`` has a complex dtype: always False, since there is none."""

def is_deterministic_algorithms_warn_only_enabled() -> _bool:
    """Whether the last call of `use_deterministic_algorithms` had ``warn_only``."""

def is_floating_point(input: Tensor) -> _bool:
    """Whether ``input`` has a floating-point dtype."""

def is_grad_enabled() -> _bool:
    """Whether operations of this thread are recorded."""

def is_inference(input: Tensor) -> _bool:
    """Whether the tensor was made in inference mode."""

def is_inference_mode_enabled() -> _bool:
    """Whether this thread is in inference mode."""

def is_nonzero(input: Tensor) -> _bool:
    """Whether the only element of ``input`` is not zero."""

def is_same_size(input: Tensor, other: Tensor) -> _bool:
    """Whether ``input`` and ``other`` have the same shape."""

def is_signed(input: Tensor) -> _bool:
    """Whether the dtype of ``input`` has negative numbers."""

def is_tensor(obj: Any) -> _bool:
    """Whether ``obj`` is a `Tensor`."""

def is_warn_always_enabled() -> _bool:
    """The value that `set_warn_always` has set. Default: False."""

def isclose(
    input: Tensor, other: Tensor, rtol: _float = ..., atol: _float = ..., equal_nan: _bool = ...
) -> Tensor:
    """Whether ``|input - other| <= atol + rtol * |other|``, or both are equal, elementwise."""

def isfinite(input: Tensor) -> Tensor:
    """Whether each element is neither infinite nor nan."""

def isin(
    elements: Any,
    test_elements: Any,
    *,
    assume_unique: _bool = ...,
    invert: _bool = ...,
    out: Any = ...,
) -> Tensor:
    """Whether each of ``elements`` is among ``test_elements``; one of the two may be a number."""

def isinf(input: Tensor) -> Tensor:
    """Whether each element is inf or -inf."""

def isnan(input: Tensor) -> Tensor:
    """Whether each element is nan."""

def isneginf(input: Tensor, *, out: Any = ...) -> Tensor:
    """Whether each element is -inf."""

def isposinf(input: Tensor, *, out: Any = ...) -> Tensor:
    """Whether each element is inf."""

def isreal(input: Tensor) -> Tensor:
    """Whether each element is a real number: True for all, since no dtype is complex."""

def kron(input: Tensor, other: Tensor, *, out: Any = ...) -> Tensor:
    """The Kronecker product: blocks, each one element of ``input`` times all of ``other``."""

def kthvalue(
    input: Tensor, k: _int, dim: _int = ..., keepdim: _bool = ..., *, out: Any = ...
) -> return_types.kthvalue:
    """The ``k``-th smallest element along ``dim``: the named tuple ``(values, indices)``."""

def lcm(input: Tensor, other: Any, *, out: Any = ...) -> Tensor:
    """The least common multiple of integers."""

def lcm_(input: Tensor, other: Any) -> Tensor:
    """In-place `lcm`: writes its result into the tensor."""

def le(input: Tensor, other: Any, *, out: Any = ...) -> Tensor:
    """``input <= other``, elementwise."""

def lerp(input: Tensor, end: Any, weight: Any, *, out: Any = ...) -> Tensor:
    """``input + weight * (end - input)``, broadcasting."""

def less(input: Tensor, other: Any, *, out: Any = ...) -> Tensor:
    """``input < other``, elementwise."""

def less_equal(input: Tensor, other: Any, *, out: Any = ...) -> Tensor:
    """``input <= other``, elementwise."""

def lgamma(input: Tensor, *, out: Any = ...) -> Tensor:
    """``log(abs(gamma(input)))``; infinite at 0 and the negative integers."""

def linspace(
    start: _float,
    end: _float,
    steps: _int,
    *,
    dtype: dtype | None = ...,
    out: Any = ...,
    device: Any = ...,
    layout: Any = ...,
    pin_memory: _bool = ...,
    requires_grad: _bool | None = ...,
) -> Tensor:
    """``steps`` evenly spaced numbers from ``start`` to ``end``, both inclusive."""

def load(
    f: Any,
    map_location: Any = ...,
    pickle_module: Any = ...,
    *,
    weights_only: _bool | None = ...,
    mmap: _bool | None = ...,
    **pickle_load_args: Any,
) -> Any:
    """Read an object that `save` or PyTorch wrote, or a dict of tensors from safetensors."""

def log(input: Tensor, *, out: Any = ...) -> Tensor:
    """The natural logarithm; -inf at 0, nan below."""

def log10(input: Tensor, *, out: Any = ...) -> Tensor:
    """The logarithm to base 10."""

def log10_(input: Tensor) -> Tensor:
    """In-place `log10`: writes its result into the tensor."""

def log1p(input: Tensor, *, out: Any = ...) -> Tensor:
    """``log(1 + input)``, exact near 0."""

def log1p_(input: Tensor) -> Tensor:
    """In-place `log1p`: writes its result into the tensor."""

def log2(input: Tensor, *, out: Any = ...) -> Tensor:
    """The logarithm to base 2."""

def log2_(input: Tensor) -> Tensor:
    """In-place `log2`: writes its result into the tensor."""

def log_(input: Tensor) -> Tensor:
    """In-place `log`: writes its result into the tensor."""

def log_softmax(input: Tensor, dim: _int, dtype: Any = ..., *, out: Any = ...) -> Tensor:
    """The logarithm of `softmax`, without overflow."""

def logaddexp(input: Tensor, other: Any, *, out: Any = ...) -> Tensor:
    """``log(exp(input) + exp(other))``, without overflow."""

def logaddexp2(input: Tensor, other: Any, *, out: Any = ...) -> Tensor:
    """``log2(2**input + 2**other)``, without overflow."""

def logcumsumexp(input: Tensor, dim: _int, *, out: Any = ...) -> Tensor:
    """``log(cumsum(exp(input)))`` along ``dim``, computed without overflow."""

def logdet(input: Tensor) -> Tensor:
    """The logarithms of determinants; nan for a negative determinant."""

def logical_and(input: Tensor, other: Any, *, out: Any = ...) -> Tensor:
    """``input and other``, elementwise."""

def logical_not(input: Tensor, *, out: Any = ...) -> Tensor:
    """``not input``, elementwise."""

def logical_or(input: Tensor, other: Any, *, out: Any = ...) -> Tensor:
    """``input or other``, elementwise."""

def logical_xor(input: Tensor, other: Any, *, out: Any = ...) -> Tensor:
    """Whether exactly one of ``input`` and ``other`` is true, elementwise."""

def logit(input: Tensor, eps: _float | None = ..., *, out: Any = ...) -> Tensor:
    """``log(input / (1 - input))``, the inverse of the sigmoid; nan outside [0, 1]."""

def logit_(input: Tensor, eps: _float | None = ...) -> Tensor:
    """In-place `logit`: writes its result into the tensor."""

def logspace(
    start: _float,
    end: _float,
    steps: _int,
    base: _float = ...,
    *,
    dtype: dtype | None = ...,
    out: Any = ...,
    device: Any = ...,
    layout: Any = ...,
    pin_memory: _bool = ...,
    requires_grad: _bool | None = ...,
) -> Tensor:
    """``steps`` powers of ``base``, with evenly spaced exponents from ``start`` to ``end``."""

def logsumexp(
    input: Tensor, dim: _int | Sequence[_int] | None, keepdim: _bool = ..., *, out: Any = ...
) -> Tensor:
    """``log(sum(exp(input)))`` along ``dim``, computed without overflow."""

long: dtype

def lt(input: Tensor, other: Any, *, out: Any = ...) -> Tensor:
    """``input < other``, elementwise."""

def lu_unpack(
    LU_data: Tensor,
    LU_pivots: Tensor,
    unpack_data: _bool = ...,
    unpack_pivots: _bool = ...,
    *,
    out: Any = ...,
) -> return_types.lu_unpack:
    """``(P, L, U)`` with ``A = P L U``, from the results of `torch.linalg.lu_factor`."""

def manual_seed(seed: SupportsInt) -> Generator:
    """Set the seed of the default generator; returns the generator."""

def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """``input`` with ``value`` where ``mask`` is true, broadcasting."""

def masked_scatter(input: Tensor, mask: Any, source: Any) -> Tensor:
    """``input`` with consecutive elements of ``source`` where ``mask`` is true."""

def masked_select(input: Tensor, mask: Any, *, out: Any = ...) -> Tensor:
    """The elements of ``input`` where ``mask`` is true, as a vector; the two broadcast."""

def matmul(input: Tensor, other: Any = ..., *, out: Any = ..., **named: Any) -> Tensor:
    """The product of two vectors, matrices or batches of matrices; batches broadcast."""

def matrix_exp(input: Tensor) -> Tensor:
    """Another name of `torch.linalg.matrix_exp`."""

def matrix_power(input: Tensor, n: _int, *, out: Any = ...) -> Tensor:
    """The n-th powers of square matrices, ``(..., k, k)``; of their inverses for negative n."""

@overload
def max(input: Tensor, *, out: Any = ...) -> Tensor:
    """The greatest element; with ``dim``, the named tuple ``(values, indices)`` along it."""

@overload
def max(input: Tensor, dim: _int, keepdim: _bool = ..., *, out: Any = ...) -> return_types.max:
    """The greatest element; with ``dim``, the named tuple ``(values, indices)`` along it."""

@overload
def max(input: Tensor, other: Tensor, *, out: Any = ...) -> Tensor:
    """The greatest element; with ``dim``, the named tuple ``(values, indices)`` along it."""

def maximum(input: Tensor, other: Any, *, out: Any = ...) -> Tensor:
    """The greater of ``input`` and ``other``; nan if either is. Equal ones share the gradient."""

def mean(
    input: Tensor,
    dim: _int | Sequence[_int] | None = ...,
    keepdim: _bool = ...,
    *,
    dtype: dtype | None = ...,
    out: Any = ...,
) -> Tensor:
    """The mean of all elements, or along ``dim``; arguments as for `sum`."""

@overload
def median(input: Tensor, *, out: Any = ...) -> Tensor:
    """The median of all elements; with ``dim``, the named tuple ``(values, indices)`` along it."""

@overload
def median(
    input: Tensor, dim: _int, keepdim: _bool = ..., *, out: Any = ...
) -> return_types.median:
    """The median of all elements; with ``dim``, the named tuple ``(values, indices)`` along it."""

def meshgrid(*tensors: Any, indexing: str | None = ...) -> tuple[Tensor, ...]:
    """The coordinates of a grid: one tensor for each of ``tensors``, all of the grid's shape."""

@overload
def min(input: Tensor, *, out: Any = ...) -> Tensor:
    """The smallest element; with ``dim``, the named tuple ``(values, indices)`` along it."""

@overload
def min(input: Tensor, dim: _int, keepdim: _bool = ..., *, out: Any = ...) -> return_types.min:
    """The smallest element; with ``dim``, the named tuple ``(values, indices)`` along it."""

@overload
def min(input: Tensor, other: Tensor, *, out: Any = ...) -> Tensor:
    """The smallest element; with ``dim``, the named tuple ``(values, indices)`` along it."""

def minimum(input: Tensor, other: Any, *, out: Any = ...) -> Tensor:
    """The smaller of ``input`` and ``other``; nan if either is. Equal ones share the gradient."""

def mm(input: Tensor, mat2: Any, *, out: Any = ...) -> Tensor:
    """The product of two matrices, ``(n, m)`` and ``(m, p)``; the result is ``(n, p)``."""

def moveaxis(input: Tensor, source: Any, destination: Any) -> Tensor:
    """A view with dimensions ``source`` moved to ``destination``; the others keep their order."""

def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """A view with dimensions ``source`` moved to ``destination``; the others keep their order."""

def mul(input: Tensor, other: Any, *, out: Any = ...) -> Tensor:
    """``input * other``, broadcasting."""

def multinomial(
    input: Tensor,
    num_samples: _int,
    replacement: _bool = ...,
    *,
    generator: Generator | None = ...,
    out: Any = ...,
) -> Tensor:
    """Indices drawn with probabilities proportional to ``input``."""

def multiply(input: Tensor, other: Any, *, out: Any = ...) -> Tensor:
    """``input * other``, broadcasting."""

def mv(input: Tensor, vec: Any, *, out: Any = ...) -> Tensor:
    """The product of a matrix ``(n, m)`` and a vector ``(m,)``; the result is ``(n,)``."""

nan: _float

def nan_to_num(
    input: Tensor,
    nan: _bool | _int | _float | None = ...,
    posinf: _bool | _int | _float | None = ...,
    neginf: _bool | _int | _float | None = ...,
    *,
    out: Any = ...,
) -> Tensor:
    """``input`` with nan and infinities replaced by numbers."""

def nan_to_num_(
    input: Tensor,
    nan: _bool | _int | _float | None = ...,
    posinf: _bool | _int | _float | None = ...,
    neginf: _bool | _int | _float | None = ...,
) -> Tensor:
    """In-place `nan_to_num`: writes its result into the tensor."""

def nanmean(
    input: Tensor,
    dim: _int | Sequence[_int] | None = ...,
    keepdim: _bool = ...,
    *,
    dtype: dtype | None = ...,
    out: Any = ...,
) -> Tensor:
    """The mean of the elements that are not nan; arguments as for `sum`."""

@overload
def nanmedian(input: Tensor, *, out: Any = ...) -> Tensor:
    """The `median` of the elements that are not nan; nan if all are."""

@overload
def nanmedian(
    input: Tensor, dim: _int, keepdim: _bool = ..., *, out: Any = ...
) -> return_types.nanmedian:
    """The `median` of the elements that are not nan; nan if all are."""

def nanquantile(
    input: Tensor,
    q: Any,
    dim: _int | None = ...,
    keepdim: _bool = ...,
    *,
    interpolation: str = ...,
    out: Any = ...,
) -> Tensor:
    """The value below which the fraction ``q`` of the elements lies."""

def nansum(
    input: Tensor,
    dim: _int | Sequence[_int] | None = ...,
    keepdim: _bool = ...,
    *,
    dtype: dtype | None = ...,
    out: Any = ...,
) -> Tensor:
    """The sum of the elements that are not nan; arguments as for `sum`."""

def narrow(input: Tensor, dim: _int, start: Any, length: _int) -> Tensor:
    """A view of ``length`` elements from index ``start`` on along ``dim``."""

def ne(input: Tensor, other: Any, *, out: Any = ...) -> Tensor:
    """``input != other``, elementwise."""

def neg(input: Tensor, *, out: Any = ...) -> Tensor:
    """``-input``."""

def neg_(input: Tensor) -> Tensor:
    """In-place `neg`: writes its result into the tensor."""

def negative(input: Tensor, *, out: Any = ...) -> Tensor:
    """``-input``."""

def negative_(input: Tensor) -> Tensor:
    """In-place `neg`: writes its result into the tensor."""

newaxis: None

def nextafter(input: Tensor, other: Any, *, out: Any = ...) -> Tensor:
    """The next floating-point number after ``input`` in the direction of ``other``."""

@overload
def nonzero(input: Tensor, *, as_tuple: Literal[False] = ..., out: Any = ...) -> Tensor:
    """The indices of the elements that are not zero, of shape ``(number, ndim)``."""

@overload
def nonzero(input: Tensor, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]:
    """The indices of the elements that are not zero, of shape ``(number, ndim)``."""

def norm(
    input: Tensor,
    p: Any = ...,
    dim: _int | Sequence[_int] | None = ...,
    keepdim: _bool = ...,
    out: Tensor | None = ...,
    dtype: dtype | None = ...,
) -> Tensor:
    """The vector norm of order ``p`` over all elements, or along ``dim``."""

def normal(
    mean: Tensor | _float,
    std: Tensor | _float = ...,
    size: _int | Sequence[_int] | None = ...,
    *,
    generator: Generator | None = ...,
    dtype: dtype | None = ...,
    out: Any = ...,
    device: Any = ...,
    layout: Any = ...,
    pin_memory: _bool = ...,
    requires_grad: _bool | None = ...,
) -> Tensor:
    """A tensor of normally distributed numbers with given means and standard deviations."""

def not_equal(input: Tensor, other: Any, *, out: Any = ...) -> Tensor:
    """``input != other``, elementwise."""

def numel(input: Tensor) -> _int:
    """The number of elements of ``input``."""

def ones(
    *sizes: Any,
    size: Sequence[_int] | None = ...,
    dtype: dtype | None = ...,
    out: Any = ...,
    device: Any = ...,
    layout: Any = ...,
    pin_memory: _bool = ...,
    requires_grad: _bool | None = ...,
) -> Tensor:
    """A tensor of ones; ``sizes`` is its shape, as one sequence or as several numbers."""

def ones_like(
    input: Tensor,
    *,
    dtype: dtype | None = ...,
    memory_format: Any = ...,
    device: Any = ...,
    layout: Any = ...,
    pin_memory: _bool = ...,
    requires_grad: _bool | None = ...,
) -> Tensor:
    """A tensor of ones, with the shape and dtype of ``input``."""

def outer(input: Tensor, vec2: Tensor, *, out: Any = ...) -> Tensor:
    """The outer product of two vectors: ``out[i, j] = input[i] * vec2[j]``."""

def pairwise_distance(
    x1: Any, x2: Any, p: _float = ..., eps: _float = ..., keepdim: _bool = ...
) -> Tensor:
    """The norm of ``x1 - x2 + eps`` along the last dimension."""

def pca_lowrank(
    A: Tensor, q: _int | None = ..., center: _bool = ..., niter: _int = ...
) -> tuple[Tensor, Tensor, Tensor]:
    """The principal components of rows, as `svd_lowrank` gives them."""

def permute(input: Tensor, dims: Sequence[_int] = ...) -> Tensor:
    """A view with the dimensions in the order ``dims``."""

pi: _float

def pinverse(input: Tensor, rcond: _float = ...) -> Tensor:
    """`torch.linalg.pinv` with ``rcond`` 1e-15 by default."""

def pixel_shuffle(input: Tensor, upscale_factor: Any) -> Tensor:
    """(..., C · r², H, W) as (..., C, H · r, W · r): r² channels become squares of r by r."""

def pixel_unshuffle(input: Tensor, downscale_factor: Any) -> Tensor:
    """(..., C, H · r, W · r) as (..., C · r², H, W): the inverse of `pixel_shuffle`."""

def positive(input: Tensor) -> Tensor:
    """``+input``: the tensor itself."""

def pow(input: Tensor, exponent: Any, *, out: Any = ...) -> Tensor:
    """``input ** exponent``, broadcasting; one of the two may be a Python number."""

def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """``input`` where positive, ``weight * input`` elsewhere."""

preserve_format: Any

def printoptions(**options: Any) -> Iterator[None]:
    """Context manager: set print options for a `with` block; see `set_printoptions`."""

def prod(
    input: Tensor,
    dim: _int = ...,
    keepdim: _bool = ...,
    *,
    dtype: dtype | None = ...,
    out: Any = ...,
) -> Tensor:
    """The product of all elements, or along one dimension; other arguments as for `sum`."""

def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The dtype that holds both: the one of the higher category, or NumPy's choice within one."""

def put(input: Tensor, index: Any, source: Any, accumulate: _bool = ...) -> Tensor:
    """``input`` with the elements of ``source`` at ``index`` of its flattened elements."""

qint32: dtype
qint8: dtype

def quantile(
    input: Tensor,
    q: Any,
    dim: _int | None = ...,
    keepdim: _bool = ...,
    *,
    interpolation: str = ...,
    out: Any = ...,
) -> Tensor:
    """The value below which the fraction ``q`` of the elements lies."""

quint2x4: dtype
quint4x2: dtype
quint8: dtype

def rad2deg(input: Tensor, *, out: Any = ...) -> Tensor:
    """Radians in degrees."""

def rad2deg_(input: Tensor) -> Tensor:
    """In-place `rad2deg`: writes its result into the tensor."""

def rand(
    *sizes: Any,
    size: _int | Sequence[_int] | None = ...,
    generator: Generator | None = ...,
    dtype: dtype | None = ...,
    out: Any = ...,
    device: Any = ...,
    layout: Any = ...,
    pin_memory: _bool = ...,
    requires_grad: _bool | None = ...,
) -> Tensor:
    """A tensor of uniformly distributed numbers in [0, 1)."""

def rand_like(
    input: Tensor,
    *,
    generator: Generator | None = ...,
    dtype: dtype | None = ...,
    device: Any = ...,
    layout: Any = ...,
    pin_memory: _bool = ...,
    requires_grad: _bool | None = ...,
) -> Tensor:
    """Uniform numbers in [0, 1), with the shape and (by default) dtype of ``input``."""

def randint(
    *bounds: Any,
    low: _int = ...,
    high: _int | None = ...,
    size: _int | Sequence[_int] | None = ...,
    generator: Generator | None = ...,
    dtype: dtype | None = ...,
    out: Any = ...,
    device: Any = ...,
    layout: Any = ...,
    pin_memory: _bool = ...,
    requires_grad: _bool | None = ...,
) -> Tensor:
    """A tensor of random integers in [low, high)."""

def randint_like(
    input: Tensor,
    *bounds: _int,
    low: _int = ...,
    high: _int | None = ...,
    generator: Generator | None = ...,
    dtype: dtype | None = ...,
    device: Any = ...,
    layout: Any = ...,
    pin_memory: _bool = ...,
    requires_grad: _bool | None = ...,
) -> Tensor:
    """Random integers in [low, high), with the shape and (by default) dtype of ``input``."""

def randn(
    *sizes: Any,
    size: _int | Sequence[_int] | None = ...,
    generator: Generator | None = ...,
    dtype: dtype | None = ...,
    out: Any = ...,
    device: Any = ...,
    layout: Any = ...,
    pin_memory: _bool = ...,
    requires_grad: _bool | None = ...,
) -> Tensor:
    """A tensor of normal numbers of mean 0 and variance 1; arguments as for `rand`."""

def randn_like(
    input: Tensor,
    *,
    generator: Generator | None = ...,
    dtype: dtype | None = ...,
    device: Any = ...,
    layout: Any = ...,
    pin_memory: _bool = ...,
    requires_grad: _bool | None = ...,
) -> Tensor:
    """Normal numbers as from `randn`, with the shape and (by default) dtype of ``input``."""

def randperm(
    n: _int,
    *,
    generator: Generator | None = ...,
    dtype: dtype = ...,
    out: Any = ...,
    device: Any = ...,
    layout: Any = ...,
    pin_memory: _bool = ...,
    requires_grad: _bool | None = ...,
) -> Tensor:
    """A random permutation of the integers 0, ..., ``n`` - 1."""

def range(
    start: Any = ...,
    end: Any = ...,
    step: Any = ...,
    *,
    dtype: dtype | None = ...,
    out: Any = ...,
    device: Any = ...,
    layout: Any = ...,
    pin_memory: _bool = ...,
    requires_grad: _bool | None = ...,
) -> Tensor:
    """Numbers from ``start`` to ``end``, inclusive, in steps of ``step``."""

def ravel(input: Tensor) -> Tensor:
    """All elements in one dimension: a view of a contiguous tensor, else a copy."""

def real(input: Tensor) -> Tensor:
    """The real part: the tensor itself, since its numbers are real."""

def reciprocal(input: Tensor, *, out: Any = ...) -> Tensor:
    """``1 / input``."""

def reciprocal_(input: Tensor) -> Tensor:
    """In-place `reciprocal`: writes its result into the tensor."""

def relu(input: Tensor) -> Tensor:
    """``max(input, 0)``; its gradient at 0 is 0."""

def relu_(input: Tensor) -> Tensor:
    """In-place `relu`: writes its result into the tensor."""

def remainder(input: Tensor, other: Any, *, out: Any = ...) -> Tensor:
    """``input - floor(input / other) * other``, with the sign of ``other``, as Python's `%`."""

def renorm(
    input: Tensor,
    p: _bool | _int | _float,
    dim: _int,
    maxnorm: _bool | _int | _float,
    *,
    out: Any = ...,
) -> Tensor:
    """``input`` with each slice along ``dim`` scaled to a norm (order ``p``) up to ``maxnorm``."""

def repeat_interleave(
    input: Tensor = ...,
    repeats: Any = ...,
    dim: _int | None = ...,
    *,
    output_size: _int | None = ...,
) -> Tensor:
    """Each element, or each slice along ``dim``, several times in succession."""

def reshape(input: Tensor, shape: Sequence[_int] = ...) -> Tensor:
    """The same elements in another shape: a view if the layout in memory allows it, else a copy."""

def resize_as_(self: Tensor, the_template: Tensor, *, memory_format: Any = ...) -> Tensor:
    """`resize_` to the shape of ``the_template``."""

def resolve_conj(input: Tensor) -> Tensor:
    """The tensor itself, whose numbers are real."""

def resolve_neg(input: Tensor) -> Tensor:
    """The tensor itself, whose numbers are real."""

def result_type(tensor: Any, other: Any) -> dtype:
    """The dtype that ``tensor`` and ``other``, tensors or numbers, promote to in arithmetic."""

def rms_norm(
    input: Tensor,
    normalized_shape: Sequence[_int],
    weight: Tensor | None = ...,
    eps: _float | None = ...,
) -> Tensor:
    """``input / √(mean(input²) + eps) * weight`` over the last dimensions."""

def roll(input: Tensor, shifts: Any, dims: Any = ...) -> Tensor:
    """A copy with the elements shifted along ``dims``; elements past the end reappear at the start."""

def rot90(input: Tensor, k: _int = ..., dims: Sequence[_int] = ...) -> Tensor:
    """A copy rotated by ``k`` times 90 degrees, from the first of ``dims`` to the second."""

def round(input: Tensor, *, decimals: _int | None = ..., out: Any = ...) -> Tensor:
    """The nearest number with ``decimals`` decimals; halves are rounded to the even one."""

def round_(input: Tensor, *, decimals: _int | None = ...) -> Tensor:
    """In-place `round`: writes its result into the tensor."""

def row_stack(tensors: Sequence[Tensor], *, out: Any = ...) -> Tensor:
    """The tensors joined along the first dimension; vectors count as rows."""

def rsqrt(input: Tensor, *, out: Any = ...) -> Tensor:
    """``1 / sqrt(input)``."""

def rsqrt_(input: Tensor) -> Tensor:
    """In-place `rsqrt`: writes its result into the tensor."""

def save(
    obj: Any,
    f: Any,
    pickle_module: Any = ...,
    pickle_protocol: _int = ...,
    _use_new_zipfile_serialization: _bool = ...,
    _disable_byteorder_record: _bool = ...,
) -> None:
    """Write an object to a file, which PyTorch reads as well."""

def scalar_tensor(
    s: Any,
    *,
    dtype: dtype | None = ...,
    device: Any = ...,
    layout: Any = ...,
    pin_memory: _bool = ...,
    requires_grad: _bool | None = ...,
) -> Tensor:
    """A 0-d tensor of the number ``s``, by default in the default dtype."""

def scatter(
    input: Tensor,
    dim: _int,
    index: Any,
    src: Any = ...,
    *,
    value: Any = ...,
    reduce: str | None = ...,
    out: Any = ...,
) -> Tensor:
    """A copy of ``input`` with elements of ``src`` at ``index`` along ``dim``."""

def scatter_add(input: Tensor, dim: _int, index: Any, src: Any, *, out: Any = ...) -> Tensor:
    """A copy of ``input`` with elements of ``src`` added at ``index`` along ``dim``."""

def scatter_reduce(
    input: Tensor,
    dim: _int,
    index: Any,
    src: Any,
    reduce: str,
    *,
    include_self: _bool = ...,
    out: Any = ...,
) -> Tensor:
    """``input`` with elements of ``src`` combined at ``index`` along ``dim``."""

def searchsorted(
    sorted_sequence: Tensor,
    input: Tensor,
    *,
    out_int32: _bool = ...,
    right: _bool = ...,
    side: str | None = ...,
    sorter: Tensor | None = ...,
    out: Any = ...,
) -> Tensor:
    """The index at which to insert each value so that the sorted sequence remains sorted."""

def seed() -> _int:
    """Set an unpredictable seed for the default generator; returns the seed."""

def select(input: Tensor, dim: _int, index: _int) -> Tensor:
    """The part of ``input`` at ``index`` along ``dim``; the result lacks this dimension."""

def set_anomaly_enabled(mode: _bool, check_nan: _bool = ...) -> None:
    """Call `set_detect_anomaly`."""

def set_autocast_cache_enabled(enabled: _bool) -> None:
    """Set whether a parameter is converted once in this thread."""

def set_autocast_cpu_dtype(dtype: dtype) -> None:
    """See `set_autocast_dtype`."""

def set_autocast_cpu_enabled(enabled: _bool) -> None:
    """See `set_autocast_enabled`."""

def set_autocast_dtype(device_type: str, dtype: dtype) -> None:
    """Set the lower dtype of ``device_type`` in this thread."""

def set_autocast_enabled(device_type: Any, enabled: Any = ...) -> None:
    """Turn autocast on or off for ``device_type``, "cuda" if only ``enabled`` is given."""

def set_default_device(device: Any) -> None:
    """Set the default device: the CPU, "meta", or None for the CPU."""

def set_default_dtype(d: dtype) -> None:
    """Set the dtype that new floating-point tensors get."""

def set_default_tensor_type(t: Any) -> None:
    """Set the default dtype to that of a type such as ``torch.DoubleTensor``, or of its name."""

def set_float32_matmul_precision(precision: str) -> None:
    """Set the precision of products of float32 matrices; without effect: it is always float32."""

def set_num_threads(num: _int) -> None:
    """Set the number of threads for matrix products; 1 is best for small models."""

def set_printoptions(
    precision: _int | None = ...,
    threshold: _float | None = ...,
    edgeitems: _int | None = ...,
    linewidth: _int | None = ...,
    profile: str | None = ...,
    sci_mode: _bool | None = ...,
) -> None:
    """Set how tensors are printed. Options that are left out do not change, except ``sci_mode``."""

def set_rng_state(new_state: Tensor) -> None:
    """Set the state of the default generator to a result of `get_rng_state`."""

def set_warn_always(b: _bool) -> None:
    """Repeat each time the warnings that are given once by default; Python's filters apply."""

def sgn(input: Tensor, *, out: Any = ...) -> Tensor:
    """The sign of each element: -1, 0 or 1; 0 for nan."""

short: dtype

def sigmoid(input: Tensor, *, out: Any = ...) -> Tensor:
    """``1 / (1 + exp(-input))``."""

def sigmoid_(input: Tensor) -> Tensor:
    """In-place `sigmoid`: writes its result into the tensor."""

def sign(input: Tensor, *, out: Any = ...) -> Tensor:
    """The sign of each element: -1, 0 or 1; 0 for nan."""

def signbit(input: Tensor, *, out: Any = ...) -> Tensor:
    """Whether each element has a negative sign; -0.0 has one."""

def sin(input: Tensor, *, out: Any = ...) -> Tensor:
    """The sine of an angle in radians."""

def sin_(input: Tensor) -> Tensor:
    """In-place `sin`: writes its result into the tensor."""

def sinc(input: Tensor, *, out: Any = ...) -> Tensor:
    """``sin(π input) / (π input)``; 1 at 0."""

def sinc_(input: Tensor) -> Tensor:
    """In-place `sinc`: writes its result into the tensor."""

def sinh(input: Tensor, *, out: Any = ...) -> Tensor:
    """The hyperbolic sine."""

def sinh_(input: Tensor) -> Tensor:
    """In-place `sinh`: writes its result into the tensor."""

def slogdet(input: Tensor, *, out: Any = ...) -> return_types.slogdet:
    """`torch.linalg.slogdet`: the named tuple ``(sign, logabsdet)``."""

def softmax(input: Tensor, dim: _int, dtype: Any = ..., *, out: Any = ...) -> Tensor:
    """``exp(input)`` divided by its sum along ``dim``: numbers in [0, 1] with sum 1."""

def sort(
    input: Tensor,
    dim: _int = ...,
    descending: _bool = ...,
    *,
    stable: _bool | None = ...,
    out: Any = ...,
) -> return_types.sort:
    """The elements sorted along ``dim``: the named tuple ``(values, indices)``."""

def split(tensor: Tensor, split_size_or_sections: Any, dim: _int = ...) -> tuple[Tensor, ...]:
    """The parts of ``tensor`` along ``dim``, as views."""

def split_with_sizes(
    input: Tensor, split_sizes: Sequence[_int], dim: _int = ...
) -> tuple[Tensor, ...]:
    """The parts of ``split_sizes`` along ``dim``, as views."""

def sqrt(input: Tensor, *, out: Any = ...) -> Tensor:
    """The square root; nan for negative numbers."""

def sqrt_(input: Tensor) -> Tensor:
    """In-place `sqrt`: writes its result into the tensor."""

def square(input: Tensor, *, out: Any = ...) -> Tensor:
    """``input ** 2``."""

def square_(input: Tensor) -> Tensor:
    """In-place `square`."""

def squeeze(input: Tensor, *dims: Any, dim: Any = ..., **named: Any) -> Tensor:
    """A view without dimensions of size 1."""

def stack(tensors: Any, dim: _int = ..., *, out: Any = ...) -> Tensor:
    """The tensors, all of one shape, joined along a new dimension ``dim``."""

def std(
    input: Tensor,
    dim: Any = ...,
    unbiased: _bool = ...,
    keepdim: _bool = ...,
    *,
    correction: _float | None = ...,
    out: Any = ...,
) -> Tensor:
    """The standard deviation: the square root of `var`, with the same arguments."""

def std_mean(
    input: Tensor,
    dim: Any = ...,
    unbiased: _bool = ...,
    keepdim: _bool = ...,
    *,
    correction: _float | None = ...,
) -> tuple[Tensor, ...]:
    """The standard deviation and the mean, as a tuple; arguments as for `std`."""

strided: Any

def sub(input: Tensor, other: Any, *, alpha: _bool | _int | _float = ..., out: Any = ...) -> Tensor:
    """``input - alpha * other``, broadcasting."""

def subtract(
    input: Tensor, other: Any, *, alpha: _bool | _int | _float = ..., out: Any = ...
) -> Tensor:
    """``input - alpha * other``, broadcasting."""

def sum(
    input: Tensor,
    dim: _int | Sequence[_int] | None = ...,
    keepdim: _bool = ...,
    *,
    dtype: dtype | None = ...,
    out: Any = ...,
) -> Tensor:
    """The sum of all elements, or along ``dim``."""

def svd(
    input: Tensor, some: _bool = ..., compute_uv: _bool = ..., *, out: Any = ...
) -> return_types.svd:
    """The older form of `torch.linalg.svd`: the named tuple ``(U, S, V)``, where V is ``Vhᵀ``."""

def svd_lowrank(
    A: Tensor, q: _int | None = ..., niter: _int | None = ..., M: Tensor | None = ...
) -> tuple[Tensor, Tensor, Tensor]:
    """``U``, ``S`` and ``V`` with ``A - M`` about ``U @ diag(S) @ V.mT``, of rank ``q``."""

def swapaxes(input: Tensor, axis0: _int, axis1: _int) -> Tensor:
    """NumPy's name of `transpose`."""

def swapdims(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """Another name of `transpose`."""

def t(input: Tensor) -> Tensor:
    """The transpose of a matrix, as a view; vectors and 0-d tensors stay as they are."""

def take(input: Tensor, index: Any, *, out: Any = ...) -> Tensor:
    """The elements of the flattened ``input`` at ``index``, in the shape of ``index``."""

def take_along_dim(
    input: Tensor, indices: Tensor, dim: _int | None = ..., *, out: Any = ...
) -> Tensor:
    """The elements at ``indices`` along ``dim``, such as the results of `argmax` and `argsort`."""

def tan(input: Tensor, *, out: Any = ...) -> Tensor:
    """The tangent of an angle in radians."""

def tan_(input: Tensor) -> Tensor:
    """In-place `tan`: writes its result into the tensor."""

def tanh(input: Tensor, *, out: Any = ...) -> Tensor:
    """The hyperbolic tangent."""

def tanh_(input: Tensor) -> Tensor:
    """In-place `tanh`: writes its result into the tensor."""

def tensor(
    data: Any,
    *,
    dtype: dtype | None = ...,
    device: Any = ...,
    requires_grad: _bool = ...,
    pin_memory: _bool = ...,
) -> Tensor:
    """A new tensor with a copy of ``data``."""

def tensor_split(input: Tensor, indices_or_sections: Any, dim: _int = ...) -> tuple[Tensor, ...]:
    """The parts of ``input`` along ``dim``, as views."""

def tensordot(a: Tensor, b: Tensor, dims: Any = ..., *, out: Any = ...) -> Tensor:
    """The product of two tensors, summed over dimensions of both."""

def tile(input: Tensor, dims: Sequence[_int] = ...) -> Tensor:
    """`Tensor.repeat`, where fewer numbers count for the last dimensions."""

def to_dlpack(tensor: Tensor) -> Tensor:
    """A DLPack capsule of a tensor's memory, for another library; it works once."""

def topk(
    input: Tensor,
    k: _int,
    dim: _int = ...,
    largest: _bool = ...,
    sorted: _bool = ...,
    *,
    out: Any = ...,
) -> return_types.topk:
    """The ``k`` greatest elements along ``dim``: the named tuple ``(values, indices)``."""

def trace(input: Tensor) -> Tensor:
    """The sum of the diagonal of a matrix."""

def transpose(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """A view with dimensions ``dim0`` and ``dim1`` swapped."""

def trapezoid(y: Tensor, x: Any = ..., *, dx: _float = ..., dim: _int = ...) -> Tensor:
    """The integral of ``y`` along ``dim`` by the trapezoidal rule."""

def trapz(y: Tensor, x: Any = ..., *, dx: _float = ..., dim: _int = ...) -> Tensor:
    """The integral of ``y`` along ``dim`` by the trapezoidal rule."""

def tril(input: Tensor, diagonal: _int = ..., *, out: Any = ...) -> Tensor:
    """The lower triangle of each matrix: zeros above the diagonal number ``diagonal``."""

def tril_indices(
    row: _int,
    col: _int,
    offset: _int = ...,
    *,
    dtype: dtype | None = ...,
    device: Any = ...,
    layout: Any = ...,
) -> Tensor:
    """The indices of a matrix's lower (`tril_`) or upper (`triu_`) triangle, ``(2, elements)``."""

def triu(input: Tensor, diagonal: _int = ..., *, out: Any = ...) -> Tensor:
    """The upper triangle of each matrix: zeros below the diagonal number ``diagonal``."""

def triu_indices(
    row: _int,
    col: _int,
    offset: _int = ...,
    *,
    dtype: dtype | None = ...,
    device: Any = ...,
    layout: Any = ...,
) -> Tensor:
    """The indices of a matrix's lower (`tril_`) or upper (`triu_`) triangle, ``(2, elements)``."""

def true_divide(input: Tensor, other: Any, *, out: Any = ...) -> Tensor:
    """``input / other``, broadcasting; integers become the default floating-point dtype."""

def trunc(input: Tensor, *, out: Any = ...) -> Tensor:
    """The integer part of each element."""

def trunc_(input: Tensor) -> Tensor:
    """In-place `trunc`: writes its result into the tensor."""

def typename(obj: Any) -> str:
    """The name of an object's type, with its module; of a class or function, its own name."""

uint16: dtype
uint32: dtype
uint64: dtype
uint8: dtype

def unbind(input: Tensor, dim: _int = ...) -> tuple[Tensor, ...]:
    """The slices at each index of dimension ``dim``, without that dimension, as views."""

def unflatten(input: Tensor, dim: _int, sizes: Sequence[_int]) -> Tensor:
    """A view with dimension ``dim`` split into ``sizes``, one of which may be -1."""

def unique(
    input: Tensor,
    sorted: _bool = ...,
    return_inverse: _bool = ...,
    return_counts: _bool = ...,
    dim: _int | None = ...,
) -> Any:
    """The unique values, in ascending order; no nan equals another."""

def unique_consecutive(
    input: Tensor, return_inverse: _bool = ..., return_counts: _bool = ..., dim: _int | None = ...
) -> Any:
    """The values without repeated neighbours; arguments as for `unique`."""

def unsqueeze(input: Tensor, dim: _int) -> Tensor:
    """A view with a new dimension of size 1 at index ``dim``, from -ndim - 1 to ndim."""

def use_deterministic_algorithms(mode: _bool, *, warn_only: _bool = ...) -> None:
    """Require the same bits for the same input; without effect: all operations do so anyway."""

def var(
    input: Tensor,
    dim: Any = ...,
    unbiased: _bool = ...,
    keepdim: _bool = ...,
    *,
    correction: _float | None = ...,
    out: Any = ...,
) -> Tensor:
    """The variance of all elements, or along ``dim``."""

def var_mean(
    input: Tensor,
    dim: Any = ...,
    unbiased: _bool = ...,
    keepdim: _bool = ...,
    *,
    correction: _float | None = ...,
) -> tuple[Tensor, ...]:
    """The variance and the mean, as a tuple; arguments as for `var`."""

def vdot(input: Tensor, other: Any, *, out: Any = ...) -> Tensor:
    """The dot product of two vectors; the same as `dot` for real numbers."""

def vmap(
    func: Callable[..., Any],
    in_dims: Any = ...,
    out_dims: Any = ...,
    randomness: str = ...,
    *,
    chunk_size: _int | None = ...,
) -> Callable[..., Any]:
    """A function that applies ``func`` to every sample of a batch and stacks the results."""

def vsplit(
    input: Tensor, *split: Any, sections: Any = ..., indices: Any = ...
) -> tuple[Tensor, ...]:
    """The parts of ``input`` along dimension 0, as views."""

def vstack(tensors: Sequence[Tensor], *, out: Any = ...) -> Tensor:
    """The tensors joined along the first dimension; vectors count as rows."""

@overload
def where(condition: Tensor) -> tuple[Tensor, ...]:
    """``input`` where ``condition`` is true and ``other`` elsewhere, broadcasting."""

@overload
def where(condition: Tensor, input: Any, other: Any = ..., *, out: Any = ...) -> Tensor:
    """``input`` where ``condition`` is true and ``other`` elsewhere, broadcasting."""

def zero_(input: Tensor) -> Tensor:
    """In-place `zero`: writes its result into the tensor."""

def zeros(
    *sizes: Any,
    size: Sequence[_int] | None = ...,
    dtype: dtype | None = ...,
    out: Any = ...,
    device: Any = ...,
    layout: Any = ...,
    pin_memory: _bool = ...,
    requires_grad: _bool | None = ...,
) -> Tensor:
    """A tensor of zeros; ``sizes`` is its shape, as one sequence or as several numbers."""

def zeros_like(
    input: Tensor,
    *,
    dtype: dtype | None = ...,
    memory_format: Any = ...,
    device: Any = ...,
    layout: Any = ...,
    pin_memory: _bool = ...,
    requires_grad: _bool | None = ...,
) -> Tensor:
    """A tensor of zeros, with the shape and dtype of ``input``."""

__version__: str
