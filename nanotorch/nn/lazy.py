"""Lazy layers: they read the size of their input from the first input."""

import inspect
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from nanotorch import ops
from nanotorch._core.tensor import Tensor
from nanotorch.nn import normalization, spatial
from nanotorch.nn.linear import Linear
from nanotorch.nn.module import Module
from nanotorch.nn.parameter import Parameter
from nanotorch.overrides import DisableTorchFunctionSubclass

NO_SHAPE = (
    "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
    "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. "
    "Call `forward` to initialize the parameters before accessing their attributes."
)
USED = (
    "Attempted to use an uninitialized parameter in <method '{}' of 'torch._C.TensorBase' objects>."
    " This error happens when you are using a `LazyModule` or explicitly manipulating "
    "`torch.nn.parameter.UninitializedParameter` objects. When using LazyModules Call `forward` "
    "with a dummy batch to initialize the parameters before calling torch functions"
)
# The methods that work without values: conversions and inspection.
ALLOWED = {
    "__get__", "__set__", "bfloat16", "cpu", "double", "float", "half", "is_complex",
    "is_floating_point", "is_inference", "requires_grad_", "to",
}  # fmt: skip


class _Uninitialized:
    """The base of parameters and buffers without values; `materialize` adds the values."""

    cls_to_become: type[Tensor]
    _array: Any

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.__name__ == "detach":
            return args[0]
        if func.__name__ not in ALLOWED:
            raise ValueError(USED.format(func.__name__))
        with DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))

    @property
    def shape(self) -> Any:
        """Always a RuntimeError: the shape is not known yet."""
        raise RuntimeError(NO_SHAPE)

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Become a parameter or buffer of this shape, with arbitrary values."""
        kept = self._array.dtype
        made: Any = ops.empty(shape, device=device, dtype=dtype)
        self._array = made._array if dtype is not None else made._array.astype(kept)
        self.__class__ = self.cls_to_become  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class UninitializedParameter(_Uninitialized, Parameter, asked=True):
    """A parameter whose shape is not known yet."""

    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        return Parameter.__new__(cls, ops.empty(0, device=device, dtype=dtype), requires_grad)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            made = memo[id(self)] = type(self)(self.requires_grad)
            made._array = self._array.copy()
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> Any:
        return type(self), (self.requires_grad,)


class UninitializedBuffer(_Uninitialized, Tensor, asked=True):
    """A buffer whose shape is not known yet."""

    cls_to_become = Tensor

    def __new__(
        cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, **named: Any
    ) -> Any:
        made = ops.empty(0, device=device, dtype=dtype, requires_grad=requires_grad)
        made.__class__ = cls
        return made


def is_lazy(param: Any) -> bool:
    """Whether a parameter or buffer has no shape yet."""
    return isinstance(param, _Uninitialized)


class LazyModuleMixin(Module):
    """The base of lazy layers; after its first input, a lazy layer has class ``cls_to_become``."""

    cls_to_become: type[Module]
    _size_name: str  # the first argument, and attribute, whose value comes from the input
    _ndims: tuple[int, ...] = ()  # dimensions of the input: unbatched, batched; () does not check
    _defaults: Mapping[str, Any] = MappingProxyType({})  # where they differ from the layer's

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        signature = inspect.signature(self.cls_to_become)
        given = {**self._defaults, **signature.bind(0, *args, **kwargs).arguments}
        super().__init__(**given)
        self._given = {name: value for name, value in given.items() if name != self._size_name}
        for name, parameter in self._parameters.items():
            if parameter is not None:
                made = UninitializedParameter(parameter.requires_grad, dtype=parameter.dtype)
                self._parameters[name] = made
        for name, buffer in self._buffers.items():
            if buffer is not None and buffer.ndim:
                self._buffers[name] = UninitializedBuffer(dtype=buffer.dtype)
        hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)
        self._initialize_hook = hook

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or buffer has no shape yet."""
        return any(map(is_lazy, (*self._parameters.values(), *self._buffers.values())))

    def reset_parameters(self) -> None:
        """Draw new values for the parameters, if they have a shape already."""
        if getattr(self, self._size_name) and not self.has_uninitialized_params():
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input: Tensor) -> None:
        """Create the parameters for the size of ``input``."""
        size = self._size_of(input)
        if self.has_uninitialized_params():
            held: dict[str, Any] = {**self._parameters, **self._buffers}
            kind = next(p.dtype for p in held.values() if is_lazy(p))
            made: Any = self.cls_to_become(size, **{**self._given, "dtype": kind})
            for name, new in {**made._parameters, **made._buffers}.items():
                if is_lazy(held[name]):
                    held[name].materialize(new.shape)
                    held[name].data = new.data
        setattr(self, self._size_name, size)

    def _size_of(self, input: Tensor) -> int:
        """The size that ``input`` has."""
        if not self._ndims:
            return input.shape[-1 if self._size_name == "in_features" else 1]
        unbatched, batched = self._ndims
        if input.ndim not in self._ndims:
            raise RuntimeError(
                f"Expected {unbatched}D (unbatched) or {batched}D (batched) input to "
                f"{type(self).__name__}, but got input of size: {input.shape}"
            )
        return input.shape[input.ndim - unbatched]

    def _infer_parameters(self, module: Any, args: Any, kwargs: Any = None) -> None:
        self.initialize_parameters(*args, **(kwargs or {}))
        self._initialize_hook.remove()
        del self._initialize_hook, self._given
        self.__class__ = self.cls_to_become  # type: ignore[assignment]

    def _take(self, name: str, key: str, tensor: Any, value: Any, *others: Any) -> None:
        if not (is_lazy(tensor) and is_lazy(value)):
            super()._take(name, key, tensor, value, *others)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *others: Any) -> None:
        """Load tensors; uninitialized ones first get the shape of the loaded ones."""
        held: Any
        for name, held in (*self._parameters.items(), *self._buffers.items()):
            loaded = state_dict.get(prefix + name)
            if is_lazy(held) and loaded is not None and not is_lazy(loaded):
                held.materialize(loaded.shape)
        super()._load_from_state_dict(state_dict, prefix, *others)


