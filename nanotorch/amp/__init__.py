"""Automatic mixed precision: `autocast` on the CPU, and `GradScaler`."""

import functools
from collections.abc import Callable, Iterable
from typing import Any

from nanotorch._core.arguments import map_args
from nanotorch._core.autocast import state
from nanotorch._core.call_site import warn
from nanotorch._core.dtypes import bfloat16, device, float16, float64
from nanotorch._core.dtypes import dtype as DType
from nanotorch._core.grad_mode import no_grad
from nanotorch._core.tensor import Tensor
from nanotorch.names.lookup import on_demand

on_demand(__name__)

NO_GPU = "CUDA is not available or torch_xla is imported. Disabling autocast."
UNSUPPORTED = (
    "In CPU autocast, but the target dtype is not supported. Disabling autocast.\n"
    "CPU Autocast only supports dtypes of torch.bfloat16, torch.float16 currently."
)
LOWER = (bfloat16, float16)
DEVICES = ("cpu", "cuda", "hpu", "ipu", "maia", "mps", "mtia", "xla", "xpu")  # that have autocast


class autocast:  # noqa: N801 - PyTorch's name
    """A block, or a decorator of functions, with operations in lower precision.

    Products of matrices, convolutions and attention convert their floating-point operands to
    ``dtype``. Losses, products of elements and most of `linalg` convert them to float32, `cat` and
    `stack` to the widest dtype among them. All other operations, in-place forms and forms with
    ``out=`` compute in the dtypes that tensors have; float64 stays. Gradients of parameters have
    the parameters' dtypes. Autocast belongs to the thread that enters it.

    Args:
        device_type: "cpu", or "cuda" and others, where it has no effect.
        dtype: bfloat16 or float16. Default: `get_autocast_dtype(device_type)`, bfloat16 on the CPU.
        enabled: whether to convert; False leaves autocast inside of the block.
        cache_enabled: whether a parameter is converted once until the outermost block ends.
            Default: True, or what `set_autocast_cache_enabled` has set.

    Raises:
        RuntimeError: for a ``device_type`` without autocast.
        ValueError: if ``device_type`` is not a string.

    Warns:
        UserWarning: for "cuda", and on the CPU for another ``dtype``: autocast is disabled.
    """

    def __init__(
        self,
        device_type: str,
        dtype: DType | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        require_text(device_type)
        self.device = device(device_type).type
        self.fast_dtype = get_autocast_dtype(self.device) if dtype is None else dtype
        self._cache_enabled = state.caching if cache_enabled is None else cache_enabled
        if enabled and self.device == "cuda":
            warn(NO_GPU)
            enabled = False
        elif enabled and self.device == "cpu" and self.fast_dtype not in LOWER:
            warn(UNSUPPORTED)
            enabled = False
        self._enabled = enabled

    def __enter__(self) -> "autocast":
        check_setting("enabled", self._enabled, bool)
        check_setting("dtype", self.fast_dtype, DType)
        state.enter(self.device, self._enabled, self.fast_dtype, self._cache_enabled)
        return self

    def __exit__(self, *error: object) -> None:
        state.leave()

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """The function ``func``, whose calls are such blocks."""
        return autocast_decorator(self, func)


def autocast_decorator(autocast_instance: Any, func: Callable[..., Any]) -> Callable[..., Any]:
    """The function ``func``, whose calls are blocks of ``autocast_instance``."""

    @functools.wraps(func)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        with autocast_instance:
            return func(*args, **kwargs)

    return decorated


# The state that `autocast` changes.


def require_text(device_type: Any) -> None:
    """Refuse a type of device that is not a string."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")


def check_setting(name: str, value: Any, kind: type, place: int = 2) -> None:
    """Refuse a setting of another type."""
    if not isinstance(value, kind):
        wanted = "torch.dtype" if kind is DType else kind.__name__
        raise TypeError(
            f"set_autocast_{name}(): argument '{name}' (position {place}) must be {wanted}, not "
            f"{type(value).__name__}"
        )


def device_of(caller: str, device_type: Any) -> str:
    """The type of a device that has autocast."""
    if not isinstance(device_type, str):
        raise TypeError(
            f"{caller}(): argument 'device_type' (position 1) must be str, not "
            f"{type(device_type).__name__}"
        )
    found = device(device_type).type
    if found not in DEVICES:
        raise RuntimeError(
            "unsupported scalarType"
            if caller == "get_autocast_dtype"
            else "unknown device type for autocast in get_autocast_dispatch_key_from_device_type"
        )
    return found


def is_autocast_available(device_type: str) -> bool:
    """Whether PyTorch has autocast for ``device_type``."""
    return device(device_type).type in DEVICES


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether autocast is on for ``device_type`` in this thread."""
    return state.setting(device_of("is_autocast_enabled", device_type))[0]


def set_autocast_enabled(device_type: Any, enabled: Any = ...) -> None:
    """Turn autocast on or off for ``device_type``, "cuda" if only ``enabled`` is given."""
    if enabled is ...:
        check_setting("enabled", device_type, bool, 1)
        device_type, enabled = "cuda", device_type
    check_setting("enabled", enabled, bool)
    found = device_of("set_autocast_enabled", device_type)
    state.set(found, enabled, state.setting(found)[1])


def get_autocast_dtype(device_type: str) -> DType:
    """The lower dtype of ``device_type`` in this thread. Default: bfloat16 for "cpu", else float16.

    Raises:
        RuntimeError: for a ``device_type`` without autocast.
    """
    dtype: DType = state.setting(device_of("get_autocast_dtype", device_type))[1]
    return dtype


def set_autocast_dtype(device_type: str, dtype: DType) -> None:
    """Set the lower dtype of ``device_type`` in this thread."""
    check_setting("dtype", dtype, DType)
    found = device_of("set_autocast_dtype", device_type)
    state.set(found, state.setting(found)[0], dtype)


def is_autocast_cache_enabled() -> bool:
    """Whether a parameter is converted once in this thread, until the outermost block ends."""
    return state.caching


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Set whether a parameter is converted once in this thread."""
    check_setting("cache_enabled", enabled, bool, 1)
    state.caching = enabled


def clear_autocast_cache() -> None:
    """Forget the converted parameters of this thread."""
    state.cache.clear()


def autocast_increment_nesting() -> int:
    """Count that a block begins; returns the number of blocks."""
    state.nesting += 1
    return state.nesting


def autocast_decrement_nesting() -> int:
    """Count that a block ends; returns the number of blocks."""
    state.nesting -= 1
    return state.nesting


def warn_of_former(name: str, instead: str) -> None:
    """Warn of a name that PyTorch deprecates."""
    warn(f"torch.{name} is deprecated. Please use torch.{instead} instead.", DeprecationWarning)


def get_autocast_cpu_dtype() -> DType:
    """See `get_autocast_dtype`.

    Warns:
        DeprecationWarning: always.
    """
    warn_of_former("get_autocast_cpu_dtype()", "get_autocast_dtype('cpu')")
    return get_autocast_dtype("cpu")


def is_autocast_cpu_enabled() -> bool:
    """See `is_autocast_enabled`.

    Warns:
        DeprecationWarning: always.
    """
    warn_of_former("is_autocast_cpu_enabled()", "is_autocast_enabled('cpu')")
    return is_autocast_enabled("cpu")


def set_autocast_cpu_dtype(dtype: DType) -> None:
    """See `set_autocast_dtype`.

    Warns:
        DeprecationWarning: always.
    """
    warn_of_former("set_autocast_cpu_dtype(dtype)", "set_autocast_dtype('cpu', dtype)")
    set_autocast_dtype("cpu", dtype)


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """See `set_autocast_enabled`.

    Warns:
        DeprecationWarning: always.
    """
    warn_of_former("set_autocast_cpu_enabled(enabled)", "set_autocast_enabled('cpu', enabled)")
    set_autocast_enabled("cpu", enabled)


# Decorators of `autograd.Function`.


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, device_type: str, cast_inputs: DType | None = None
) -> Callable[..., Any]:
    """Decorate the `forward` of an `autograd.Function`; without ``fwd``, return a decorator.

    Args:
        cast_inputs: in autocast, convert the floating-point tensors among the arguments, except
            float64, and leave autocast. Default: None, which keeps both.

    Raises:
        ValueError: if ``device_type`` is not a string.
    """
    require_text(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorated(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        ctx._dtype = get_autocast_dtype(device_type)
        on = is_autocast_enabled(device_type)
        ctx._fwd_used_autocast = on and cast_inputs is None
        if not on or cast_inputs is None:
            return fwd(ctx, *args, **kwargs)
        args, kwargs = map_args((args, kwargs), lambda value: convert(value, cast_inputs))
        with autocast(device_type, enabled=False):
            return fwd(ctx, *args, **kwargs)

    return decorated


def convert(value: Any, dtype: DType) -> Any:
    """A floating-point tensor in a dtype, unless it is float64; any other value as it is."""
    if isinstance(value, Tensor) and value.is_floating_point() and value.dtype is not float64:
        return value.to(dtype)
    return value


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Callable[..., Any]:
    """Decorate the `backward` of an `autograd.Function`, which gets the autocast of its `forward`;
    without ``bwd``, return a decorator.

    Raises:
        ValueError: if ``device_type`` is not a string.
    """
    require_text(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorated(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, ctx._dtype, ctx._fwd_used_autocast):
            return bwd(ctx, *args, **kwargs)

    return decorated


OFF = "torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling."
SAVED = ("scale", "growth_factor", "backoff_factor", "growth_interval", "_growth_tracker")


class GradScaler:
    """Multiplies losses by a factor, divides gradients by it, and skips steps with inf or nan.

    The factor grows after ``growth_interval`` steps without a skip, and shrinks after each skip.

    Args:
        device: "cpu" enables the scaler. "cuda", the default, disables it: there is no GPU.
        init_scale: the initial factor. Default: 65536.
        growth_factor, backoff_factor: multiply the factor when it grows or shrinks. Default: 2
            and 0.5.
        growth_interval: the number of steps until the factor grows. Default: 2000.
        enabled: False leaves losses, gradients and steps unchanged. Default: True.

    Raises:
        AssertionError: unless ``growth_factor`` > 1 and ``backoff_factor`` < 1.

    Warns:
        UserWarning: if ``device`` disables the scaler.
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device = device
        self._enabled = enabled and device == "cpu"
        if enabled and not self._enabled:
            warn(OFF)
        if self._enabled and growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if self._enabled and backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._scale = float(init_scale)
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval = growth_interval
        self._growth_tracker = 0
        self._used = False
        self._found: dict[int, bool] = {}  # of optimizers unscaled since `update`: inf or nan found

    def is_enabled(self) -> bool:
        """Whether the scaler is enabled."""
        return self._enabled

    def scale(self, outputs: Any) -> Any:
        """A tensor, or each tensor of an iterable, times the factor.

        Raises:
            ValueError: for another type.
        """
        if not self._enabled:
            return outputs
        self._used = True
        if isinstance(outputs, Tensor):
            return outputs * self._scale
        if isinstance(outputs, Iterable):
            scaled = map(self.scale, outputs)
            return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimizer's parameters by the factor.

        Raises:
            RuntimeError: if this was done since the last `update`.
        """
        if not self._enabled:
            return
        if id(optimizer) in self._found:
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since the last update()."
            )
        found = False
        with no_grad():
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    if parameter.grad is not None:
                        found = found or not bool(parameter.grad.isfinite().all())
                        parameter.grad.mul_(1.0 / self._scale)
        self._found[id(optimizer)] = found

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Unscale the gradients unless that is done, and step if all of them are finite.

        Returns:
            the result of ``optimizer.step``, or None for a skipped step.

        Raises:
            RuntimeError: for a keyword ``closure``: its gradients would not be unscaled.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        if id(optimizer) not in self._found:
            self.unscale_(optimizer)
        return None if self._found[id(optimizer)] else optimizer.step(*args, **kwargs)

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Adapt the factor to the steps since the last update, or set it to ``new_scale``.

        Raises:
            AssertionError: if no loss was scaled, or no gradients were unscaled.
        """
        if not self._enabled:
            return
        if not self._used:
            raise AssertionError(
                "Attempted update but _scale is None.  This may indicate your script did not use "
                "scaler.scale(loss or outputs) earlier in the iteration."
            )
        if new_scale is not None:
            self._scale = float(new_scale)
        elif not self._found:
            raise AssertionError("No inf checks were recorded prior to update.")
        elif any(self._found.values()):
            self._scale *= self._backoff_factor
            self._growth_tracker = 0
        else:
            self._growth_tracker += 1
            if self._growth_tracker == self._growth_interval:
                self._scale *= self._growth_factor
                self._growth_tracker = 0
        self._found = {}

    def get_scale(self) -> float:
        """The factor; 1 if the scaler is disabled."""
        return self._scale if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        """The growth factor."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set the growth factor."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """The backoff factor."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set the backoff factor."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """The number of steps until the factor grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set the number of steps until the factor grows."""
        self._growth_interval = new_interval

    def state_dict(self) -> dict[str, Any]:
        """The state for `load_state_dict`; empty if the scaler is disabled."""
        if not self._enabled:
            return {}
        return {name: vars(self)[f"_{name.removeprefix('_')}"] for name in SAVED}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the result of `state_dict`; no effect if the scaler is disabled.

        Raises:
            RuntimeError: if ``state_dict`` is empty.
        """
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled "
                "instance of GradScaler."
            )
        for name in SAVED:
            vars(self)[f"_{name.removeprefix('_')}"] = state_dict[name]
