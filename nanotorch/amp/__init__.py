"""Automatic mixed precision: `autocast` and `GradScaler`, disabled as in PyTorch without a GPU.

Tensors keep their dtypes: programs with mixed precision run as PyTorch runs them without a GPU.
"""

import functools
from collections.abc import Callable, Iterable
from typing import Any

from nanotorch._core import dtypes
from nanotorch._core.call_site import warn
from nanotorch._core.dtypes import device
from nanotorch._core.dtypes import dtype as DType
from nanotorch._core.grad_mode import no_grad
from nanotorch._core.tensor import Tensor
from nanotorch.names.lookup import on_demand

on_demand(__name__)

NO_GPU = "CUDA is not available or torch_xla is imported. Disabling autocast."
ON_CPU = (
    "nanotorch computes in the dtypes that tensors have. Disabling autocast; results are those of "
    "autocast(enabled=False)."
)


class autocast:  # noqa: N801 - PyTorch's name
    """A block, or a decorator of functions, in which tensors keep their dtypes.

    Args:
        device_type: "cuda", "cpu", ...
        dtype, cache_enabled: accepted for PyTorch's sake.
        enabled: whether to cast; True, the default, only warns.

    Raises:
        RuntimeError: for a ``device_type`` that PyTorch does not know.
        ValueError: if ``device_type`` is not a string.

    Warns:
        UserWarning: if ``enabled``: autocast has no effect.
    """

    def __init__(
        self,
        device_type: str,
        dtype: DType | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device = device(device_type).type
        self.fast_dtype = dtypes.float16 if dtype is None else dtype
        if enabled:
            warn(ON_CPU if self.device == "cpu" else NO_GPU)

    def __enter__(self) -> "autocast":
        return self

    def __exit__(self, *error: Any) -> None:
        pass

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """The decorated function: ``func`` itself."""
        return func


def is_autocast_available(device_type: str) -> bool:
    """Whether `autocast` has an effect for ``device_type``: always False."""
    device(device_type)
    return False


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Always False."""
    return False


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, device_type: str, cast_inputs: DType | None = None
) -> Callable[..., Any]:
    """The `forward` of an `autograd.Function`, unchanged; without ``fwd``, a decorator."""
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)
    return fwd


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Callable[..., Any]:
    """The `backward` of an `autograd.Function`, unchanged; without ``bwd``, a decorator."""
    return functools.partial(custom_bwd, device_type=device_type) if bwd is None else bwd


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