def lazy(layer: type[Module], size_name: str, *ndims: int, **defaults: Any) -> Any:
    """The lazy class of a layer; see `LazyModuleMixin` for the arguments."""
    name = f"Lazy{layer.__name__}"
    message = f"A `{layer.__name__}` that takes ``{size_name}`` from its first input."
    members = {"cls_to_become": layer, "_size_name": size_name, "_ndims": ndims}
    own = {"_defaults": defaults, "__doc__": message, "__module__": __name__}
    return type(name, (LazyModuleMixin, layer), members | own)


def of_dims(home: Any, name: str, size_name: str, *more: int, **defaults: Any) -> Any:
    """The lazy classes of a layer of 1, 2 and 3 dimensions.

    Args:
        more: the numbers of further dimensions that the input may have.
    """
    return [
        lazy(getattr(home, f"{name}{d}d"), size_name, *(d + n for n in more), **defaults)
        for d in (1, 2, 3)
    ]


LazyLinear = lazy(Linear, "in_features")
LazyConv1d, LazyConv2d, LazyConv3d = of_dims(spatial, "Conv", "in_channels", 1, 2)
LazyConvTranspose1d, LazyConvTranspose2d, LazyConvTranspose3d = of_dims(
    spatial, "ConvTranspose", "in_channels", 1, 2
)
LazyBatchNorm1d, LazyBatchNorm2d, LazyBatchNorm3d = of_dims(
    normalization, "BatchNorm", "num_features"
)
LazyInstanceNorm1d, LazyInstanceNorm2d, LazyInstanceNorm3d = of_dims(
    normalization, "InstanceNorm", "num_features", affine=True, track_running_stats=True
)
__all__ = [
    *("LazyLinear", "UninitializedBuffer", "UninitializedParameter"),
    *("LazyConv1d", "LazyConv2d", "LazyConv3d"),
    *("LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d"),
    *("LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d"),
    *("LazyInstanceNorm1d", "LazyInstanceNorm2d", "LazyInstanceNorm3d"),
]
