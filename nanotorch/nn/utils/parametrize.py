"""Parameters as functions of other parameters: parametrizations, and norms by hooks.

A parametrized module gets its own class, such as `ParametrizedLinear` for a `Linear`. The tensor is
a property of this class; each read computes it from the `original`.
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
    """The tensors computed in `cached` blocks, by the id of their list; `depth` counts blocks."""

    depth = 0
    values: dict[int, Any] = {}  # noqa: RUF012 - one for the whole program


@contextmanager
def cached() -> Iterator[None]:
    """A block that computes each parametrized tensor at most once."""
    _Cache.depth += 1
    try:
        yield
    finally:
        _Cache.depth -= 1
        if not _Cache.depth:
            _Cache.values = {}


def _put(module: Module, name: str, tensor: Tensor) -> None:
    """Register a tensor as a parameter or a buffer, by its type."""
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _check(what: str, result: Any, like: Any = None, attributes: str = "dtype shape") -> None:
    """Refuse a result that is not a tensor, or differs from ``like`` in an attribute."""
    message = "{} must be a tensor, but it is of type {}"
    require_value(isinstance(result, Tensor), message, what, type(result).__name__)
    for name in attributes.split() if like is not None else ():
        old, new = getattr(like, name), getattr(result, name)
        message = "{} must keep the {} of the tensor, {}, unless it is unsafe; got {}"
        require_value(old == new, message, what, name, old, new)


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, and their input.

    Args:
        modules: the parametrizations, in the order of application.
        original: the tensor before parametrization.
        unsafe: allow a change of shape or dtype. Default: False.

    Attributes:
        original: the input of the first parametrization; ``original0``, ``original1``, ... if its
            `right_inverse` returns several tensors.
        is_tensor: whether the input is a single tensor.
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
            _check("the result of `right_inverse`", part)
        if self.is_tensor:
            _check("the result of `right_inverse`", new, original, "dtype")
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
                message = "{} does not implement right_inverse"
                require(missing_is_identity, message, type(module).__name__)
        return value

    def right_inverse(self, value: Tensor) -> None:
        """Set the original to the right inverse of ``value``.

        Raises:
            RuntimeError: if a parametrization has no `right_inverse`.
            ValueError: if `right_inverse` returns the wrong number of tensors or another dtype.
        """
        with no_grad():
            new = self._inverted(value)
            parts = [new] if self.is_tensor else new
            message = "`right_inverse` must return {} tensors"
            require_value(len(parts) == self.ntensors, message, self.ntensors)
            for original, part in zip(self._originals(), parts, strict=True):
                _check("the result of `right_inverse`", part, original, "dtype")
                original.data = part

    def forward(self) -> Tensor:
        """The parametrized tensor."""
        first, *others = list(self)
        result: Tensor = first(*self._originals())
        for module in others:
            result = module(result)
        return result

    def _computed(self) -> Tensor:
        """The parametrized tensor, from the cache in a `cached` block."""
        if not _Cache.depth:
            return self()
        if id(self) not in _Cache.values:
            _Cache.values[id(self)] = self()
        return _Cache.values[id(self)]


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether ``tensor_name`` is parametrized; without a name, whether any tensor is."""
    found = getattr(module, "parametrizations", None)
    if not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def type_before_parametrizations(module: Module) -> type:
    """The class of the module without parametrizations."""
    kind = type(module)
    return kind.__bases__[0] if is_parametrized(module) else kind


class _Parametrized:
    """The methods of the classes of parametrized modules."""

    def __getstate__(self) -> Any:
        message = "Serialization of parametrized modules is only supported by state_dict()."
        raise RuntimeError(message)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            twin = memo[id(self)] = object.__new__(type(self))
            twin.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return memo[id(self)]


