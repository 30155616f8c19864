"""Parameters that are functions of other parameters: parametrizations, and norms by hooks.

A parametrized tensor is a property of a class made for the module, `ParametrizedLinear` for a
`Linear`. Every time it is read, it is computed anew from the `original`.
"""

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import SimpleNamespace
from typing import Any

from nanotorch import ops
from nanotorch._core.call_site import warn
from nanotorch._core.grad_mode import no_grad
from nanotorch._core.tensor import Tensor
from nanotorch.names.lookup import on_demand
from nanotorch.nn.container import ModuleDict, ModuleList
from nanotorch.nn.functional.spatial import normalize
from nanotorch.nn.module import Module
from nanotorch.nn.parameter import Parameter
from nanotorch.ops.arguments import require, require_value
from nanotorch.ops.fused import slice_norms, stretched

__all__ = [
    "ParametrizationList", "cached", "is_parametrized", "register_parametrization",
    "remove_parametrizations", "type_before_parametrizations",
]  # fmt: skip


class _Cache:
    """What was computed within `cached`, by module and name; `depth` counts its blocks."""

    depth = 0
    values: dict[int, Any] = {}  # noqa: RUF012 - one for the whole program


@contextmanager
def cached() -> Iterator[None]:
    """A block in which every parametrized tensor is computed once at most."""
    _Cache.depth += 1
    try:
        yield
    finally:
        _Cache.depth -= 1
        if not _Cache.depth:
            _Cache.values = {}


def _put(module: Module, name: str, tensor: Tensor) -> None:
    """Register a tensor as what it is: a parameter or a buffer."""
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _check(what: str, result: Any, like: Any = None, attributes: str = "dtype shape") -> None:
    """Refuse what is no tensor, or of another dtype or shape than one should be."""
    told = "{} must be a tensor, but it is of type {}"
    require_value(isinstance(result, Tensor), told, what, type(result).__name__)
    for name in attributes.split() if like is not None else ():
        old, new = getattr(like, name), getattr(result, name)
        told = "{} must keep the {} of the tensor, {}, unless it is unsafe; got {}"
        require_value(old == new, told, what, name, old, new)


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, and what they are applied to.

    Args:
        modules: the parametrizations, the first applied first.
        original: the tensor before.
        unsafe: allow other shapes and dtypes. Default: False.

    Attributes:
        original: the tensor that the first is applied to; or ``original0``, ``original1``, ... if
            its `right_inverse` gives several.
        is_tensor: whether it is one.
    """

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        require_value(modules, "ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        before = SimpleNamespace(dtype=original.dtype, shape=original.shape)
        with no_grad():
            new = self._inverted(original, missing_is_identity=True)
        self.is_tensor = not isinstance(new, Sequence)
        parts = [new] if self.is_tensor else new
        self.ntensors = len(parts)
        for part in parts:
            _check("what `right_inverse` returns", part)
        if self.is_tensor:
            _check("what `right_inverse` returns", new, original, "dtype")
            with no_grad():
                original.data = new
            _put(self, "original", original)
        else:
            for number, part in enumerate(parts):
                if isinstance(original, Parameter):
                    part = Parameter(part, original.requires_grad)
                _put(self, f"original{number}", part)
        if not unsafe:
            _check("a parametrization's result", self(), before)

    def _originals(self) -> list[Any]:
        if self.is_tensor:
            return [self.original]
        return [getattr(self, f"original{number}") for number in range(self.ntensors)]

    def _inverted(self, value: Any, missing_is_identity: bool = False) -> Any:
        for module in reversed(list(self)):
            if hasattr(module, "right_inverse"):
                try:
                    value = module.right_inverse(value)
                except NotImplementedError:
                    if not missing_is_identity:
                        raise
            else:
                told = "{} does not implement right_inverse"
                require(missing_is_identity, told, type(module).__name__)
        return value

    def right_inverse(self, value: Tensor) -> None:
        """Set the original so that the parametrized tensor becomes ``value``, as far as may be.

        Raises:
            RuntimeError: if a parametrization has no `right_inverse`.
            ValueError: for what it should not return.
        """
        with no_grad():
            new = self._inverted(value)
            parts = [new] if self.is_tensor else new
            told = "`right_inverse` must return {} tensors"
            require_value(len(parts) == self.ntensors, told, self.ntensors)
            for original, part in zip(self._originals(), parts, strict=True):
                _check("what `right_inverse` returns", part, original, "dtype")
                original.data = part

    def forward(self) -> Tensor:
        """The parametrized tensor."""
        first, *others = list(self)
        result: Tensor = first(*self._originals())
        for module in others:
            result = module(result)
        return result

    def _computed(self) -> Tensor:
        """The result; within `cached` the one that there is."""
        if not _Cache.depth:
            return self()
        if id(self) not in _Cache.values:
            _Cache.values[id(self)] = self()
        return _Cache.values[id(self)]


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether the tensor of that name, or any of the module, is parametrized."""
    found = getattr(module, "parametrizations", None)
    if not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def type_before_parametrizations(module: Module) -> type:
    """The class of the module, not the one made for its parametrizations."""
    kind = type(module)
    return kind.__bases__[0] if is_parametrized(module) else kind


