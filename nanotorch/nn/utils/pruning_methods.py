"""The ways to choose which elements of a parameter are held at 0; see `prune`."""

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from nanotorch import ops
from nanotorch._core.tensor import Tensor
from nanotorch.ops.linalg import vector_norm


class BasePruningMethod(ABC):
    """A way to choose what is held at 0; the hook that does it.

    Attributes:
        PRUNING_TYPE: "unstructured" chooses elements, "structured" slices along ``dim``, "global"
            looks at the whole tensor again.
    """

    _tensor_name: str
    PRUNING_TYPE: str

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """A mask of ones and zeros by the importance ``t``, within ``default_mask``."""

    def apply_mask(self, module: Any) -> Tensor:
        """The parameter times its mask."""
        name = self._tensor_name
        original = getattr(module, f"{name}_orig")
        pruned: Tensor = getattr(module, f"{name}_mask").to(original.dtype) * original
        return pruned

    @classmethod
    def apply(
        cls, module: Any, name: str, *args: Any, importance_scores: Tensor | None = None, **kw: Any
    ) -> "BasePruningMethod":
        """Prune the parameter ``name``; again, if it is pruned already.

        Args:
            importance_scores: of each element. Default: the parameter's values.
            args, kw: of the class.

        Raises:
            AssertionError: for scores of another shape.
        """
        method: BasePruningMethod = cls(*args, **kw)
        method._tensor_name = name
        former = hook_of(module, name)
        if former is not None:
            number, before = former
            container = before if isinstance(before, PruningContainer) else PruningContainer(before)
            container.add_pruning_method(method)
            method = container
            del module._forward_pre_hooks[number]
        present = getattr(module, name)
        scores = present if importance_scores is None else importance_scores
        if scores.shape != present.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}"
            )
        if former is None:
            mask = method.compute_mask(scores, ops.ones_like(present))
            module.register_parameter(f"{name}_orig", present)
            del module._parameters[name]
        else:
            mask = method.compute_mask(scores, getattr(module, f"{name}_mask").detach().clone())
        module.register_buffer(f"{name}_mask", mask.detach())
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(
        self,
        t: Tensor,
        default_mask: Tensor | None = None,
        importance_scores: Tensor | None = None,
    ) -> Tensor:
        """``t`` times the mask that this method computes for it."""
        scores = t if importance_scores is None else importance_scores
        mask = ops.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, mask)

    def remove(self, module: Any) -> None:
        """Make the parameter an ordinary one again, with the zeros in it."""
        name = self._tensor_name
        weight = self.apply_mask(module)
        delattr(module, name)
        original = module._parameters[f"{name}_orig"]
        original.data = weight.data
        del module._parameters[f"{name}_orig"], module._buffers[f"{name}_mask"]
        setattr(module, name, original)


def hook_of(module: Any, name: str) -> tuple[int, BasePruningMethod] | None:
    """The hook that prunes a parameter, and its number."""
    for number, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            return number, hook
    return None


class PruningContainer(BasePruningMethod):
    """Methods that were applied to one parameter, one after the other."""

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        if args:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Add a method for the same parameter.

        Raises:
            TypeError: for anything else.
            ValueError: for one of another parameter.
        """
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if self._tensor_name != method._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, index: int) -> BasePruningMethod:
        return self._pruning_methods[index]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask of the last method, for what those before it left."""
        method: Any = self._pruning_methods[-1]
        where: Any
        if method.PRUNING_TYPE == "unstructured":
            where = default_mask.eq(1)
        elif method.PRUNING_TYPE == "structured":
            dim = method.dim % t.ndim
            kept = default_mask.sum([d for d in range(t.ndim) if d != dim]).ne(0)
            where = (*(slice(None),) * dim, kept)
        elif method.PRUNING_TYPE == "global":
            where = (slice(None),) * t.ndim
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        mask: Any = default_mask.clone()
        part = method.compute_mask(t[where], default_mask=default_mask[where])
        mask[where] = part.to(mask.dtype)
        result: Tensor = mask
        return result


# How much


class _Amount(BasePruningMethod):
    """A method for a number of elements or slices, or a share of them."""

    amount: Any

    def __init__(self, amount: Any) -> None:
        if not isinstance(amount, numbers.Real):
            raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
        most: float = float("inf") if isinstance(amount, numbers.Integral) else 1
        if not 0 <= float(amount) <= most:
            raise ValueError(
                f"amount={amount} should either be a float in the range [0, 1] or a non-negative "
                "integer"
            )
        self.amount = amount

    def count_of(self, size: int) -> int:
        """How many of ``size``.

        Raises:
            ValueError: for more than there are.
        """
        if not isinstance(self.amount, numbers.Integral):
            return round(self.amount * size)
        if int(self.amount) > size:
            raise ValueError(
                f"amount={self.amount} should be smaller than the number of parameters to "
                f"prune={size}"
            )
        return int(self.amount)


class Identity(BasePruningMethod):
    """Prunes nothing, but makes the mask."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask as it is."""
        return default_mask


class RandomUnstructured(_Amount):
    """Elements at random."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask with further zeros."""
        return _without_least(default_mask, lambda: -ops.rand_like(t), self.count_of(t.numel()))


class L1Unstructured(_Amount):
    """The elements of the least absolute value."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask with further zeros."""
        return _without_least(default_mask, lambda: ops.abs(t), self.count_of(t.numel()))


def _without_least(mask: Tensor, scores: Any, count: int) -> Tensor:
    """The mask with zeros where the least scores are."""
    out: Any = mask.clone()
    if count:
        least = ops.topk(scores().reshape(-1), count, largest=False).indices
        flat = out.reshape(-1)
        flat[least] = 0
        out = flat.reshape(mask.shape)
    result: Tensor = out
    return result


class _Structured(_Amount):
    """A method for slices along a dimension."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def check(self, t: Tensor) -> None:
        """Refuse vectors, and dimensions that are not there."""
        if t.ndim <= 1:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. Found tensor "
                f"of shape {t.shape} with {t.ndim} dims"
            )
        if self.dim >= t.ndim:
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")

    def keep(self, kept: Any, default_mask: Tensor) -> Tensor:
        """The mask with zeros but for the slices ``kept``."""
        mask: Any = ops.zeros_like(default_mask)
        mask[(*(slice(None),) * (self.dim % default_mask.ndim), kept)] = 1
        result: Tensor = mask * default_mask
        return result


class RandomStructured(_Structured):
    """Slices along a dimension at random."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask with further slices of zeros."""
        self.check(t)
        size = t.size(self.dim)
        count = self.count_of(size)
        if not count:
            return default_mask
        drawn = ops.rand(size)
        return self.keep(drawn > ops.kthvalue(drawn, count).values, default_mask)


class LnStructured(_Structured):
    """The slices along a dimension that have the least norm of order ``n``."""

    def __init__(self, amount: float, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask with further slices of zeros."""
        self.check(t)
        size = t.size(self.dim)
        count = self.count_of(size)
        if not count:
            return default_mask
        others = [d for d in range(t.ndim) if d != self.dim % t.ndim]
        norms = vector_norm(t.detach(), self.n, others)
        return self.keep(ops.topk(norms, size - count).indices, default_mask)


class CustomFromMask(BasePruningMethod):
    """What a given mask says."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The product of both masks."""
        return default_mask * self.mask.to(default_mask.dtype)
