"""Weight normalization of the former kind: the weight is computed by a hook."""

from typing import Any

from nanotorch._core.call_site import warn
from nanotorch._core.tensor import Tensor
from nanotorch.nn.parameter import Parameter
from nanotorch.ops.normalization import lengths, stretched


class WeightNorm:
    """The hook that computes a weight before each call of the module.

    Args:
        name: of the weight.
        dim: along which each slice has a length of its own; -1 for one length.
    """

    def __init__(self, name: str, dim: int | None) -> None:
        self.name, self.dim = name, -1 if dim is None else dim

    def compute_weight(self, module: Any) -> Tensor:
        """``g * v / ‖v‖``."""
        g, v = getattr(module, f"{self.name}_g"), getattr(module, f"{self.name}_v")
        return stretched(v, g, self.dim)

    def remove(self, module: Any) -> None:
        """Make the weight a parameter again."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[f"{self.name}_g"], module._parameters[f"{self.name}_v"]
        setattr(module, self.name, Parameter(weight.detach()))

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Take a weight apart into lengths ``name_g`` and directions ``name_v``; returns the module.

    Args:
        dim: along which each slice has a length of its own; None for one length. Default: 0.

    Raises:
        RuntimeError: if that was done before.

    Warns:
        FutureWarning: `parametrizations.weight_norm` does the same.

    Reference:
        Salimans and Kingma, Weight Normalization, NeurIPS 2016.
    """
    warn(
        "`torch.nn.utils.weight_norm` is deprecated in favor of "
        "`torch.nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
    )
    for hook in module._forward_pre_hooks.values():
        if isinstance(hook, WeightNorm) and hook.name == name:
            raise RuntimeError(
                f"Cannot register two weight_norm hooks on the same parameter {name}"
            )
    made = WeightNorm(name, dim)
    weight = getattr(module, name)
    del module._parameters[name]
    module.register_parameter(f"{name}_g", Parameter(lengths(weight.detach(), made.dim)))
    module.register_parameter(f"{name}_v", Parameter(weight.detach()))
    setattr(module, name, made.compute_weight(module))
    module.register_forward_pre_hook(made)
    return module


def remove_weight_norm(module: Any, name: str = "weight") -> Any:
    """Undo `weight_norm`; returns the module.

    Raises:
        ValueError: if there is none.
    """
    for number, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[number]
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