class _Parametrized:
    """The methods of a parametrized module's own class."""

    def __getstate__(self) -> Any:
        told = "Serialization of parametrized modules is only supported by state_dict()."
        raise RuntimeError(told)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            twin = memo[id(self)] = object.__new__(type(self))
            twin.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return memo[id(self)]


def register_parametrization(
    module: Any, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Any:
    """Let a parameter or buffer be ``parametrization(original)``; returns the module.

    If it is parametrized already, the new one is applied after the others.

    Args:
        parametrization: may have a `right_inverse`, which finds the original for a value: at once
            for the present one, and when the tensor is assigned to.
        unsafe: allow other shapes and dtypes. Default: False.

    Raises:
        ValueError: for a name that is not there; for a parametrization that changes shape or
            dtype, or returns no tensor.
    """

    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            before = getattr(module, tensor_name)
            after = parametrization(before)
            _check("a parametrization's result", after, before)
            if hasattr(parametrization, "right_inverse"):
                with suppress(NotImplementedError):
                    back = parametrization.right_inverse(after)
                    _check("what `right_inverse` returns", back, before)
        listed = module.parametrizations[tensor_name]
        listed.append(parametrization)
        listed.unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        original = getattr(module, tensor_name)
        listed = ParametrizationList([parametrization], original, unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):  # a class of its own, in which properties can stand
            kind, own = type(module), _Parametrized
            members: dict[str, Any] = {"__getstate__": own.__getstate__, "__module__": __name__}
            if not hasattr(kind, "__deepcopy__"):
                members["__deepcopy__"] = own.__deepcopy__
            module.__class__ = type(f"Parametrized{kind.__name__}", (kind,), members)
            module.parametrizations = ModuleDict()
        computed = property(
            lambda self: self.parametrizations[tensor_name]._computed(),
            lambda self, value: self.parametrizations[tensor_name].right_inverse(value),
        )
        setattr(type(module), tensor_name, computed)
        module.parametrizations[tensor_name] = listed
    else:
        raise ValueError(f"Module '{module}' has no parameter or buffer named '{tensor_name}'")
    return module


def remove_parametrizations(module: Any, tensor_name: str, leave_parametrized: bool = True) -> Any:
    """Make a parametrized tensor an ordinary one again; returns the module.

    Args:
        leave_parametrized: with its present value; otherwise with that of the original.

    Raises:
        ValueError: if it is not parametrized, or is a function of several tensors and should get
            the value of "the" original.
    """
    told = "Module {} does not have a parametrization on {}"
    require_value(is_parametrized(module, tensor_name), told, module, tensor_name)
    listed = module.parametrizations[tensor_name]
    if leave_parametrized:
        with no_grad():
            value = getattr(module, tensor_name).detach()
        if listed.is_tensor:
            original = listed.original
            original.data = value
        else:
            needs_grad = any(t.requires_grad for t in listed._originals())
            original = Parameter(value) if needs_grad else value
    elif listed.is_tensor:
        original = listed.original
    else:
        raise ValueError("a tensor that is made of several has no original to be left with")
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _put(module, tensor_name, original)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


# Weight and spectral normalization of the former kind: a hook computes the weight at each call.


class _Hook:
    """Computes the weight called `name` before each call of the module."""

    name: str
    called = ""  # as the function is called that registers it
    compute_weight: Callable[..., Tensor]

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))

    @classmethod
    def of(cls, module: Any, name: str) -> int | None:
        """The number of the hook that a module has for a weight; None if there is none."""
        hooks = module._forward_pre_hooks.items()
        return next((n for n, hook in hooks if isinstance(hook, cls) and hook.name == name), None)

    @classmethod
    def refuse_second(cls, module: Any, name: str) -> None:
        """Refuse a weight that has such a hook."""
        first = cls.of(module, name) is None
        require(first, "the parameter {} has a {} hook already", name, cls.called)

    @classmethod
    def taken_off(cls, module: Any, name: str) -> Any:
        """The module, without its hook for a weight."""
        number = cls.of(module, name)
        require_value(number is not None, "{} of '{}' not found in {}", cls.called, name, module)
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
        told = "n_power_iterations must be positive, not {}"
        require_value(n_power_iterations > 0, told, n_power_iterations)
        self.name, self.n_power_iterations = name, n_power_iterations
        self.dim, self.eps = dim, eps

    def compute_weight(self, module: Any, do_power_iteration: bool | None = None) -> Tensor:
        """The weight divided by its greatest singular value; in training it iterates first."""
        weight = getattr(module, f"{self.name}_orig")
        u, v = getattr(module, f"{self.name}_u"), getattr(module, f"{self.name}_v")
        matrix = as_matrix(weight, self.dim)
        if module.training if do_power_iteration is None else do_power_iteration:
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
    module.register_parameter(f"{name}_g", Parameter(slice_norms(weight.detach(), made.dim)))
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


on_demand(__name__)