def register_parametrization(
    module: Any, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Any:
    """Replace a parameter or buffer by ``parametrization(original)``; returns the module.

    A further parametrization of the same tensor is applied after the earlier ones.

    Args:
        module: the module that holds the tensor.
        tensor_name: the name of the parameter or buffer.
        parametrization: a module; its method `right_inverse`, if any, computes the original from
            the present value and from assigned values.
        unsafe: allow a change of shape or dtype. Default: False.

    Raises:
        ValueError: if ``tensor_name`` does not exist, or the parametrization changes shape or
            dtype or does not return a tensor.
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
                    _check("the result of `right_inverse`", back, before)
        listed = module.parametrizations[tensor_name]
        listed.append(parametrization)
        listed.unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        original = getattr(module, tensor_name)
        listed = ParametrizationList([parametrization], original, unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):  # its own class, because properties belong to classes
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
        text = f"Module '{module}' does not have a parameter, a buffer, or a parametrized element"
        raise ValueError(f"{text} with name '{tensor_name}'")
    return module


def remove_parametrizations(module: Any, tensor_name: str, leave_parametrized: bool = True) -> Any:
    """Turn a parametrized tensor back into an ordinary one; returns the module.

    Args:
        leave_parametrized: keep the present value, not that of the original. Default: True.

    Raises:
        ValueError: if the tensor is not parametrized; without ``leave_parametrized``, if it has
            several originals.
    """
    message = "Module {} does not have a parametrization on {}"
    require_value(is_parametrized(module, tensor_name), message, module, tensor_name)
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


# The former kind of weight and spectral normalization: a hook computes the weight at each call.


class _Hook:
    """The base of hooks that compute the weight `name` before each call of the module."""

    name: str
    called = ""  # the function that registers the hook
    compute_weight: Callable[..., Tensor]

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))

    @classmethod
    def of(cls, module: Any, name: str) -> int | None:
        """The number of a module's hook for the weight ``name``; None if there is none."""
        hooks = module._forward_pre_hooks.items()
        return next((n for n, hook in hooks if isinstance(hook, cls) and hook.name == name), None)

    @classmethod
    def refuse_second(cls, module: Any, name: str) -> None:
        """Refuse a weight that has such a hook already."""
        first = cls.of(module, name) is None
        require(first, "the parameter {} has a {} hook already", name, cls.called)

    @classmethod
    def taken_off(cls, module: Any, name: str) -> Any:
        """Remove the hook for the weight ``name``; returns the module."""
        number = cls.of(module, name)
        require_value(number is not None, "{} of '{}' not found in {}", cls.called, name, module)
        module._forward_pre_hooks.pop(number).remove(module)
        return module


# Spectral normalization


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """The weight as a matrix with one row per index of ``dim``."""
    if dim % weight.ndim:
        weight = weight.permute(dim, *[d for d in range(weight.ndim) if d != dim % weight.ndim])
    return weight.flatten(1) if weight.ndim > 1 else weight.reshape((-1, 1))


class SpectralNorm(_Hook):
    """The hook of `spectral_norm`.

    Args:
        name: the name of the weight.
        n_power_iterations: the number of power iterations per call in training.
        dim: the dimension of the matrix rows.
        eps: the lower limit of the norms.
    """

    called = "spectral_norm"
    _version = 1

    def __init__(self, name: str, n_power_iterations: int, dim: int, eps: float) -> None:
        message = "n_power_iterations must be positive, not {}"
        require_value(n_power_iterations > 0, message, n_power_iterations)
        self.name, self.n_power_iterations = name, n_power_iterations
        self.dim, self.eps = dim, eps

    def compute_weight(self, module: Any, do_power_iteration: bool | None = None) -> Tensor:
        """The weight divided by its greatest singular value, after iterations in training."""
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
        """Turn the weight back into a parameter."""
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        delattr(module, self.name)
        for part in ("u", "v", "orig"):
            delattr(module, f"{self.name}_{part}")
        module.register_parameter(self.name, Parameter(weight.detach()))

    def note_version(self, module: Any, state: Any, prefix: str, metadata: dict[str, Any]) -> None:
        """Write the version of this hook to the metadata of a state dict."""
        metadata.setdefault("spectral_norm", {})[f"{self.name}.version"] = self._version


def spectral_norm(
    module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
    dim: int | None = None,
) -> Any:  # fmt: skip
    """Divide a weight by its greatest singular value before each call; returns the module.

    Args:
        name: the name of the weight. Default: "weight".
        n_power_iterations: the number of power iterations per call in training. Default: 1.
        eps: the lower limit of the norms. Default: 1e-12.
        dim: the dimension of the matrix rows. Default: 0; 1 for transposed convolutions.

    Raises:
        RuntimeError: if the weight has a spectral norm already.
        ValueError: if ``n_power_iterations`` is not positive.

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
        ValueError: if the weight has no spectral norm.
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
    """The hook of `weight_norm`.

    Args:
        name: the name of the weight.
        dim: the dimension whose slices have their own lengths; None or -1 for one length.
    """

    called = "weight_norm"

    def __init__(self, name: str, dim: int | None) -> None:
        self.name, self.dim = name, -1 if dim is None else dim

    def compute_weight(self, module: Any) -> Tensor:
        """``g * v / ‖v‖``."""
        g, v = getattr(module, f"{self.name}_g"), getattr(module, f"{self.name}_v")
        return stretched(v, g, self.dim)

    def remove(self, module: Any) -> None:
        """Turn the weight back into a parameter."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[f"{self.name}_g"], module._parameters[f"{self.name}_v"]
        setattr(module, self.name, Parameter(weight.detach()))


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Split a weight into lengths ``name_g`` and directions ``name_v``; returns the module.

    Args:
        name: the name of the weight. Default: "weight".
        dim: the dimension whose slices have their own lengths; None for one length. Default: 0.

    Raises:
        RuntimeError: if the weight has a weight norm already.

    Warns:
        FutureWarning: always; `parametrizations.weight_norm` replaces it.

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
        ValueError: if the weight has no weight norm.
    """
    return WeightNorm.taken_off(module, name)


on_demand(__name__)
