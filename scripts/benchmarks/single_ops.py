"""Single operations on 8 x 8 float32, recorded or not, in nanotorch, PyTorch and bare NumPy."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.problems import Array, Step, operands

Operation = Callable[[Any, Any, Any], Any]  # (torch, x, y) -> result
Bare = Callable[[Array, Array], Any]
CHAIN = 10


def plain(operation: Operation, grad: bool) -> Callable[[Any], Step]:
    """An operation alone; ``grad`` records it."""

    def make(torch: Any) -> Step:
        a, b = operands()
        x, y = torch.tensor(a, requires_grad=grad), torch.tensor(b)
        return lambda: operation(torch, x, y)

    return make


def swept(operation: Operation, to_scalar: bool) -> Callable[[Any], Step]:
    """An operation and the backward pass from its result."""

    def make(torch: Any) -> Step:
        a, b = operands()
        x, y = torch.tensor(a, requires_grad=True), torch.tensor(b)
        start = None if to_scalar else torch.ones(8, 8)

        def both() -> Any:
            x.grad = None
            out = operation(torch, x, y)
            out.backward(start)
            return out

        return both

    return make


def by_hand(bare: Bare) -> Callable[[], Step]:
    """An operation on arrays."""

    def make() -> Step:
        a, b = operands()
        return lambda: bare(a, b)

    return make


def products(torch: Any, x: Any, y: Any) -> Any:
    """Ten operations in a row."""
    for _ in range(CHAIN):
        x = x * y
    return x


def products_bare(a: Array, b: Array) -> Array:
    for _ in range(CHAIN):
        a = a * b
    return a


def products_both_bare(a: Array, b: Array) -> Array:
    out, g = products_bare(a, b), np.ones_like(a)
    for _ in range(CHAIN):
        g = g * b
    return out


def product_sum(torch: Any, x: Any, y: Any) -> Any:
    return (x * y).sum()


def product_sum_bare(a: Array, b: Array) -> Any:
    """The gradient of the sum is one everywhere: that of a is b."""
    out = np.add.reduce(a * b, None)
    np.array(b)
    return out


def add(torch: Any, x: Any, y: Any) -> Any:
    return x + y


def mul(torch: Any, x: Any, y: Any) -> Any:
    return x * y


OPERATIONS: dict[str, tuple[Callable[[Any], Step], Callable[[], Step]]] = {
    "add": (plain(add, False), by_hand(np.add)),
    "add, grad": (plain(add, True), by_hand(np.add)),
    "mul": (plain(mul, False), by_hand(np.multiply)),
    "mul, grad": (plain(mul, True), by_hand(np.multiply)),
    "add number, grad": (
        plain(lambda torch, x, y: x + 2.0, True),
        by_hand(lambda a, b: a + np.float32(2)),
    ),
    "exp, grad": (plain(lambda torch, x, y: torch.exp(x), True), by_hand(lambda a, b: np.exp(a))),
    "matmul, grad": (plain(lambda torch, x, y: x @ y, True), by_hand(np.matmul)),
    "sum, grad": (
        plain(lambda torch, x, y: x.sum(), True),
        by_hand(lambda a, b: np.add.reduce(a, None)),
    ),
    "row x[2], grad": (plain(lambda torch, x, y: x[2], True), by_hand(lambda a, b: a[2])),
    "10 x mul, grad": (plain(products, True), by_hand(products_bare)),
    "10 x mul, grad + backward": (swept(products, False), by_hand(products_both_bare)),
    "mul, sum + backward": (swept(product_sum, True), by_hand(product_sum_bare)),
}
