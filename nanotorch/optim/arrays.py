"""Numbers and memory for updates on bare arrays."""

import functools

import numpy as np

Array = np.ndarray


@functools.lru_cache(maxsize=512)
def scalar(value: float, dtype: np.dtype) -> Array:
    """A number as a 0-d array, with which NumPy computes faster than with a Python number."""
    return np.array(value, dtype)


class Scratch:
    """Memory for intermediate results: arrays of the parameters' shapes, shared by all of them.

    What an array holds is lost when another parameter asks for one of the same ``number``.
    """

    def __init__(self) -> None:
        self.pools: dict[tuple[np.dtype, int], Array] = {}
        self.views: dict[tuple[tuple[int, ...], np.dtype, int], Array] = {}

    def like(self, array: Array, number: int = 0) -> Array:
        """An array of the same shape and dtype with any content."""
        key = (array.shape, array.dtype, number)
        found = self.views.get(key)
        if found is None:
            pool = self.pools.get(key[1:])
            if pool is None or pool.size < array.size:
                pool = self.pools[key[1:]] = np.empty(array.size, array.dtype)
                self.views = {k: v for k, v in self.views.items() if k[1:] != key[1:]}
            found = self.views[key] = pool[: array.size].reshape(array.shape)
        return found
