"""Programs of one-line statements, run in a framework and told by what they leave behind.

A statement is Python source over `torch`, the tensors made so far (`t0`, `t1`, ...), and the hooks
below. A program can be run by either framework, so that what it leaves can be compared.
"""

import pickle
import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.core.fuzz_cases import BEGIN
from tests.tolerances import PROGRAMS

ADDRESS = re.compile(r"0x[0-9a-f]+")


def short(value: Any) -> Any:
    """A tensor in short, as hooks saw it; anything else as it is."""
    if isinstance(value, tuple):
        return tuple(short(v) for v in value)
    if not hasattr(value, "detach"):
        return value
    return {
        "dtype": str(value.dtype),
        "values": value.detach().clone().numpy(),
        "requires_grad": value.requires_grad,
    }


class Hooks:
    """Hooks for a program; each notes its number and what it saw in ``log``."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.log: list[Any] = []

    def see(self, number: int, then: Callable[[Any], Any] = lambda seen: None) -> Any:
        """A hook of any kind, which notes what it saw and returns what ``then`` makes of that."""

        def hook(*seen: Any) -> Any:
            self.log.append([number, short(seen)])
            return then(seen[0])

        return hook

    def scale(self, number: int, factor: float) -> Any:
        """Replace the gradients by multiples; of any kind but post-accumulate."""

        def scaled(grads: Any) -> Any:
            if isinstance(grads, tuple):
                return tuple(None if g is None else g * factor for g in grads)
            return None if grads is None else grads * factor

        return self.see(number, scaled)

    def summed(self, number: int) -> Any:
        """Replace the gradient by its sum, whose shape is mostly wrong."""
        return self.see(number, lambda grad: grad.sum())

    def fail(self, number: int) -> Any:
        """Raise an error."""

        def failing(_: Any) -> None:
            raise ValueError(f"hook {number}")

        return self.see(number, failing)

    def saw(self, number: int) -> Callable[[Any], None]:
        """A post-accumulate hook that looks at the gradient."""

        def hook(leaf: Any) -> None:
            self.log.append([number, short(leaf), short(leaf.grad)])

        return hook

    def used(self, number: int) -> Callable[[Any], None]:
        """A post-accumulate hook that drops the gradient."""

        def hook(leaf: Any) -> None:
            self.log.append([number, short(leaf.grad)])
            leaf.grad = None

        return hook

    def copies(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        """Copies of what `grad` gave, whose own layout and sharing of memory are not promised."""
        self.log.append([None if g is None else short(g) for g in grads])
        order = self.torch.contiguous_format
        return tuple(None if g is None else g.clone(memory_format=order) for g in grads)

    def edges(self, node: Any) -> list[Any]:
        """The names of the nodes that a node passes its gradients to, and of those behind them."""
        after = [(n and n.name(), k, n and n.next_functions) for n, k in node.next_functions]
        return [(name, k, [name_of(m) for m, _ in more or ()]) for name, k, more in after]

    def unpickled(self, array: np.ndarray) -> Any:
        """An array as it comes out of a pickle, whose dtype is another object."""
        return pickle.loads(pickle.dumps(array))


GIVEN = ("see", "scale", "summed", "fail", "saw", "used", "copies", "edges", "unpickled")


def functions(torch: Any) -> dict[str, Any]:
    """Functions of users' own."""

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 3 * x * x * g

    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, g):
            return g * 2

    class Parts(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            ctx.shape = x.shape
            positive = x > 0
            ctx.mark_non_differentiable(positive)
            ctx.save_for_backward(positive)
            return x.exp().sum(), x * positive, positive

        @staticmethod
        def backward(ctx, total, some, _):
            (positive,) = ctx.saved_tensors
            return None if some is None else some * positive

    return {"Cube": Cube, "Doubled": Doubled, "Parts": Parts}


class Machine:
    """A framework with what a program has made in it so far."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.hooks = Hooks(torch)
        self.names: dict[str, Any] = {"torch": torch}
        self.names.update({name: getattr(self.hooks, name) for name in GIVEN})
        self.names.update(functions(torch))

    def run(self, statement: str) -> str | None:
        """Run one statement; the type and first line of its error, if it raises one."""
        with warnings.catch_warnings(action="ignore"):
            try:
                exec(compile(statement, "<program>", "exec"), self.names)
            except Exception as error:
                lines = str(error).splitlines() or [""]
                return f"{type(error).__name__}: {ADDRESS.sub('0x', lines[0])}"
        return None

    def tensors(self) -> dict[str, Any]:
        """The tensors of the program, by name."""
        kind = self.torch.Tensor
        return {n: v for n, v in self.names.items() if n[0] == "t" and isinstance(v, kind)}

    def state(self) -> dict[str, Any]:
        """All that can be seen of each variable, and what the hooks noted."""
        with warnings.catch_warnings(action="ignore"):
            tensors = self.tensors()
            seen: dict[str, Any] = {n: self.told(t, tensors) for n, t in tensors.items()}
        others = [n for n, v in self.names.items() if re.fullmatch(r"t\d+", n) and n not in tensors]
        seen["others"] = {n: repr(self.names[n]) for n in others}
        seen["grad mode"] = [self.torch.is_grad_enabled(), self.torch.is_inference_mode_enabled()]
        seen["log"] = list(self.hooks.log)
        return seen

    def told(self, t: Any, tensors: dict[str, Any]) -> dict[str, Any]:
        """What can be seen of one tensor."""
        grad = attempt(lambda: t.grad)
        base = attempt(lambda: t._base)
        return {
            "values": t.detach().clone().numpy(),
            "dtype": str(t.dtype),
            "requires_grad": attempt(lambda: t.requires_grad),
            "grad_fn": attempt(lambda: name_of(t.grad_fn)),
            "is_leaf": attempt(lambda: t.is_leaf),
            "output_nr": attempt(lambda: t.output_nr),
            "version": attempt(lambda: t._version),
            "is_view": attempt(t._is_view),
            "base": next((n for n, v in tensors.items() if v is base), "unnamed")
            if base is not None
            else None,
            "retains_grad": attempt(lambda: t.retains_grad),
            "grad": grad
            if not isinstance(grad, self.torch.Tensor)
            else {
                **short(grad),
                "grad_fn": attempt(lambda: name_of(grad.grad_fn)),
                "name": next((n for n, v in tensors.items() if v is grad), None),
            },
        }


def outcome(torch: Any, program: Sequence[str]) -> dict[str, Any]:
    """What a program does in a framework: the error of each statement, and the state it leaves."""
    machine = Machine(torch)
    errors = [machine.run(statement) for statement in (*BEGIN, *program)]
    return {"errors": errors, "state": machine.state()}


def attempt(ask: Callable[[], Any]) -> Any:
    """An answer, or the first line of the error in place of one."""
    try:
        return ask()
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"


def name_of(node: Any) -> str | None:
    """A node by the name that it tells."""
    return None if node is None else str(node.name())


def difference(a: Any, b: Any, where: str = "", through: float = 0.0) -> str | None:
    """Where and how two states differ, if they do; floats agree up to rounding.

    Args:
        through: the rounding of the coarsest dtype that values have come through.
    """
    if isinstance(a, dict) and isinstance(b, dict):
        for key in dict.fromkeys([*a, *b]):
            if key not in a or key not in b:
                return f"{where} {key}: only with {'PyTorch' if key in a else 'nanotorch'}"
            found = difference(a[key], b[key], f"{where} {key}", through)
            if found:
                return found
        return None
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)) and len(a) == len(b):
        return next(
            filter(
                None,
                [
                    difference(x, y, f"{where} {i}", through)
                    for i, (x, y) in enumerate(zip(a, b, strict=True))
                ],
            ),
            None,
        )
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        same = a.dtype == b.dtype and a.shape == b.shape and close(a, b, through)
        return None if same else f"{where}: {told(a)} but {told(b)}"
    apart = isinstance(a, (list, tuple)) or type(a) is not type(b)  # lists of several lengths
    return f"{where}: {told(a)} but {told(b)}" if apart or a != b else None


def close(a: np.ndarray, b: np.ndarray, least: float = 0.0) -> bool:
    """Whether arrays agree: floats relative to the largest of them, up to ``least`` in any case."""
    if a.dtype.kind != "f" or np.array_equal(a, b, equal_nan=True):
        return bool(np.array_equal(a, b, equal_nan=a.dtype.kind == "f"))
    limit = max(PROGRAMS[a.dtype.name], least)
    finite = a[np.isfinite(a)]
    scale = max(1.0, float(np.abs(finite).max(initial=0.0)))
    return bool(np.allclose(a, b, rtol=limit, atol=limit * scale, equal_nan=True))


def told(value: Any) -> Any:
    """A state as JSON holds it."""
    if isinstance(value, np.ndarray):
        return {"type": value.dtype.name, "shape": list(value.shape), "list": value.tolist()}
    if isinstance(value, dict):
        return {k: told(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [told(v) for v in value]
    return value


def untold(value: Any) -> Any:
    """A state from JSON, arrays again."""
    if isinstance(value, dict) and value.keys() == {"type", "shape", "list"}:
        return np.array(value["list"], value["type"]).reshape(value["shape"])
    if isinstance(value, dict):
        return {k: untold(v) for k, v in value.items()}
    return [untold(v) for v in value] if isinstance(value, list) else value
