"""Weight and spectral normalization of the former kind: a hook computes the weight at each call."""

from typing import Any

from nanotorch import ops
from nanotorch._core.call_site import warn
from nanotorch._core.grad_mode import no_grad
from nanotorch._core.tensor import Tensor
from nanotorch.nn.functional.normalization import normalize
from nanotorch.nn.parameter import Parameter
from nanotorch.ops.normalization import lengths, stretched


class _Hook:
    """Computes the weight called `name` before each call of the module."""

    name: str
    called = ""  # as the function is called that registers it

    @classmethod
    def of(cls, module: Any, name: str) -> int | None:
        """The number of the hook that a module has for a weight; None if there is none."""
        hooks = module._forward_pre_hooks.items()
        return next((n for n, hook in hooks if isinstance(hook, cls) and hook.name == name), None)

    @classmethod
    def refuse_second(cls, module: Any, name: str) -> None:
        """Refuse a weight that has such a hook."""
        if cls.of(module, name) is not None:
            raise RuntimeError(
                f"Cannot register two {cls.called} hooks on the same parameter {name}"
            )

    @classmethod
    def taken_off(cls, module: Any, name: str) -> Any:
        """The module, without its hook for a weight.

        Raises:
            ValueError: if there is none.
        """
        number = cls.of(module, name)
        if number is None:
            raise ValueError(f"{cls.called} of '{name}' not found in {module}")
        module._forward_pre_hooks.pop(number).remove(module)
        return module


# Spectral normalization


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """The weight as a matrix whose rows lie along ``dim``."""
    if dim % weight.ndim:
        weight = weight.permute(dim, *[d for d in range(weight.ndim) if d != dim % weight.ndim])
    return weight.flatten(1) if weight.ndim > 1 else weight.reshape((-1, 1))


class SpectralNorm(_Hook):
    """The hook that computes a weight before each call of the module.

    Args:
        name: of the weight.
        n_power_iterations: at each call in training.
        dim: along which the rows of the matrix lie.
        eps: norms are held above it.
    """

    called = "spectral_norm"
    _version = 1

    def __init__(self, name: str, n_power_iterations: int, dim: int, eps: float) -> None:
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, but got "
                f"n_power_iterations={n_power_iterations}"
            )
        self.name, self.n_power_iterations = name, n_power_iterations
        self.dim, self.eps = dim, eps

    def compute_weight(self, module: Any, do_power_iteration: bool) -> Tensor:
        """The weight divided by its greatest singular value."""
        weight = getattr(module, f"{self.name}_orig")
        u, v = getattr(module, f"{self.name}_u"), getattr(module, f"{self.name}_v")
        matrix = as_matrix(weight, self.dim)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(normalize(ops.mv(matrix.t(), u), dim=0, eps=self.eps))
                    u.copy_(normalize(ops.mv(matrix, v), dim=0, eps=self.eps))
            u, v = u.clone(), v.clone()  # the next iterations write to them
        return weight / ops.dot(u, ops.mv(matrix, v))

    def remove(self, module: Any) -> None:
        """Make the weight a parameter again."""
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        delattr(module, self.name)
        for part in ("u", "v", "orig"):
            delattr(module, f"{self.name}_{part}")
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, module.training))

    def note_version(self, module: Any, state: Any, prefix: str, metadata: dict[str, Any]) -> None:
        """Leave in a state dict of which version this is."""
        metadata.setdefault("spectral_norm", {})[f"{self.name}.version"] = self._version


def spectral_norm(
    module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
    dim: int | None = None,
) -> Any:  # fmt: skip
    """Divide a weight by its greatest singular value before each call; returns the module.

    Args:
        n_power_iterations: at each call in training. Default: 1.
        eps: norms are held above it. Default: 1e-12.
        dim: along which the rows of the matrix lie. Default: 0; 1 for transposed convolutions.

    Raises:
        RuntimeError: if that was done before.
        ValueError: for a number of iterations that is not positive.

    Reference:
        Miyato et al., Spectral Normalization for Generative Adversarial Networks, ICLR 2018,
        algorithm 1.
    """
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    SpectralNorm.refuse_second(module, name)
    made = SpectralNorm(name, n_power_iterations, dim, eps)
    weight = module._parameters[name]
    matrix = as_matrix(weight.detach(), dim)
    u = normalize(ops.empty(matrix.size(0), dtype=weight.dtype).normal_(0, 1), dim=0, eps=eps)
    v = normalize(ops.empty(matrix.size(1), dtype=weight.dtype).normal_(0, 1), dim=0, eps=eps)
    delattr(module, name)
    module.register_parameter(f"{name}_orig", weight)
    setattr(module, name, weight.data)
    module.register_buffer(f"{name}_u", u)
    module.register_buffer(f"{name}_v", v)
    module.register_forward_pre_hook(made)
    module._register_state_dict_hook(made.note_version)
    return module


def remove_spectral_norm(module: Any, name: str = "weight") -> Any:
    """Undo `spectral_norm`; returns the module.

    Raises:
        ValueError: if there is none.
    """
    SpectralNorm.taken_off(module, name)
    for number, noted in module._state_dict_hooks.items():
        owner = getattr(noted, "__self__", None)
        if isinstance(owner, SpectralNorm) and owner.name == name:
            del module._state_dict_hooks[number]
            break
    return module


# Weight normalization


class WeightNorm(_Hook):
    """The hook that computes a weight before each call of the module.

    Args:
        name: of the weight.
        dim: along which each slice has a length of its own; -1 for one length.
    """

    called = "weight_norm"

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
    WeightNorm.refuse_second(module, name)
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
    return WeightNorm.taken_off(module, name)
