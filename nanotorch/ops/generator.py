"""Generators of random numbers, and the default one that every function draws from."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Self, SupportsInt

from nanotorch._core import random
from nanotorch._core.arguments import place_of, refused
from nanotorch._core.dtypes import CPU, device
from nanotorch._core.op import public
from nanotorch._core.tensor import Tensor, wrap


class Generator(random.Generator):
    """A stream of random numbers: after `manual_seed(0)`, those PyTorch draws after it.

    Args:
        device: accepted for PyTorch's sake; the only one is the CPU.
    """

    @property
    def device(self) -> device:
        """Always the CPU."""
        return CPU

    def __repr__(self) -> str:
        return f"<torch._C.Generator object at {id(self):#x}>"

    def get_state(self) -> Tensor:
        """The state of the stream: a tensor of 5056 bytes."""
        return wrap(super().get_state())

    def set_state(self, state: Any) -> Self:
        """Continue from a state that `get_state` gave, here or in PyTorch.

        Raises:
            TypeError: for anything but a tensor of bytes.
            RuntimeError: for bytes that are no state.
        """
        if not isinstance(state, Tensor):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(state).__name__}")
        return super().set_state(state._array)

    def clone_state(self) -> Self:
        """A generator of its own that goes on as this one."""
        return type(self)().set_state(self.get_state())


default_generator = Generator()
# As in PyTorch, a program that sets no seed gets other numbers each time it runs.
default_generator.seed()


def stream(generator: Any) -> Any:
    """The generator to draw from: the given one or, for None, the default."""
    if generator is None:
        return default_generator
    if isinstance(generator, random.InMemoryOrder):
        generator.generator = stream(generator.generator)
        return generator
    if not isinstance(generator, random.Generator):
        place = place_of(generator)
        raise refused(generator, "torch.Generator", place and (*place[:2], 0))
    return generator


@public
def manual_seed(seed: SupportsInt) -> Generator:
    """Start the default generator's stream of ``seed``; returns that generator.

    Args:
        seed: an integer from -2⁶³ to 2⁶⁴ - 1; negative ones wrap.

    Raises:
        ValueError: if it is out of range.
    """
    return default_generator.manual_seed(int(seed))


@public
def seed() -> int:
    """Start an unforeseeable stream in the default generator; returns its seed."""
    return default_generator.seed()


@public
def initial_seed() -> int:
    """The seed of the default generator's stream."""
    return default_generator.initial_seed()


@public
def get_rng_state() -> Tensor:
    """The state of the default generator: a tensor of 5056 bytes."""
    return default_generator.get_state()


@public
def set_rng_state(new_state: Tensor) -> None:
    """Let the default generator continue from a state that `get_rng_state` gave.

    Raises:
        TypeError: for anything but a tensor of bytes.
        RuntimeError: for bytes that are no state.
    """
    default_generator.set_state(new_state)


@contextmanager
def fork_rng(
    devices: Iterable[Any] | None = None, enabled: bool = True, *, device_type: str | None = None
) -> Iterator[None]:
    """A block after which the default generator continues as if the block had drawn nothing.

    Args:
        devices, device_type: accepted for PyTorch's sake.
        enabled: whether to do so. Default: True.
    """
    state = get_rng_state() if enabled else None
    try:
        yield
    finally:
        if state is not None:
            set_rng_state(state)
