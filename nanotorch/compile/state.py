"""The state that a step can change: to be put back, and to be compared."""

import hashlib
from typing import Any

import numpy as np

from nanotorch._core.tensor import Tensor
from nanotorch.nn.module import Module


class State:
    """The values of all that a step can change.

    Args:
        tensors: whose values, gradients and versions matter.
        generators: that it may draw from.
        modules: that it may switch between training and evaluation.
    """

    def __init__(self, tensors: list[Tensor], generators: list[Any], modules: list[Module]) -> None:
        self.tensors = tensors
        self.grads = [tensor._grad for tensor in tensors]
        held = [t for t in (*tensors, *self.grads) if t is not None]
        self.arrays = {id(t._array): t._array for t in held}
        self.values = {key: array.copy("K") for key, array in self.arrays.items()}
        self.cells = {id(t._cell): (t._cell, list(t._cell)) for t in held}
        self.generators = generators
        self.drawn = [generator.get_state() for generator in generators]
        self.modes = modes_of(modules)

    def switch_back(self) -> None:
        """Between training and evaluation."""
        for own, training in self.modes:
            own["training"] = training

    def put_back(self) -> None:
        """As it was."""
        for key, array in self.arrays.items():
            if array.flags.writeable:
                np.copyto(array, self.values[key])
        for cell, content in self.cells.values():
            list.__setitem__(cell, slice(None), content)
        for tensor, grad in zip(self.tensors, self.grads, strict=True):
            if tensor._grad is not grad:
                tensor._grad = grad
        for generator, state in zip(self.generators, self.drawn, strict=True):
            generator.set_state(state)
        self.switch_back()


def modes_of(modules: list[Module]) -> list[tuple[dict[str, Any], Any]]:
    """The attributes of modules, each with what `training` is."""
    return [(vars(m), vars(m)["training"]) for m in modules if "training" in vars(m)]


class Look:
    """The same state as fingerprints, which take no memory."""

    def __init__(self, tensors: list[Tensor], generators: list[Any], modules: list[Module]) -> None:
        self.modes = [training for _, training in modes_of(modules)]
        self.values = [fingerprint(tensor._array) for tensor in tensors]
        self.grads = [None if t._grad is None else fingerprint(t._grad._array) for t in tensors]
        self.counts = [tensor._cell[0] for tensor in tensors]
        self.drawn = [fingerprint(generator.get_state()._array) for generator in generators]

    def difference(self, other: "Look") -> str | None:
        """What differs from another look."""
        for a, b in zip(self.values, other.values, strict=True):
            if a != b:
                return f"a tensor of shape {list(a[0])}"
        for g, h in zip(self.grads, other.grads, strict=True):
            if g != h:
                shape = (g or h)[0]  # type: ignore[index]
                return f"a gradient of shape {list(shape)}"
        if self.counts != other.counts:
            return "how often a tensor was written to"
        if self.modes != other.modes:
            return "whether a module is in training mode"
        return None if self.drawn == other.drawn else "what was drawn from a generator"


def fingerprint(array: np.ndarray) -> tuple[Any, ...]:
    """Equal for arrays of the same bits in the same layout, and practically only for these."""
    if not array.flags.forc:
        array = array.copy("K")
    flat: Any = array.ravel("K").view(np.uint8)
    digest = hashlib.blake2b(flat).digest() if array.size else b""
    strides = array.strides if array.size > 1 else ()
    return array.shape, array.dtype.str, strides, digest
