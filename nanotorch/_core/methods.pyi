"""Methods of tensors.

`scripts/stubs.py` writes this file.
"""

from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

from nanotorch import return_types as return_types
from nanotorch._core.dtypes import Size as Size
from nanotorch._core.dtypes import device as device
from nanotorch._core.dtypes import dtype as dtype
from nanotorch._core.graph import RemovableHandle as RemovableHandle
from nanotorch._core.tensor import Tensor as Tensor
from nanotorch.ops.random import Generator as Generator
from nanotorch.ops.storage import UntypedStorage as UntypedStorage

class Methods:
    @property
    def H(self) -> Tensor: ...
    @property
    def T(self) -> Tensor: ...
    def __abs__(self) -> Tensor:
        """The absolute value; its gradient at 0 is 0."""
    def __add__(self, other: Any) -> Tensor:
        """``input + alpha * other``, broadcasting."""
    def __and__(self, other: Any) -> Tensor:
        """``input & other``, for integers and bools."""
    def __delitem__(self, given: Any) -> None:
        """Raise TypeError: a tensor keeps its elements."""
    def __dlpack__(self) -> Tensor:
        """A DLPack capsule of this tensor's memory, for `from_dlpack` of another library."""
    def __dlpack_device__(self) -> tuple[_int, _int]:
        """DLPack's number of the tensor's device: the CPU, ``(1, 0)``."""
    def __eq__(self, other: Any) -> Tensor:  # type: ignore[override]
        ...
    def __floordiv__(self, other: Any) -> Tensor: ...
    def __ge__(self, other: Any) -> Tensor: ...
    def __getitem__(self, given: Any) -> Tensor:
        """A part of the tensor: a view for integers, slices, None and `...`, a copy for index tensors."""
    def __gt__(self, other: Any) -> Tensor: ...
    def __iadd__(self, other: Any) -> Tensor: ...
    def __iand__(self, other: Any) -> Tensor: ...
    def __ifloordiv__(self, other: Any) -> Tensor: ...
    def __ilshift__(self, other: Any) -> Tensor: ...
    def __imod__(self, other: Any) -> Tensor: ...
    def __imul__(self, other: Any) -> Tensor: ...
    def __invert__(self) -> Tensor:
        """The operator `~`: `bitwise_not`."""
    def __ior__(self, other: Any) -> Tensor: ...
    def __ipow__(self, other: Any) -> Tensor: ...
    def __irshift__(self, other: Any) -> Tensor: ...
    def __isub__(self, other: Any) -> Tensor: ...
    def __itruediv__(self, other: Any) -> Tensor: ...
    def __ixor__(self, other: Any) -> Tensor: ...
    def __le__(self, other: Any) -> Tensor: ...
    def __lshift__(self, other: Any) -> Tensor:
        """``input << other``; 0 where ``other`` is negative or at least the number of bits."""
    def __lt__(self, other: Any) -> Tensor: ...
    def __matmul__(self, other: Any) -> Tensor:
        """`matmul` as the operator `@`."""
    def __mod__(self, other: Any) -> Tensor: ...
    def __mul__(self, other: Any) -> Tensor:
        """``input * other``, broadcasting."""
    def __ne__(self, other: Any) -> Tensor:  # type: ignore[override]
        ...
    def __neg__(self) -> Tensor:
        """``-input``."""
    def __or__(self, other: Any) -> Tensor:
        """``input | other``, for integers and bools."""
    def __pos__(self) -> Tensor:
        """``+input``: the tensor itself."""
    def __pow__(self, other: Any) -> Tensor: ...
    def __radd__(self, other: Any) -> Tensor:
        """``input + alpha * other``, broadcasting."""
    def __rand__(self, other: Any) -> Tensor:
        """``input & other``, for integers and bools."""
    def __reversed__(self) -> Tensor:
        """``reversed(tensor)``: `flip` along the first dimension."""
    def __rfloordiv__(self, other: Any) -> Tensor: ...
    def __rlshift__(self, other: Any) -> Tensor:
        """``input << other``; 0 where ``other`` is negative or at least the number of bits."""
    def __rmatmul__(self, other: Any) -> Tensor:
        """``other @ self``."""
    def __rmod__(self, other: Any) -> Tensor: ...
    def __rmul__(self, other: Any) -> Tensor:
        """``input * other``, broadcasting."""
    def __ror__(self, other: Any) -> Tensor:
        """``input | other``, for integers and bools."""
    def __rpow__(self, other: Any) -> Tensor: ...
    def __rrshift__(self, other: Any) -> Tensor:
        """``input >> other``; copies of the sign bit fill the upper bits."""
    def __rshift__(self, other: Any) -> Tensor:
        """``input >> other``; copies of the sign bit fill the upper bits."""
    def __rsub__(self, other: Any) -> Tensor: ...
    def __rtruediv__(self, other: Any) -> Tensor: ...
    def __rxor__(self, other: Any) -> Tensor:
        """``input ^ other``, for integers and bools."""
    def __setitem__(self, given: Any, value: Any) -> None:
        """Write a number or tensor to a part of the tensor; broadcast and convert it."""
    def __sub__(self, other: Any) -> Tensor:
        """``input - alpha * other``, broadcasting."""
    def __truediv__(self, other: Any) -> Tensor:
        """``input / other``, broadcasting; integers become the default floating-point dtype."""
    def __xor__(self, other: Any) -> Tensor:
        """``input ^ other``, for integers and bools."""
    def _give_shape(
        self, shape: tuple[_int, ...], strides: tuple[_int, ...] | None = ...
    ) -> Tensor:
        """`resize_`, also for tensors that require grad, and with any ``strides`` without gaps."""
    def _stacked_with(self, others: Any) -> Tensor:
        """`stack` for the engine, which uses only tensors and their methods."""
    def abs(self) -> Tensor:
        """The absolute value; its gradient at 0 is 0."""
    def abs_(self) -> Tensor:
        """In-place `abs`: writes its result into the tensor."""
    def absolute(self) -> Tensor:
        """The absolute value; its gradient at 0 is 0."""
    def absolute_(self) -> Tensor:
        """In-place `abs`: writes its result into the tensor."""
    def acos(self) -> Tensor:
        """The inverse cosine, in [0, pi]; nan outside [-1, 1]."""
    def acos_(self) -> Tensor:
        """In-place `acos`: writes its result into the tensor."""
    def acosh(self) -> Tensor:
        """The inverse hyperbolic cosine; nan below 1."""
    def acosh_(self) -> Tensor:
        """In-place `acosh`: writes its result into the tensor."""
    def add(self, other: Any, *, alpha: _bool | _int | _float = ...) -> Tensor:
        """``input + alpha * other``, broadcasting."""
    def add_(self, other: Any, *, alpha: _bool | _int | _float = ...) -> Tensor:
        """In-place `add`: writes its result into the tensor."""
    def addcdiv(self, tensor1: Any, tensor2: Any, *, value: _bool | _int | _float = ...) -> Tensor:
        """``input + value * tensor1 / tensor2``, broadcasting."""
    def addcdiv_(self, tensor1: Any, tensor2: Any, *, value: _bool | _int | _float = ...) -> Tensor:
        """In-place `addcdiv`: writes its result into the tensor."""
    def addcmul(self, tensor1: Any, tensor2: Any, *, value: _bool | _int | _float = ...) -> Tensor:
        """``input + value * tensor1 * tensor2``, broadcasting."""
    def addcmul_(self, tensor1: Any, tensor2: Any, *, value: _bool | _int | _float = ...) -> Tensor:
        """In-place `addcmul`: writes its result into the tensor."""
    def addmm(
        self,
        mat1: Any,
        mat2: Any,
        *,
        beta: _bool | _int | _float = ...,
        alpha: _bool | _int | _float = ...,
    ) -> Tensor:
        """``beta * input + alpha * (mat1 @ mat2)``; ``input`` broadcasts."""
    def addmm_(
        self,
        mat1: Any,
        mat2: Any,
        *,
        beta: _bool | _int | _float = ...,
        alpha: _bool | _int | _float = ...,
    ) -> Tensor:
        """In-place `addmm`: writes its result into the tensor."""
    def adjoint(self) -> Tensor:
        """A view with the last two dimensions swapped; for real numbers, the adjoint."""
    def all(self, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
        """Whether all elements are nonzero, overall or along ``dim``."""
    def allclose(
        self, other: Tensor, rtol: _float = ..., atol: _float = ..., equal_nan: _bool = ...
    ) -> _bool:
        """Whether all elements of ``input`` and ``other`` are close: see `isclose`."""
    def amax(self, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
        """The greatest element of all, or along ``dim``; equal ones share the gradient."""
    def amin(self, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
        """The smallest element of all, or along ``dim``; equal ones share the gradient."""
    def aminmax(self, *, dim: _int | None = ..., keepdim: _bool = ...) -> return_types.aminmax:
        """The least and the greatest element, of all or along ``dim``: the named tuple ``(min, max)``."""
    def angle(self) -> Tensor:
        """The angle of each real number in the complex plane: π below 0, nan for nan, else 0."""
    def any(self, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
        """Whether any element is nonzero, overall or along ``dim``."""
    def apply_(self, callable: Callable[[Any], Any]) -> Tensor:
        """Replace each element ``x`` by ``callable(x)``; returns the tensor. Slow, no gradient."""
    def arccos(self) -> Tensor:
        """The inverse cosine, in [0, pi]; nan outside [-1, 1]."""
    def arccos_(self) -> Tensor:
        """In-place `acos`: writes its result into the tensor."""
    def arccosh(self) -> Tensor:
        """The inverse hyperbolic cosine; nan below 1."""
    def arccosh_(self) -> Tensor:
        """In-place `acosh`: writes its result into the tensor."""
    def arcsin(self) -> Tensor:
        """The inverse sine, in [-pi/2, pi/2]; nan outside [-1, 1]."""
    def arcsin_(self) -> Tensor:
        """In-place `asin`: writes its result into the tensor."""
    def arcsinh(self) -> Tensor:
        """The inverse hyperbolic sine."""
    def arcsinh_(self) -> Tensor:
        """In-place `asinh`: writes its result into the tensor."""
    def arctan(self) -> Tensor:
        """The inverse tangent, in [-pi/2, pi/2]."""
    def arctan2(self, other: Any) -> Tensor:
        """The angle of the point with x ``other`` and y ``input``, in [-pi, pi]."""
    def arctan2_(self, other: Any) -> Tensor:
        """In-place `atan2`: writes its result into the tensor."""
    def arctan_(self) -> Tensor:
        """In-place `atan`: writes its result into the tensor."""
    def arctanh(self) -> Tensor:
        """The inverse hyperbolic tangent; nan outside [-1, 1]."""
    def arctanh_(self) -> Tensor:
        """In-place `atanh`: writes its result into the tensor."""
    def argmax(self, dim: _int | None = ..., keepdim: _bool = ...) -> Tensor:
        """The index of the greatest element, of all (flat) or along ``dim``; the first of equal ones."""
    def argmin(self, dim: _int | None = ..., keepdim: _bool = ...) -> Tensor:
        """The index of the smallest element; arguments and errors as for `argmax`."""
    def argsort(self, dim: _int = ..., descending: _bool = ..., *, stable: _bool = ...) -> Tensor:
        """The indices that sort ``input`` along ``dim``; arguments as for `sort`."""
    def argwhere(self) -> Tensor:
        """The indices of the elements that are not zero, of shape ``(number, ndim)``."""
    def as_strided(self, size: Any, stride: Any, storage_offset: _int | None = ...) -> Tensor:
        """A view of the tensor's memory with the given sizes, strides and offset, in elements."""
    def asin(self) -> Tensor:
        """The inverse sine, in [-pi/2, pi/2]; nan outside [-1, 1]."""
    def asin_(self) -> Tensor:
        """In-place `asin`: writes its result into the tensor."""
    def asinh(self) -> Tensor:
        """The inverse hyperbolic sine."""
    def asinh_(self) -> Tensor:
        """In-place `asinh`: writes its result into the tensor."""
    def atan(self) -> Tensor:
        """The inverse tangent, in [-pi/2, pi/2]."""
    def atan2(self, other: Any) -> Tensor:
        """The angle of the point with x ``other`` and y ``input``, in [-pi, pi]."""
    def atan2_(self, other: Any) -> Tensor:
        """In-place `atan2`: writes its result into the tensor."""
    def atan_(self) -> Tensor:
        """In-place `atan`: writes its result into the tensor."""
    def atanh(self) -> Tensor:
        """The inverse hyperbolic tangent; nan outside [-1, 1]."""
    def atanh_(self) -> Tensor:
        """In-place `atanh`: writes its result into the tensor."""
    def backward(
        self,
        gradient: Tensor | None = ...,
        retain_graph: _bool | None = ...,
        create_graph: _bool = ...,
        inputs: Tensor | Sequence[Tensor] | None = ...,
    ) -> None:
        """Compute the gradient of this tensor and add it to the ``grad`` of the leaves."""
    def baddbmm(
        self,
        batch1: Any,
        batch2: Any,
        *,
        beta: _bool | _int | _float = ...,
        alpha: _bool | _int | _float = ...,
    ) -> Tensor:
        """``beta * input + alpha * bmm(batch1, batch2)``; ``input`` broadcasts."""
    def baddbmm_(
        self,
        batch1: Any,
        batch2: Any,
        *,
        beta: _bool | _int | _float = ...,
        alpha: _bool | _int | _float = ...,
    ) -> Tensor:
        """In-place `baddbmm`: writes its result into the tensor."""
    def bernoulli(self, p: _float | None = ..., *, generator: Generator | None = ...) -> Tensor:
        """A tensor of 0 and 1 like ``input``; the elements of ``input`` are the probabilities of 1."""
    def bernoulli_(self, p: Tensor | _float = ..., *, generator: Generator | None = ...) -> Tensor:
        """Fill with 1 with probability ``p``, else with 0; returns the tensor."""
    def bfloat16(self) -> Tensor:
        """This tensor with dtype bfloat16."""
    def bincount(self, weights: Any = ..., minlength: _int = ...) -> Tensor:
        """The count of each integer 0, 1, ..., or the sum of its weights."""
    def bitwise_and(self, other: Any) -> Tensor:
        """``input & other``, for integers and bools."""
    def bitwise_and_(self, other: Any) -> Tensor:
        """In-place `bitwise_and`: writes its result into the tensor."""
    def bitwise_left_shift(self, other: Any) -> Tensor:
        """``input << other``; 0 where ``other`` is negative or at least the number of bits."""
    def bitwise_left_shift_(self, other: Any) -> Tensor:
        """In-place `bitwise_left_shift`: writes its result into the tensor."""
    def bitwise_not(self) -> Tensor:
        """``~input``, for integers; `logical_not` for bools."""
    def bitwise_not_(self) -> Tensor:
        """In-place `bitwise_not`: writes its result into the tensor."""
    def bitwise_or(self, other: Any) -> Tensor:
        """``input | other``, for integers and bools."""
    def bitwise_or_(self, other: Any) -> Tensor:
        """In-place `bitwise_or`: writes its result into the tensor."""
    def bitwise_right_shift(self, other: Any) -> Tensor:
        """``input >> other``; copies of the sign bit fill the upper bits."""
    def bitwise_right_shift_(self, other: Any) -> Tensor:
        """In-place `bitwise_right_shift`: writes its result into the tensor."""
    def bitwise_xor(self, other: Any) -> Tensor:
        """``input ^ other``, for integers and bools."""
    def bitwise_xor_(self, other: Any) -> Tensor:
        """In-place `bitwise_xor`: writes its result into the tensor."""
    def bmm(self, mat2: Any) -> Tensor:
        """The products of two batches of matrices, ``(b, n, m)`` and ``(b, m, p)``: ``(b, n, p)``."""
    def bool(self) -> Tensor:
        """This tensor with dtype bool."""
    def broadcast_to(self, size: Sequence[_int]) -> Tensor:
        """`Tensor.expand` to ``size``."""
    def byte(self) -> Tensor:
        """This tensor with dtype uint8."""
    def ceil(self) -> Tensor:
        """The smallest integer that is at least ``input``."""
    def ceil_(self) -> Tensor:
        """In-place `ceil`: writes its result into the tensor."""
    def char(self) -> Tensor:
        """This tensor with dtype int8."""
    def cholesky(self, upper: _bool = ...) -> Tensor:
        """Raise an error: PyTorch removed this older form of `torch.linalg.cholesky`."""
    def cholesky_solve(self, input2: Any, upper: _bool = ...) -> Tensor:
        """The solutions X of ``A X = input``, where ``input2`` is the Cholesky factor of A."""
    def chunk(self, chunks: _int, dim: _int = ...) -> tuple[Tensor, ...]:
        """At most ``chunks`` parts of one size along ``dim`` (the last may be smaller), as views."""
    def clamp(self, min: Any = ..., max: Any = ...) -> Tensor:
        """``input`` clamped to [``min``, ``max``]; the result is ``max`` where ``max < min``."""
    def clamp_(self, min: Any = ..., max: Any = ...) -> Tensor:
        """In-place `clamp`: writes its result into the tensor."""
    def clamp_max(self, max: Any) -> Tensor:
        """The smaller of ``input`` and ``max``, elementwise."""
    def clamp_max_(self, max: Any) -> Tensor:
        """In-place `clamp_max`: writes its result into the tensor."""
    def clamp_min(self, min: Any) -> Tensor:
        """The greater of ``input`` and ``min``, elementwise."""
    def clamp_min_(self, min: Any) -> Tensor:
        """In-place `clamp_min`: writes its result into the tensor."""
    def clip(self, min: Any = ..., max: Any = ...) -> Tensor:
        """``input`` clamped to [``min``, ``max``]; the result is ``max`` where ``max < min``."""
    def clip_(self, min: Any = ..., max: Any = ...) -> Tensor:
        """In-place `clamp`: writes its result into the tensor."""
    def clone(self, *, memory_format: Any = ...) -> Tensor:
        """A copy of ``input``."""
    def conj(self) -> Tensor:
        """The tensor itself, whose numbers are real."""
    def contiguous(self, memory_format: Any = ...) -> Tensor:
        """The tensor itself if its elements lie in order in memory, else a copy with that layout."""
    def copy_(self, other: Any, non_blocking: _bool = ...) -> Tensor:
        """Write the values of ``other``, broadcast and converted, into this tensor; returns it."""
    def copysign(self, other: Any) -> Tensor:
        """The absolute value of ``input`` with the sign of ``other``, a tensor or a number."""
    def copysign_(self, other: Any) -> Tensor:
        """In-place `copysign`: writes its result into the tensor."""
    def corrcoef(self) -> Tensor:
        """The correlation matrix of variables, from -1 to 1; shapes as for `cov`."""
    def cos(self) -> Tensor:
        """The cosine of an angle in radians."""
    def cos_(self) -> Tensor:
        """In-place `cos`: writes its result into the tensor."""
    def cosh(self) -> Tensor:
        """The hyperbolic cosine."""
    def cosh_(self) -> Tensor:
        """In-place `cosh`: writes its result into the tensor."""
    def count_nonzero(self, dim: _int | Sequence[_int] | None = ...) -> Tensor:
        """The number of nonzero elements, overall or along ``dim``."""
    def cov(self, *, correction: _int = ..., fweights: Any = ..., aweights: Any = ...) -> Tensor:
        """The covariance matrix of variables, ``(variables, variables)``."""
    def cross(self, other: Tensor, dim: _int | None = ...) -> Tensor:
        """The cross products of vectors along ``dim``, by default the first dimension of size 3."""
    def cuda(self, device: Any = ..., non_blocking: _bool = ...) -> Tensor:
        """Raise PyTorch's error for a machine without CUDA."""
    def cummax(self, dim: _int) -> return_types.cummax:
        """The greatest (`cummax`) or smallest (`cummin`) element so far along ``dim``."""
    def cummin(self, dim: _int) -> return_types.cummin:
        """The greatest (`cummax`) or smallest (`cummin`) element so far along ``dim``."""
    def cumprod(self, dim: _int, *, dtype: dtype | None = ...) -> Tensor:
        """The cumulative products along ``dim``; int64 for integers, unless ``dtype`` is given."""
    def cumprod_(self, dim: _int, *, dtype: dtype | None = ...) -> Tensor:
        """In-place `cumprod`."""
    def cumsum(self, dim: _int, *, dtype: dtype | None = ...) -> Tensor:
        """The cumulative sums along ``dim``; int64 for integers, unless ``dtype`` is given."""
    def cumsum_(self, dim: _int, *, dtype: dtype | None = ...) -> Tensor:
        """In-place `cumsum`."""
    def deg2rad(self) -> Tensor:
        """Degrees in radians."""
    def deg2rad_(self) -> Tensor:
        """In-place `deg2rad`: writes its result into the tensor."""
    def det(self) -> Tensor:
        """The determinants of square matrices, ``(..., n, n)``."""
    def diag(self, diagonal: _int = ...) -> Tensor:
        """A copy of a diagonal of a matrix; or the matrix with a vector on its diagonal."""
    def diag_embed(self, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor:
        """Square matrices with the last dimension of ``input`` on a diagonal, zeros elsewhere."""
    def diagflat(self, offset: _int = ...) -> Tensor:
        """The matrix with all elements of ``input`` on a diagonal, zeros elsewhere."""
    def diagonal(self, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor:
        """A view of a diagonal of dimensions ``dim1`` and ``dim2``, as the last dimension."""
    def diff(self, n: _int = ..., dim: _int = ..., prepend: Any = ..., append: Any = ...) -> Tensor:
        """The differences of neighbouring elements along ``dim``."""
    def digamma(self) -> Tensor:
        """The derivative of `lgamma`; infinite at 0, nan at the negative integers."""
    def digamma_(self) -> Tensor:
        """In-place `digamma`: writes its result into the tensor."""
    def dist(self, other: Any, p: _bool | _int | _float = ...) -> Tensor:
        """The norm of order ``p`` of ``input - other``: see `torch.linalg.vector_norm`."""
    def div(self, other: Any, *, rounding_mode: str | None = ...) -> Tensor:
        """``input / other``, broadcasting; without rounding, integers become the default float dtype."""
    def div_(self, other: Any, *, rounding_mode: str | None = ...) -> Tensor:
        """In-place `div`: writes its result into the tensor."""
    def divide(self, other: Any, *, rounding_mode: str | None = ...) -> Tensor:
        """``input / other``, broadcasting; without rounding, integers become the default float dtype."""
    def divide_(self, other: Any, *, rounding_mode: str | None = ...) -> Tensor:
        """In-place `div`: writes its result into the tensor."""
    def dot(self, tensor: Any) -> Tensor:
        """The sum of the products of the elements of two vectors."""
    def double(self) -> Tensor:
        """This tensor with dtype float64."""
    def dsplit(self, *split: Any, sections: Any = ..., indices: Any = ...) -> tuple[Tensor, ...]:
        """The parts of ``input`` along dimension 2, as views."""
    def eq(self, other: Any) -> Tensor:
        """``input == other``, elementwise."""
    def equal(self, other: Tensor) -> _bool:
        """Whether ``input`` and ``other`` have the same shape and values."""
    def erf(self) -> Tensor:
        """``2/√π ∫₀ˣ exp(-t²) dt``; for float32 within three units of the last place."""
    def erf_(self) -> Tensor:
        """In-place `erf`: writes its result into the tensor."""
    def erfc(self) -> Tensor:
        """``1 - erf(input)``, exact even where it is tiny."""
    def erfc_(self) -> Tensor:
        """In-place `erfc`: writes its result into the tensor."""
    def erfinv(self) -> Tensor:
        """The inverse of `erf`; infinite at 1 and -1, nan outside [-1, 1]."""
    def erfinv_(self) -> Tensor:
        """In-place `erfinv`: writes its result into the tensor."""
    def exp(self) -> Tensor:
        """The exponential function."""
    def exp2(self) -> Tensor:
        """``2 ** input``."""
    def exp2_(self) -> Tensor:
        """In-place `exp2`: writes its result into the tensor."""
    def exp_(self) -> Tensor:
        """In-place `exp`: writes its result into the tensor."""
    def expand(self, *sizes: Any, size: Sequence[_int] | None = ...) -> Tensor:
        """A view that repeats the tensor along dimensions of size 1 and new leading dimensions."""
    def expand_as(self, other: Tensor) -> Tensor:
        """`Tensor.expand` to the shape of ``other``."""
    def expm1(self) -> Tensor:
        """``exp(input) - 1``, exact near 0."""
    def expm1_(self) -> Tensor:
        """In-place `expm1`: writes its result into the tensor."""
    def exponential_(self, lambd: _float = ..., *, generator: Generator | None = ...) -> Tensor:
        """Fill with exponentially distributed numbers of rate ``lambd``; returns the tensor."""
    def fill_(self, value: Any) -> Tensor:
        """Write a number, or the value of a 0-d tensor, to every element; returns the tensor."""
    def fill_diagonal_(self, fill_value: _bool | _int | _float, wrap: _bool = ...) -> Tensor:
        """Write a number to the main diagonal, where all indices are equal; returns the tensor."""
    def fix(self) -> Tensor:
        """The integer part of each element."""
    def fix_(self) -> Tensor:
        """In-place `trunc`: writes its result into the tensor."""
    def flatten(self, start_dim: _int = ..., end_dim: _int = ...) -> Tensor:
        """``input`` with dimensions ``start_dim`` to ``end_dim`` (inclusive) merged into one."""
    def flip(self, *order: Any, dims: Sequence[_int] | None = ...) -> Tensor:
        """A copy with the order of elements reversed along the given dimensions."""
    def fliplr(self) -> Tensor:
        """`flip` along the second dimension."""
    def flipud(self) -> Tensor:
        """`flip` along the first dimension."""
    def float(self) -> Tensor:
        """This tensor with dtype float32."""
    def floor(self) -> Tensor:
        """The greatest integer that is at most ``input``."""
    def floor_(self) -> Tensor:
        """In-place `floor`: writes its result into the tensor."""
    def floor_divide(self, other: Any) -> Tensor:
        """``floor(input / other)``, broadcasting; its backward raises an error."""
    def floor_divide_(self, other: Any) -> Tensor:
        """In-place `floor_divide`: writes its result into the tensor."""
    def fmod(self, other: Any) -> Tensor:
        """``input - trunc(input / other) * other``, with the sign of ``input``, as C's `fmod`."""
    def fmod_(self, other: Any) -> Tensor:
        """In-place `fmod`: writes its result into the tensor."""
    def frac(self) -> Tensor:
        """The fractional part of each element, ``input - trunc(input)``."""
    def frac_(self) -> Tensor:
        """In-place `frac`: writes its result into the tensor."""
    def gather(self, dim: _int, index: Any, *, sparse_grad: _bool = ...) -> Tensor:
        """The elements of ``input`` at ``index`` along ``dim``, in the shape of ``index``."""
    def gcd(self, other: Any) -> Tensor:
        """The greatest common divisor of integers."""
    def gcd_(self, other: Any) -> Tensor:
        """In-place `gcd`: writes its result into the tensor."""
    def ge(self, other: Any) -> Tensor:
        """``input >= other``, elementwise."""
    def ger(self, vec2: Tensor) -> Tensor:
        """The outer product of two vectors: ``out[i, j] = input[i] * vec2[j]``."""
    def greater(self, other: Any) -> Tensor:
        """``input > other``, elementwise."""
    def greater_equal(self, other: Any) -> Tensor:
        """``input >= other``, elementwise."""
    def gt(self, other: Any) -> Tensor:
        """``input > other``, elementwise."""
    def half(self) -> Tensor:
        """This tensor with dtype float16."""
    def hardshrink(self, lambd: _bool | _int | _float = ...) -> Tensor:
        """``input``, but 0 from ``-lambd`` to ``lambd``."""
    def heaviside(self, values: Any) -> Tensor:
        """0 for negative numbers and nan, 1 for positive ones, ``values`` at 0."""
    def heaviside_(self, values: Any) -> Tensor:
        """In-place `heaviside`: writes its result into the tensor."""
    def histc(
        self, bins: _int = ..., min: _bool | _int | _float = ..., max: _bool | _int | _float = ...
    ) -> Tensor:
        """The number of elements in each of ``bins`` intervals of equal width."""
    def histogram(
        self,
        bins: Any = ...,
        *,
        range: Sequence[_float] | None = ...,
        weight: Tensor | None = ...,
        density: _bool = ...,
    ) -> return_types.histogram:
        """The number of elements in each bin, between two edges."""
    def hsplit(self, *split: Any, sections: Any = ..., indices: Any = ...) -> tuple[Tensor, ...]:
        """The parts of ``input`` along dimension 1, as views."""
    def hypot(self, other: Any) -> Tensor:
        """``sqrt(input**2 + other**2)``, without overflow."""
    def hypot_(self, other: Any) -> Tensor:
        """In-place `hypot`: writes its result into the tensor."""
    @property
    def imag(self) -> Tensor: ...
    def index_add(
        self, dim: _int, index: Any, source: Any, *, alpha: _bool | _int | _float = ...
    ) -> Tensor:
        """``input`` with ``alpha * source`` added to its slices at ``index`` along ``dim``."""
    def index_add_(
        self, dim: _int, index: Any, source: Any, *, alpha: _bool | _int | _float = ...
    ) -> Tensor:
        """In-place `index_add_in_place`: writes its result into the tensor."""
    def index_copy(self, dim: _int, index: Any, source: Any) -> Tensor:
        """``input`` with the slices of ``source`` at ``index`` along ``dim``."""
    def index_copy_(self, dim: _int, index: Any, source: Any) -> Tensor:
        """In-place `index_copy_in_place`: writes its result into the tensor."""
    def index_fill(self, dim: _int, index: Tensor, value: Any) -> Tensor:
        """``input`` with ``value`` in its slices at ``index`` along ``dim``."""
    def index_fill_(self, dim: _int, index: Tensor, value: Any) -> Tensor:
        """In-place `index_fill`: writes its result into the tensor."""
    def index_put(self, indices: Any, values: Tensor, accumulate: _bool = ...) -> Tensor:
        """A copy of ``input`` with ``values`` at the elements ``input[indices]``."""
    def index_put_(self, indices: Any, values: Tensor, accumulate: _bool = ...) -> Tensor:
        """In-place `index_put`."""
    def index_select(self, dim: _int, index: Any) -> Tensor:
        """The slices of ``input`` at ``index`` along ``dim``; a copy."""
    def inner(self, other: Tensor) -> Tensor:
        """The sums of products over the last dimension of both; with a 0-d tensor, the product."""
    def int(self) -> Tensor:
        """This tensor with dtype int32."""
    def inverse(self) -> Tensor:
        """Another name of `torch.linalg.inv`."""
    def is_complex(self) -> _bool:
        """Always False."""
    @property
    def is_cuda(self) -> _bool: ...
    @property
    def is_ipu(self) -> _bool: ...
    @property
    def is_maia(self) -> _bool: ...
    @property
    def is_mkldnn(self) -> _bool: ...
    @property
    def is_mps(self) -> _bool: ...
    @property
    def is_mtia(self) -> _bool: ...
    @property
    def is_nested(self) -> _bool: ...
    def is_nonzero(self) -> _bool:
        """Whether the only element of ``input`` is not zero."""
    @property
    def is_quantized(self) -> _bool: ...
    def is_same_size(self, other: Tensor) -> _bool:
        """Whether ``input`` and ``other`` have the same shape."""
    @property
    def is_sparse(self) -> _bool: ...
    @property
    def is_sparse_csr(self) -> _bool: ...
    @property
    def is_vulkan(self) -> _bool: ...
    @property
    def is_xla(self) -> _bool: ...
    @property
    def is_xpu(self) -> _bool: ...
    def isclose(
        self, other: Tensor, rtol: _float = ..., atol: _float = ..., equal_nan: _bool = ...
    ) -> Tensor:
        """Whether ``|input - other| <= atol + rtol * |other|``, or both are equal, elementwise."""
    def isfinite(self) -> Tensor:
        """Whether each element is neither infinite nor nan."""
    def isinf(self) -> Tensor:
        """Whether each element is inf or -inf."""
    def isnan(self) -> Tensor:
        """Whether each element is nan."""
    def isneginf(self) -> Tensor:
        """Whether each element is -inf."""
    def isposinf(self) -> Tensor:
        """Whether each element is inf."""
    def isreal(self) -> Tensor:
        """Whether each element is a real number: True for all, since no dtype is complex."""
    def kron(self, other: Tensor) -> Tensor:
        """The Kronecker product: blocks, each one element of ``input`` times all of ``other``."""
    def kthvalue(self, k: _int, dim: _int = ..., keepdim: _bool = ...) -> return_types.kthvalue:
        """The ``k``-th smallest element along ``dim``: the named tuple ``(values, indices)``."""
    def lcm(self, other: Any) -> Tensor:
        """The least common multiple of integers."""
    def lcm_(self, other: Any) -> Tensor:
        """In-place `lcm`: writes its result into the tensor."""
    def le(self, other: Any) -> Tensor:
        """``input <= other``, elementwise."""
    def lerp(self, end: Any, weight: Any) -> Tensor:
        """``input + weight * (end - input)``, broadcasting."""
    def lerp_(self, end: Any, weight: Any) -> Tensor:
        """In-place `lerp`: writes its result into the tensor."""
    def less(self, other: Any) -> Tensor:
        """``input < other``, elementwise."""
    def less_equal(self, other: Any) -> Tensor:
        """``input <= other``, elementwise."""
    def lgamma(self) -> Tensor:
        """``log(abs(gamma(input)))``; infinite at 0 and the negative integers."""
    def lgamma_(self) -> Tensor:
        """In-place `lgamma`: writes its result into the tensor."""
    def log(self) -> Tensor:
        """The natural logarithm; -inf at 0, nan below."""
    def log10(self) -> Tensor:
        """The logarithm to base 10."""
    def log10_(self) -> Tensor:
        """In-place `log10`: writes its result into the tensor."""
    def log1p(self) -> Tensor:
        """``log(1 + input)``, exact near 0."""
    def log1p_(self) -> Tensor:
        """In-place `log1p`: writes its result into the tensor."""
    def log2(self) -> Tensor:
        """The logarithm to base 2."""
    def log2_(self) -> Tensor:
        """In-place `log2`: writes its result into the tensor."""
    def log_(self) -> Tensor:
        """In-place `log`: writes its result into the tensor."""
    def log_softmax(self, dim: _int, dtype: Any = ...) -> Tensor:
        """The logarithm of `softmax`, without overflow."""
    def logaddexp(self, other: Any) -> Tensor:
        """``log(exp(input) + exp(other))``, without overflow."""
    def logaddexp2(self, other: Any) -> Tensor:
        """``log2(2**input + 2**other)``, without overflow."""
    def logcumsumexp(self, dim: _int) -> Tensor:
        """``log(cumsum(exp(input)))`` along ``dim``, computed without overflow."""
    def logdet(self) -> Tensor:
        """The logarithms of determinants; nan for a negative determinant."""
    def logical_and(self, other: Any) -> Tensor:
        """``input and other``, elementwise."""
    def logical_and_(self, other: Any) -> Tensor:
        """In-place `logical_and`: writes its result into the tensor."""
    def logical_not(self) -> Tensor:
        """``not input``, elementwise."""
    def logical_not_(self) -> Tensor:
        """In-place `logical_not`: writes its result into the tensor."""
    def logical_or(self, other: Any) -> Tensor:
        """``input or other``, elementwise."""
    def logical_or_(self, other: Any) -> Tensor:
        """In-place `logical_or`: writes its result into the tensor."""
    def logical_xor(self, other: Any) -> Tensor:
        """Whether exactly one of ``input`` and ``other`` is true, elementwise."""
    def logical_xor_(self, other: Any) -> Tensor:
        """In-place `logical_xor`: writes its result into the tensor."""
    def logit(self, eps: _float | None = ...) -> Tensor:
        """``log(input / (1 - input))``, the inverse of the sigmoid; nan outside [0, 1]."""
    def logit_(self, eps: _float | None = ...) -> Tensor:
        """In-place `logit`: writes its result into the tensor."""
    def logsumexp(self, dim: _int | Sequence[_int] | None, keepdim: _bool = ...) -> Tensor:
        """``log(sum(exp(input)))`` along ``dim``, computed without overflow."""
    def long(self) -> Tensor:
        """This tensor with dtype int64."""
    def lt(self, other: Any) -> Tensor:
        """``input < other``, elementwise."""
    @property
    def mH(self) -> Tensor: ...
    @property
    def mT(self) -> Tensor: ...
    def masked_fill(self, mask: Tensor, value: Any) -> Tensor:
        """``input`` with ``value`` where ``mask`` is true, broadcasting."""
    def masked_fill_(self, mask: Tensor, value: Any) -> Tensor:
        """In-place `masked_fill`: writes its result into the tensor."""
    def masked_scatter(self, mask: Any, source: Any) -> Tensor:
        """``input`` with consecutive elements of ``source`` where ``mask`` is true."""
    def masked_scatter_(self, mask: Any, source: Any) -> Tensor:
        """In-place `masked_scatter`: writes its result into the tensor."""
    def masked_select(self, mask: Any) -> Tensor:
        """The elements of ``input`` where ``mask`` is true, as a vector; the two broadcast."""
    def matmul(self, other: Any = ..., **named: Any) -> Tensor:
        """The product of two vectors, matrices or batches of matrices; batches broadcast."""
    def matrix_exp(self) -> Tensor:
        """Another name of `torch.linalg.matrix_exp`."""
    def matrix_power(self, n: _int) -> Tensor:
        """The n-th powers of square matrices, ``(..., k, k)``; of their inverses for negative n."""
    @overload
    def max(self) -> Tensor:
        """The greatest element; with ``dim``, the named tuple ``(values, indices)`` along it."""
    @overload
    def max(self, dim: _int, keepdim: _bool = ...) -> return_types.max:
        """The greatest element; with ``dim``, the named tuple ``(values, indices)`` along it."""
    @overload
    def max(self, other: Tensor) -> Tensor:
        """The greatest element; with ``dim``, the named tuple ``(values, indices)`` along it."""
    def maximum(self, other: Any) -> Tensor:
        """The greater of ``input`` and ``other``; nan if either is. Equal ones share the gradient."""
    def mean(
        self,
        dim: _int | Sequence[_int] | None = ...,
        keepdim: _bool = ...,
        *,
        dtype: dtype | None = ...,
    ) -> Tensor:
        """The mean of all elements, or along ``dim``; arguments as for `sum`."""
    @overload
    def median(self) -> Tensor:
        """The median of all elements; with ``dim``, the named tuple ``(values, indices)`` along it."""
    @overload
    def median(self, dim: _int, keepdim: _bool = ...) -> return_types.median:
        """The median of all elements; with ``dim``, the named tuple ``(values, indices)`` along it."""
    @overload
    def min(self) -> Tensor:
        """The smallest element; with ``dim``, the named tuple ``(values, indices)`` along it."""
    @overload
    def min(self, dim: _int, keepdim: _bool = ...) -> return_types.min:
        """The smallest element; with ``dim``, the named tuple ``(values, indices)`` along it."""
    @overload
    def min(self, other: Tensor) -> Tensor:
        """The smallest element; with ``dim``, the named tuple ``(values, indices)`` along it."""
    def minimum(self, other: Any) -> Tensor:
        """The smaller of ``input`` and ``other``; nan if either is. Equal ones share the gradient."""
    def mm(self, mat2: Any) -> Tensor:
        """The product of two matrices, ``(n, m)`` and ``(m, p)``; the result is ``(n, p)``."""
    def moveaxis(self, source: Any, destination: Any) -> Tensor:
        """A view with dimensions ``source`` moved to ``destination``; the others keep their order."""
    def movedim(self, source: Any, destination: Any) -> Tensor:
        """A view with dimensions ``source`` moved to ``destination``; the others keep their order."""
    def mul(self, other: Any) -> Tensor:
        """``input * other``, broadcasting."""
    def mul_(self, other: Any) -> Tensor:
        """In-place `mul`: writes its result into the tensor."""
    def multinomial(
        self, num_samples: _int, replacement: _bool = ..., *, generator: Generator | None = ...
    ) -> Tensor:
        """Indices drawn with probabilities proportional to ``input``."""
    def multiply(self, other: Any) -> Tensor:
        """``input * other``, broadcasting."""
    def multiply_(self, other: Any) -> Tensor:
        """In-place `mul`: writes its result into the tensor."""
    def mv(self, vec: Any) -> Tensor:
        """The product of a matrix ``(n, m)`` and a vector ``(m,)``; the result is ``(n,)``."""
    def nan_to_num(
        self,
        nan: _bool | _int | _float | None = ...,
        posinf: _bool | _int | _float | None = ...,
        neginf: _bool | _int | _float | None = ...,
    ) -> Tensor:
        """``input`` with nan and infinities replaced by numbers."""
    def nan_to_num_(
        self,
        nan: _bool | _int | _float | None = ...,
        posinf: _bool | _int | _float | None = ...,
        neginf: _bool | _int | _float | None = ...,
    ) -> Tensor:
        """In-place `nan_to_num`: writes its result into the tensor."""
    def nanmean(
        self,
        dim: _int | Sequence[_int] | None = ...,
        keepdim: _bool = ...,
        *,
        dtype: dtype | None = ...,
    ) -> Tensor:
        """The mean of the elements that are not nan; arguments as for `sum`."""
    @overload
    def nanmedian(self) -> Tensor:
        """The `median` of the elements that are not nan; nan if all are."""
    @overload
    def nanmedian(self, dim: _int, keepdim: _bool = ...) -> return_types.nanmedian:
        """The `median` of the elements that are not nan; nan if all are."""
    def nanquantile(
        self, q: Any, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: str = ...
    ) -> Tensor:
        """The value below which the fraction ``q`` of the elements lies."""
    def nansum(
        self,
        dim: _int | Sequence[_int] | None = ...,
        keepdim: _bool = ...,
        *,
        dtype: dtype | None = ...,
    ) -> Tensor:
        """The sum of the elements that are not nan; arguments as for `sum`."""
    def narrow(self, dim: _int, start: Any, length: _int) -> Tensor:
        """A view of ``length`` elements from index ``start`` on along ``dim``."""
    def ndimension(self) -> _int:
        """The number of dimensions."""
    def ne(self, other: Any) -> Tensor:
        """``input != other``, elementwise."""
    def neg(self) -> Tensor:
        """``-input``."""
    def neg_(self) -> Tensor:
        """In-place `neg`: writes its result into the tensor."""
    def negative(self) -> Tensor:
        """``-input``."""
    def negative_(self) -> Tensor:
        """In-place `neg`: writes its result into the tensor."""
    def nelement(self) -> _int:
        """The number of elements."""
    def new(self, *given: Any, device: Any = ...) -> Tensor:
        """A new tensor with this tensor's dtype: for float32 `torch.FloatTensor(*given)`."""
    def new_empty(
        self,
        *sizes: Any,
        size: Sequence[_int] | None = ...,
        dtype: dtype | None = ...,
        device: Any = ...,
        layout: Any = ...,
        pin_memory: _bool = ...,
        requires_grad: _bool | None = ...,
    ) -> Tensor:
        """A tensor of arbitrary values with the dtype of this tensor; for ``sizes`` see `empty`."""
    def new_full(
        self,
        size: Sequence[_int],
        fill_value: Any,
        *,
        dtype: dtype | None = ...,
        device: Any = ...,
        layout: Any = ...,
        pin_memory: _bool = ...,
        requires_grad: _bool | None = ...,
    ) -> Tensor:
        """A tensor of shape ``size`` filled with ``fill_value``, with the dtype of this tensor."""
    def new_ones(
        self,
        *sizes: Any,
        size: Sequence[_int] | None = ...,
        dtype: dtype | None = ...,
        device: Any = ...,
        layout: Any = ...,
        pin_memory: _bool = ...,
        requires_grad: _bool | None = ...,
    ) -> Tensor:
        """A tensor of ones with the dtype of this tensor; for ``sizes`` see `ones`."""
    def new_tensor(
        self, data: Any, *, dtype: dtype | None = ..., device: Any = ..., requires_grad: _bool = ...
    ) -> Tensor:
        """A new tensor with a copy of ``data`` and the dtype of this tensor."""
    def new_zeros(
        self,
        *sizes: Any,
        size: Sequence[_int] | None = ...,
        dtype: dtype | None = ...,
        device: Any = ...,
        layout: Any = ...,
        pin_memory: _bool = ...,
        requires_grad: _bool | None = ...,
    ) -> Tensor:
        """A tensor of zeros with the dtype of this tensor; for ``sizes`` see `zeros`."""
    def nextafter(self, other: Any) -> Tensor:
        """The next floating-point number after ``input`` in the direction of ``other``."""
    def nextafter_(self, other: Any) -> Tensor:
        """In-place `nextafter`: writes its result into the tensor."""
    @overload
    def nonzero(self, *, as_tuple: Literal[False] = ..., out: Any = ...) -> Tensor:
        """The indices of the elements that are not zero, of shape ``(number, ndim)``."""
    @overload
    def nonzero(self, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]:
        """The indices of the elements that are not zero, of shape ``(number, ndim)``."""
    def norm(
        self,
        p: Any = ...,
        dim: _int | Sequence[_int] | None = ...,
        keepdim: _bool = ...,
        dtype: dtype | None = ...,
    ) -> Tensor:
        """`torch.norm` of this tensor."""
    def normal_(
        self, mean: _float = ..., std: _float = ..., *, generator: Generator | None = ...
    ) -> Tensor:
        """Fill with normally distributed numbers; returns the tensor."""
    def not_equal(self, other: Any) -> Tensor:
        """``input != other``, elementwise."""
    def outer(self, vec2: Tensor) -> Tensor:
        """The outer product of two vectors: ``out[i, j] = input[i] * vec2[j]``."""
    def permute(self, *order: Any, dims: Sequence[_int] | None = ...) -> Tensor:
        """A view with the dimensions in the order ``dims``."""
    def pin_memory(self, device: Any = ...) -> Tensor:
        """Raise PyTorch's error: pinned memory needs an accelerator, and there is none."""
    def pinverse(self, rcond: _float = ...) -> Tensor:
        """`torch.linalg.pinv` with ``rcond`` 1e-15 by default."""
    def positive(self) -> Tensor:
        """``+input``: the tensor itself."""
    def pow(self, exponent: Any) -> Tensor:
        """``input ** exponent``, broadcasting; one of the two may be a Python number."""
    def pow_(self, exponent: Any) -> Tensor:
        """In-place `pow`: writes its result into the tensor."""
    def prelu(self, weight: Tensor) -> Tensor:
        """``input`` where positive, ``weight * input`` elsewhere."""
    def prod(self, dim: _int = ..., keepdim: _bool = ..., *, dtype: dtype | None = ...) -> Tensor:
        """The product of all elements, or along one dimension; other arguments as for `sum`."""
    def put(self, index: Any, source: Any, accumulate: _bool = ...) -> Tensor:
        """``input`` with the elements of ``source`` at ``index`` of its flattened elements."""
    def put_(self, index: Any, source: Any, accumulate: _bool = ...) -> Tensor:
        """In-place `put_in_place`: writes its result into the tensor."""
    def quantile(
        self, q: Any, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: str = ...
    ) -> Tensor:
        """The value below which the fraction ``q`` of the elements lies."""
    def rad2deg(self) -> Tensor:
        """Radians in degrees."""
    def rad2deg_(self) -> Tensor:
        """In-place `rad2deg`: writes its result into the tensor."""
    def random_(
        self, *bounds: _int | None, generator: Generator | None = ..., **named: _int
    ) -> Tensor:
        """Fill with random integers; returns the tensor."""
    def ravel(self) -> Tensor:
        """All elements in one dimension: a view of a contiguous tensor, else a copy."""
    @property
    def real(self) -> Tensor: ...
    def reciprocal(self) -> Tensor:
        """``1 / input``."""
    def reciprocal_(self) -> Tensor:
        """In-place `reciprocal`: writes its result into the tensor."""
    def relu(self) -> Tensor:
        """``max(input, 0)``; its gradient at 0 is 0."""
    def relu_(self) -> Tensor:
        """In-place `relu`: writes its result into the tensor."""
    def remainder(self, other: Any) -> Tensor:
        """``input - floor(input / other) * other``, with the sign of ``other``, as Python's `%`."""
    def remainder_(self, other: Any) -> Tensor:
        """In-place `remainder`: writes its result into the tensor."""
    def renorm(self, p: _bool | _int | _float, dim: _int, maxnorm: _bool | _int | _float) -> Tensor:
        """``input`` with each slice along ``dim`` scaled to a norm (order ``p``) up to ``maxnorm``."""
    def renorm_(
        self, p: _bool | _int | _float, dim: _int, maxnorm: _bool | _int | _float
    ) -> Tensor:
        """In-place `renorm`: writes its result into the tensor."""
    def repeat(self, *times: Any, repeats: Sequence[_int] | None = ...) -> Tensor:
        """Copies of the tensor side by side along each dimension."""
    def repeat_interleave(
        self, repeats: Any = ..., dim: _int | None = ..., *, output_size: _int | None = ...
    ) -> Tensor:
        """Each element, or each slice along ``dim``, several times in succession."""
    def reshape(self, *given: Any, shape: Sequence[_int] | None = ...) -> Tensor:
        """The same elements in another shape: a view if the layout in memory allows it, else a copy."""
    def reshape_as(self, other: Tensor) -> Tensor:
        """`reshape` of this tensor to the shape of ``other``."""
    def resize_(self, *size: Any, memory_format: Any = ...) -> Tensor:
        """Give the tensor another shape in its own memory, with contiguous strides; returns it."""
    def resize_as_(self, the_template: Tensor, *, memory_format: Any = ...) -> Tensor:
        """`resize_` to the shape of ``the_template``."""
    def resolve_conj(self) -> Tensor:
        """The tensor itself, whose numbers are real."""
    def resolve_neg(self) -> Tensor:
        """The tensor itself, whose numbers are real."""
    def roll(self, shifts: Any, dims: Any = ...) -> Tensor:
        """A copy with the elements shifted along ``dims``; elements past the end reappear at the start."""
    def rot90(self, k: _int = ..., dims: Sequence[_int] = ...) -> Tensor:
        """A copy rotated by ``k`` times 90 degrees, from the first of ``dims`` to the second."""
    def round(self, *, decimals: _int | None = ...) -> Tensor:
        """The nearest number with ``decimals`` decimals; halves are rounded to the even one."""
    def round_(self, *, decimals: _int | None = ...) -> Tensor:
        """In-place `round`: writes its result into the tensor."""
    def rsqrt(self) -> Tensor:
        """``1 / sqrt(input)``."""
    def rsqrt_(self) -> Tensor:
        """In-place `rsqrt`: writes its result into the tensor."""
    def scatter(
        self, dim: _int, index: Any, src: Any = ..., *, value: Any = ..., reduce: str | None = ...
    ) -> Tensor:
        """A copy of ``input`` with elements of ``src`` at ``index`` along ``dim``."""
    def scatter_(
        self,
        dim: _int,
        index: Tensor,
        src: Any = ...,
        *,
        value: Any = ...,
        reduce: str | None = ...,
    ) -> Tensor:
        """In-place `scatter`."""
    def scatter_add(self, dim: _int, index: Any, src: Any) -> Tensor:
        """A copy of ``input`` with elements of ``src`` added at ``index`` along ``dim``."""
    def scatter_add_(self, dim: _int, index: Any, src: Any) -> Tensor:
        """In-place `scatter_add_in_place`: writes its result into the tensor."""
    def scatter_reduce(
        self, dim: _int, index: Any, src: Any, reduce: str, *, include_self: _bool = ...
    ) -> Tensor:
        """``input`` with elements of ``src`` combined at ``index`` along ``dim``."""
    def scatter_reduce_(
        self, dim: _int, index: Any, src: Any, reduce: str, *, include_self: _bool = ...
    ) -> Tensor:
        """In-place `scatter_reduce`: writes its result into the tensor."""
    def select(self, dim: _int, index: _int) -> Tensor:
        """The part of ``input`` at ``index`` along ``dim``; the result lacks this dimension."""
    def sgn(self) -> Tensor:
        """The sign of each element: -1, 0 or 1; 0 for nan."""
    def sgn_(self) -> Tensor:
        """In-place `sgn`: writes its result into the tensor."""
    def short(self) -> Tensor:
        """This tensor with dtype int16."""
    def sigmoid(self) -> Tensor:
        """``1 / (1 + exp(-input))``."""
    def sigmoid_(self) -> Tensor:
        """In-place `sigmoid`: writes its result into the tensor."""
    def sign(self) -> Tensor:
        """The sign of each element: -1, 0 or 1; 0 for nan."""
    def sign_(self) -> Tensor:
        """In-place `sign`: writes its result into the tensor."""
    def signbit(self) -> Tensor:
        """Whether each element has a negative sign; -0.0 has one."""
    def sin(self) -> Tensor:
        """The sine of an angle in radians."""
    def sin_(self) -> Tensor:
        """In-place `sin`: writes its result into the tensor."""
    def sinc(self) -> Tensor:
        """``sin(π input) / (π input)``; 1 at 0."""
    def sinc_(self) -> Tensor:
        """In-place `sinc`: writes its result into the tensor."""
    def sinh(self) -> Tensor:
        """The hyperbolic sine."""
    def sinh_(self) -> Tensor:
        """In-place `sinh`: writes its result into the tensor."""
    def slogdet(self) -> return_types.slogdet:
        """`torch.linalg.slogdet`: the named tuple ``(sign, logabsdet)``."""
    def softmax(self, dim: _int, dtype: Any = ...) -> Tensor:
        """``exp(input)`` divided by its sum along ``dim``: numbers in [0, 1] with sum 1."""
    def sort(
        self, dim: _int = ..., descending: _bool = ..., *, stable: _bool | None = ...
    ) -> return_types.sort:
        """The elements sorted along ``dim``: the named tuple ``(values, indices)``."""
    def split(self, split_size: Any, dim: _int = ...) -> tuple[Tensor, ...]:
        """The parts along ``dim``, of one size or of given sizes, as views."""
    def split_with_sizes(self, split_sizes: Sequence[_int], dim: _int = ...) -> tuple[Tensor, ...]:
        """The parts of ``split_sizes`` along ``dim``, as views."""
    def sqrt(self) -> Tensor:
        """The square root; nan for negative numbers."""
    def sqrt_(self) -> Tensor:
        """In-place `sqrt`: writes its result into the tensor."""
    def square(self) -> Tensor:
        """``input ** 2``."""
    def square_(self) -> Tensor:
        """In-place `square`."""
    def squeeze(self, *dims: Any, dim: Any = ..., **named: Any) -> Tensor:
        """A view without dimensions of size 1."""
    def squeeze_(self, *args: Any, **kwargs: Any) -> Tensor:
        """In-place `squeeze`."""
    def std(
        self,
        dim: Any = ...,
        unbiased: _bool = ...,
        keepdim: _bool = ...,
        *,
        correction: _float | None = ...,
    ) -> Tensor:
        """The standard deviation: the square root of `var`, with the same arguments."""
    def storage_offset(self) -> _int:
        """The position of the first element in the tensor's memory, in elements."""
    def sub(self, other: Any, *, alpha: _bool | _int | _float = ...) -> Tensor:
        """``input - alpha * other``, broadcasting."""
    def sub_(self, other: Any, *, alpha: _bool | _int | _float = ...) -> Tensor:
        """In-place `sub`: writes its result into the tensor."""
    def subtract(self, other: Any, *, alpha: _bool | _int | _float = ...) -> Tensor:
        """``input - alpha * other``, broadcasting."""
    def subtract_(self, other: Any, *, alpha: _bool | _int | _float = ...) -> Tensor:
        """In-place `sub`: writes its result into the tensor."""
    def sum(
        self,
        dim: _int | Sequence[_int] | None = ...,
        keepdim: _bool = ...,
        *,
        dtype: dtype | None = ...,
    ) -> Tensor:
        """The sum of all elements, or along ``dim``."""
    def sum_to_size(self, *sizes: Any, size: Sequence[_int] | None = ...) -> Tensor:
        """The sum along those dimensions that leave the shape ``size``: the adjoint of `expand`."""
    def svd(self, some: _bool = ..., compute_uv: _bool = ...) -> return_types.svd:
        """The older form of `torch.linalg.svd`: the named tuple ``(U, S, V)``, where V is ``Vhᵀ``."""
    def swapaxes(self, axis0: _int, axis1: _int) -> Tensor:
        """NumPy's name of `transpose`."""
    def swapaxes_(self, *args: Any, **kwargs: Any) -> Tensor:
        """In-place `swapaxes`."""
    def swapdims(self, dim0: _int, dim1: _int) -> Tensor:
        """Another name of `transpose`."""
    def swapdims_(self, *args: Any, **kwargs: Any) -> Tensor:
        """In-place `swapdims`."""
    def t(self) -> Tensor:
        """The transpose of a matrix, as a view; vectors and 0-d tensors stay as they are."""
    def t_(self, *args: Any, **kwargs: Any) -> Tensor:
        """In-place `t`."""
    def take(self, index: Any) -> Tensor:
        """The elements of the flattened ``input`` at ``index``, in the shape of ``index``."""
    def take_along_dim(self, indices: Tensor, dim: _int | None = ...) -> Tensor:
        """The elements at ``indices`` along ``dim``, such as the results of `argmax` and `argsort`."""
    def tan(self) -> Tensor:
        """The tangent of an angle in radians."""
    def tan_(self) -> Tensor:
        """In-place `tan`: writes its result into the tensor."""
    def tanh(self) -> Tensor:
        """The hyperbolic tangent."""
    def tanh_(self) -> Tensor:
        """In-place `tanh`: writes its result into the tensor."""
    def tensor_split(self, indices_or_sections: Any, dim: _int = ...) -> tuple[Tensor, ...]:
        """The parts of ``input`` along ``dim``, as views."""
    def tile(self, *times: Any, dims: Sequence[_int] | None = ...) -> Tensor:
        """`Tensor.repeat`, where fewer numbers count for the last dimensions."""
    def to(
        self,
        *target: Any,
        tensor: Tensor = ...,
        dtype: dtype | None = ...,
        device: Any = ...,
        non_blocking: _bool = ...,
        copy: _bool = ...,
        memory_format: Any = ...,
    ) -> Tensor:
        """This tensor with another dtype; itself if nothing changes."""
    def to_dense(self, dtype: dtype | None = ..., *, masked_grad: Any = ...) -> Tensor:
        """The tensor, which is dense, in another dtype if one is given."""
    def topk(
        self, k: _int, dim: _int = ..., largest: _bool = ..., sorted: _bool = ...
    ) -> return_types.topk:
        """The ``k`` greatest elements along ``dim``: the named tuple ``(values, indices)``."""
    def trace(self) -> Tensor:
        """The sum of the diagonal of a matrix."""
    def transpose(self, dim0: _int, dim1: _int) -> Tensor:
        """A view with dimensions ``dim0`` and ``dim1`` swapped."""
    def transpose_(self, *args: Any, **kwargs: Any) -> Tensor:
        """In-place `transpose`."""
    def tril(self, diagonal: _int = ...) -> Tensor:
        """The lower triangle of each matrix: zeros above the diagonal number ``diagonal``."""
    def tril_(self, diagonal: _int = ...) -> Tensor:
        """In-place `tril`: writes its result into the tensor."""
    def triu(self, diagonal: _int = ...) -> Tensor:
        """The upper triangle of each matrix: zeros below the diagonal number ``diagonal``."""
    def triu_(self, diagonal: _int = ...) -> Tensor:
        """In-place `triu`: writes its result into the tensor."""
    def true_divide(self, other: Any) -> Tensor:
        """``input / other``, broadcasting; integers become the default floating-point dtype."""
    def true_divide_(self, other: Any) -> Tensor:
        """In-place `true_divide`: writes its result into the tensor."""
    def trunc(self) -> Tensor:
        """The integer part of each element."""
    def trunc_(self) -> Tensor:
        """In-place `trunc`: writes its result into the tensor."""
    @overload
    def type(self) -> str:
        """The name of the tensor's type, or with ``dtype`` the tensor in that dtype."""
    @overload
    def type(self, dtype: Any, non_blocking: _bool = ...) -> Tensor:
        """The name of the tensor's type, or with ``dtype`` the tensor in that dtype."""
    def type_as(self, other: Tensor) -> Tensor:
        """This tensor with the dtype of ``other``."""
    def unbind(self, dim: _int = ...) -> tuple[Tensor, ...]:
        """The slices at each index of dimension ``dim``, without that dimension, as views."""
    def unflatten(self, dim: _int, sizes: Sequence[_int]) -> Tensor:
        """A view with dimension ``dim`` split into ``sizes``, one of which may be -1."""
    def unfold(self, dimension: _int, size: _int, step: _int) -> Tensor:
        """A view of windows along ``dimension``, each one a row of the new last dimension."""
    def uniform_(
        self, *bounds: _float, generator: Generator | None = ..., **named: _float
    ) -> Tensor:
        """Fill with uniformly distributed numbers; returns the tensor."""
    def unique(
        self,
        sorted: _bool = ...,
        return_inverse: _bool = ...,
        return_counts: _bool = ...,
        dim: _int | None = ...,
    ) -> Any:
        """The unique values, in ascending order; no nan equals another."""
    def unique_consecutive(
        self, return_inverse: _bool = ..., return_counts: _bool = ..., dim: _int | None = ...
    ) -> Any:
        """The values without repeated neighbours; arguments as for `unique`."""
    def unsqueeze(self, dim: _int) -> Tensor:
        """A view with a new dimension of size 1 at index ``dim``, from -ndim - 1 to ndim."""
    def unsqueeze_(self, *args: Any, **kwargs: Any) -> Tensor:
        """In-place `unsqueeze`."""
    def untyped_storage(self) -> UntypedStorage:
        """The whole memory of the tensor, which it may share with other tensors."""
    def var(
        self,
        dim: Any = ...,
        unbiased: _bool = ...,
        keepdim: _bool = ...,
        *,
        correction: _float | None = ...,
    ) -> Tensor:
        """The variance of all elements, or along ``dim``."""
    def vdot(self, other: Any) -> Tensor:
        """The dot product of two vectors; the same as `dot` for real numbers."""
    def view(
        self, *shape: Any, size: Sequence[_int] | None = ..., dtype: dtype | None = ...
    ) -> Tensor:
        """A view of the same memory in another shape, or as another dtype."""
    def view_as(self, other: Tensor) -> Tensor:
        """A `view` in the shape of ``other``."""
    def vsplit(self, *split: Any, sections: Any = ..., indices: Any = ...) -> tuple[Tensor, ...]:
        """The parts of ``input`` along dimension 0, as views."""
    def where(self, condition: Tensor, other: Any) -> Tensor:
        """This tensor where ``condition`` is true and ``other`` elsewhere."""
    def zero_(self) -> Tensor:
        """In-place `zero`: writes its result into the tensor."""
