"""`GradScaler`: losses made larger, so that gradients of half precision do not vanish."""

from collections.abc import Iterable
from typing import Any

from nanotorch._core.call_site import warn
from nanotorch._core.grad_mode import no_grad
from nanotorch._core.tensor import Tensor

OFF = "torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling."
SAVED = ("scale", "growth_factor", "backoff_factor", "growth_interval", "_growth_tracker")


class GradScaler:
    """Multiplies losses by a factor, divides gradients by it, leaves out steps with inf or nan.

    The factor grows after ``growth_interval`` steps in a row that were taken, and shrinks after
    each one that was left out.

    Args:
        device: for "cuda", the default, the scaler is switched off, since there is none.
        init_scale: the factor at first.
        growth_factor, backoff_factor: by what it is multiplied.
        growth_interval: see above.
        enabled: False: losses, gradients and steps are left as they are.

    Warns:
        UserWarning: if it is switched off though enabled.
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
        """Whether it is not switched off."""
        return self._enabled

    def scale(self, outputs: Any) -> Any:
        """A tensor, or each of several, times the factor."""
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
        """Divide the gradients of an optimizer's parameters by the factor; once before each step.

        Raises:
            RuntimeError: if they have been divided already.
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
        """Unscale, if that has not been done, and take the step if all gradients are finite.

        Returns:
            What the step returns; None if it is left out.

        Raises:
            RuntimeError: for a closure, which would compute gradients that nobody scales back.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        if id(optimizer) not in self._found:
            self.unscale_(optimizer)
        return None if self._found[id(optimizer)] else optimizer.step(*args, **kwargs)

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Adapt the factor to what the steps since the last update found; or set it.

        Raises:
            AssertionError: if no loss was scaled, or no gradients unscaled.
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
        """The factor; 1 if switched off."""
        return self._scale if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        """By what the factor grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set by what the factor grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """By what the factor shrinks."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set by what the factor shrinks."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """After how many steps the factor grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set after how many steps the factor grows."""
        self._growth_interval = new_interval

    def state_dict(self) -> dict[str, Any]:
        """What `load_state_dict` takes; empty if switched off."""
        if not self._enabled:
            return {}
        return {name: vars(self)[f"_{name.removeprefix('_')}"] for name in SAVED}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` gave.

        Raises:
            RuntimeError: if it is empty.
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
