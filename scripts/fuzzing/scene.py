"""The scene of a program's generator: random numbers and the existing tensors."""

import random
from typing import Any

from tests.core.programs import Machine

SHAPES = [(), (), (1,), (3,), (3,), (2, 3), (2, 3), (3, 1), (1, 3), (2, 1, 3), (0,), (2, 0), (2, 2),
          (3, 3), (2, 3, 2), (4,), (1, 1), (6,)]  # fmt: skip
NUMBERS = ["2", "-1", "0.5", "3.0", "-1.5", "0", "True", "0.0", "1"]
LARGEST = 100  # elements


class Scene:
    """A random generator over the tensors of a running program.

    Args:
        machine: PyTorch with the program so far.
    """

    def __init__(self, rng: random.Random, machine: Machine) -> None:
        self.rng, self.machine = rng, machine
        self.made = 0
        self.hooks = 0

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self.rng.random() < probability

    def pick(self, options: Any) -> Any:
        """One of a sequence."""
        return self.rng.choice(options)

    def text(self, options: list[str]) -> str:
        """One of several strings."""
        return self.rng.choice(options)

    def tensor(self, name: str) -> Any:
        """PyTorch's tensor of this name."""
        return self.machine.names[name]

    def any(self, kind: str = "", ndim: int | None = None, least: int = 0) -> str:
        """The name of a tensor; newer ones are likelier.

        Args:
            kind: characters of dtypes: "f"loat, "i"nt, "b"ool.
            ndim: its number of dimensions.
            least: its least number of dimensions.

        Raises:
            LookupError: if there is no such tensor.
        """
        names = [
            name
            for name, t in self.machine.tensors().items()
            if (not kind or self.kind(t) in kind)
            and (ndim is None or t.dim() == ndim)
            and t.dim() >= least
            and t.numel() <= LARGEST
        ]
        if not names:
            raise LookupError
        return str(self.pick(names[-4:] if self.chance(0.5) else names))

    def kind(self, t: Any) -> str:
        """The character of a tensor's dtype."""
        return "f" if t.is_floating_point() else "b" if str(t.dtype) == "torch.bool" else "i"

    def like(self, name: str) -> str:
        """A tensor that broadcasts with the one of this name; sometimes any."""
        if self.chance(0.06):
            return self.any()
        shape = self.tensor(name).shape
        names = [
            other
            for other, t in self.machine.tensors().items()
            if all(a == b or 1 in (a, b) for a, b in zip(t.shape[::-1], shape[::-1], strict=False))
            and t.numel() <= LARGEST
        ]
        return str(self.pick(names))

    def fitting(self, name: str) -> str:
        """A tensor that can be broadcast to the shape of the one of this name; sometimes any.

        It does not share memory with that, unless both are in order, so that an overlap is refused:
        otherwise the result of a write is not defined.
        """
        target = self.tensor(name)
        shape, memory = target.shape, target.untyped_storage().data_ptr()
        in_order = target.is_contiguous()
        names = [
            other
            for other, t in self.machine.tensors().items()
            if t.dim() <= len(shape)
            and (t.untyped_storage().data_ptr() != memory or (in_order and t.is_contiguous()))
            # PyTorch gives integers a history here, which no pass can use.
            and (self.kind(self.tensor(name)) == "f" or not t.requires_grad)
            and all(a in (b, 1) for a, b in zip(t.shape[::-1], shape[::-1], strict=False))
        ]
        if self.kind(self.tensor(name)) != "f":
            return str(self.pick(names)) if names else "1"
        if not self.chance(0.06) and names:
            return str(self.pick(names))
        other = self.any()
        t = self.tensor(other)
        apart = t.untyped_storage().data_ptr() != memory or (in_order and t.is_contiguous())
        return other if apart else f"{other}.clone()"

    def number(self) -> str:
        """A Python number."""
        return str(self.pick(NUMBERS))

    def dim(self, name: str, *, wrong: float = 0.03) -> int:
        """A dimension of a tensor, counted from either end; sometimes out of range."""
        count = self.tensor(name).dim() or 1
        if self.chance(wrong):
            return int(self.pick([count, -count - 1, 5]))
        return self.rng.randrange(-count, count)

    def position(self, size: int) -> int:
        """An index below ``size``; sometimes out of range."""
        if size == 0 or self.chance(0.03):
            return int(self.pick([size, -size - 1]))
        return self.rng.randrange(-size, size)

    def new(self) -> str:
        """A name for a result: mostly a new one."""
        names = list(self.machine.tensors())
        if names and self.chance(0.08):
            return str(self.pick(names))
        self.made += 1
        return f"t{self.made - 1}"

    def hook(self) -> int:
        """The number of a new hook."""
        self.hooks += 1
        return self.hooks

    def literal(self, shape: tuple[int, ...], dtype: str) -> str:
        """Values for `torch.tensor`, nested lists."""
        if shape:
            return f"[{', '.join(self.literal(shape[1:], dtype) for _ in range(shape[0]))}]"
        if dtype == "bool":
            return str(self.chance(0.5))
        if "int" in dtype:
            return str(self.rng.randrange(0 if dtype == "uint8" else -2, 4))
        return str(self.pick([-2.0, -1.5, -0.75, 0.0, 0.25, 0.5, 1.0, 1.25, 2.0, 3.0]))

    def leaf(self, shape: tuple[int, ...] | None = None, dtype: str | None = None) -> str:
        """Source of a new tensor."""
        if shape is None:
            shape = self.pick(SHAPES)
        if dtype is None:
            dtype = self.pick(
                ["float64"] * 6 + ["float32"] * 3 + ["float16", "int64", "bool", "int32", "uint8"]
            )
        grad = ", requires_grad=True" if dtype.startswith("f") and self.chance(0.65) else ""
        values = self.literal(shape, dtype)
        if 0 in shape:
            return f"torch.zeros({shape}, dtype=torch.{dtype}{grad})"
        return f"torch.tensor({values}, dtype=torch.{dtype}{grad})"
