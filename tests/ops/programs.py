"""Small programs over tensors, and what a framework answers to them.

Each line of `texts/<name>.txt` is a program: an expression, or statements that leave the result in
`r`, over the names of `Names`. The same text is run with PyTorch for the golden file and with
nanotorch for the test.
"""

import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.tolerances import EPS, rounding

HERE = Path(__file__).parent
GOLDEN = HERE.parent / "golden"
Answer = dict[str, Any]


class Names(dict[str, Any]):
    """The names a program knows.

    `x` is a leaf of shape (2, 3, 4), `y` a copy of it with a history, `v` and `s` leaves with one
    and no dimension, `m` a mask like `x`, `i` and `g` indices, `L(*shape)` another leaf, and
    ``put(i, value)`` is ``y[i] = value``.
    """

    def __init__(self, torch: Any, linear: Callable[..., Any]) -> None:
        self.torch, self.leaves = torch, list[Any]()
        x = self.leaf(2, 3, 4)
        super().__init__(torch=torch, np=np, T=torch.tensor, L=self.leaf, put=self.put)
        self |= {"linear": linear, "nan": math.nan, "inf": math.inf, "S": slice, "x": x, "y": x * 1}
        self |= {"v": self.leaf(4), "s": self.leaf(), "m": x.detach() > 0}
        self |= {"i": torch.tensor([0, 1]), "g": torch.zeros(2, 2, 4, dtype=torch.int64)}

    def leaf(self, *shape: int, seed: int = 0) -> Any:
        """A new leaf of quarters, so that sums and products of a few of them are exact."""
        rng = np.random.default_rng(seed + 7 * sum(shape) + len(shape))
        values = np.asarray(rng.integers(-8, 9, shape) / 4)
        leaf = self.torch.tensor(values.tolist(), dtype=self.torch.float64).reshape(shape).clone()
        self.leaves.append(leaf.requires_grad_())
        return leaf

    def put(self, index: Any, value: Any) -> Any:
        """``y[index] = value``."""
        self["y"][index] = value
        return self["y"]


def tree(node: Any) -> str | None:
    """A node with everything it leads to."""
    if node is None:
        return None
    name: str = node.name()
    if name.endswith("AccumulateGrad"):
        return "leaf"
    parts = [f"{tree(n)}{f'#{k}' if k else ''}" for n, k in node.next_functions]
    return f"{name}({', '.join(parts)})"


def numbers(tensor: Any) -> list[Any]:
    """Dtype, shape and values."""
    values = np.asarray(tensor.detach().tolist(), np.float64).ravel().tolist()
    short = [int(v) if math.isfinite(v) and v == int(v) else v for v in values]
    return [str(tensor.dtype).removeprefix("torch."), list(tensor.shape), short]


def output(result: Any) -> Any:
    """A tensor with its place in the graph; anything else by its text."""
    if not hasattr(result, "grad_fn"):
        return repr(result)
    place = [tree(result.grad_fn), result._is_view(), result._version, result.requires_grad]
    return [numbers(result), *place]


def weights(tensors: list[Any], seed: int) -> list[Any]:
    """Fixed weights for these tensors."""
    made = []
    for k, t in enumerate(tensors):
        values = (np.arange(t.numel()) * 37 + 11 * (k + seed)) % 13 / 4 - 1.5
        made.append(t.detach().clone().reshape(-1).fill_(0) + t.new_tensor(values.tolist()))
        made[-1] = made[-1].reshape(t.shape).detach().requires_grad_()
    return made


def gradients(torch: Any, results: list[Any], leaves: list[Any]) -> Answer:
    """First gradients of weighted results, and second ones, of the leaves and the weights."""
    ws = weights(results, 0)
    options = {"allow_unused": True, "create_graph": True}
    first = torch.autograd.grad(results, leaves, ws, **options)
    answer: Answer = {"first": [None if g is None else numbers(g) for g in first]}
    along = [g for g in first if g is not None and g.requires_grad and g.numel()]
    if along:
        inputs = [*leaves, *ws]
        second = torch.autograd.grad(along, inputs, weights(along, 5), allow_unused=True)
        # A gradient of nothing and one of zeros are the same to their users.
        second = [None if g is None or not any(numbers(g)[2]) else g for g in second]
        answer["second"] = [None if g is None else numbers(g) for g in second]
    return answer


def failure(error: Exception) -> list[str]:
    """An error's type and the first line of its text."""
    return [type(error).__name__, (str(error).splitlines() or [""])[0]]


def answer(torch: Any, linear: Callable[..., Any], program: str) -> Answer:
    """What a framework answers to a program: an error, or results and their gradients."""
    names = Names(torch, linear)
    source = program if "r = " in program else f"r = {program}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(source, names)
        except Exception as error:
            return {"error": failure(error)}
        result = names["r"]
        results = list(result) if isinstance(result, (tuple, list)) else [result]
        try:
            told: Answer = {"results": [output(r) for r in results]}
            roots = [r for r in results if hasattr(r, "grad_fn") and r.requires_grad]
            if roots:
                told |= gradients(torch, roots, names.leaves)
        except RuntimeError as error:
            told = {"gradient error": failure(error)}
    return told


def texts(name: str) -> list[str]:
    """The programs of one file."""
    return (HERE / "texts" / f"{name}.txt").read_text("utf-8").splitlines()


def same(a: Any, b: Any) -> bool:
    """Equal, numbers up to rounding."""
    if isinstance(a, float) or isinstance(b, float):
        if a is None or b is None or isinstance(a, str) or isinstance(b, str):
            return False
        if math.isnan(a) and math.isnan(b):
            return True
        return math.isclose(a, b, rel_tol=rounding("float32"), abs_tol=EPS["float32"])
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    return bool(a == b)
