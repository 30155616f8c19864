"""The state that a step can change, to be put back."""

from typing import Any

import numpy as np

from nanotorch._core.tensor import Tensor


class State:
    """The values of all that a step can change: tensors, gradients, versions, generators."""

    def __init__(self, tensors: list[Tensor], generators: list[Any]) -> None:
        self.tensors = tensors
        self.grads = [tensor._grad for tensor in tensors]
        held = [t for t in (*tensors, *self.grads) if t is not None]
        self.arrays = {id(t._array): t._array for t in held}
        self.values = {key: array.copy("K") for key, array in self.arrays.items()}
        self.cells = {id(t._cell): (t._cell, list(t._cell)) for t in held}
        self.generators = generators
        self.drawn = [generator.get_state() for generator in generators]

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
