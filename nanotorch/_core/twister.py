"""The Mersenne Twister as PyTorch seeds it, draws from it and writes down its state."""

from __future__ import annotations

import ctypes
import os
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from nanotorch._core.box_muller import F32, F64

if TYPE_CHECKING:  # numpy.typing imports for 1 ms
    from numpy.typing import NDArray

U64 = np.ndarray[Any, np.dtype[np.uint64]]

_DEFAULT_SEED = 67280421310721
_WORDS = 624
# PyTorch's state in 64-bit words: the seed; 1 << 32 plus the outputs left; the place of the next
# output; the twister's own 624; unused; the spare normal; unused; whether there is one; unused.
_STATE_WORDS = 8 + _WORDS
_SEEDED = 1 << 32
_KEY = slice(3, 3 + _WORDS)
_SPARE, _HAS_SPARE = 4 + _WORDS, 6 + _WORDS
_BITS_24, _BITS_53 = np.uint64(2**24 - 1), np.uint64(2**53 - 1)
_HALF_WORD = np.uint64(32)


# The seed; whether nothing was drawn; the spare normal; the words and the place of the next output.
Mark = tuple[int, bool, float | None, bytes]


class Twister:
    """A stream of random bits, with PyTorch's seeds and states, and uniform numbers of them."""

    _seeder: np.random.RandomState
    _bits: np.random.BitGenerator
    _address: int

    def __init__(self) -> None:
        self.manual_seed(_DEFAULT_SEED)

    def __getattr__(self, name: str) -> Any:
        """The twister itself, NumPy's, when it is first needed: its import takes a while."""
        if name not in ("_seeder", "_bits", "_address"):
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        # RandomState keeps the seeding of the twister's authors, which is PyTorch's too.
        seeder = np.random.RandomState(np.random.MT19937(0))
        seeder.seed(self._seed % 2**32)
        own = vars(self)
        own.setdefault("_seeder", seeder)  # of threads that come together all get the first's
        own["_bits"] = self._seeder._bit_generator
        own["_address"] = self._bits.ctypes.state_address
        return own[name]

    def manual_seed(self, seed: int) -> Self:
        """Start the stream of `seed`, an integer from -2⁶³ to 2⁶⁴ - 1; negative ones wrap.

        Raises:
            RuntimeError: for anything but an integer.
            ValueError: for an integer out of range.
        """
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        seed = int(seed)
        if not -(2**63) <= seed < 2**64:
            raise ValueError("Overflow when unpacking long long")
        self._seed = seed % 2**64
        if "_seeder" in vars(self):
            self._seeder.seed(self._seed % 2**32)
        # The state tells a stream not drawn from yet from one that used up its 624 words.
        self._fresh = True
        # Normals come in pairs: the second of the last pair waits here for the next call.
        self._spare: float | None = None
        return self

    def initial_seed(self) -> int:
        """The seed of the stream, as a natural number below 2⁶⁴."""
        return self._seed

    def seed(self) -> int:
        """Start a stream that nobody can foresee; returns its seed."""
        return self.manual_seed(int.from_bytes(os.urandom(8))).initial_seed()

    def get_state(self) -> Any:
        """All there is to know about the stream, as 5056 bytes in PyTorch's layout."""
        return written(self._mark())

    def _mark(self) -> Mark:
        """All there is to know about the stream, at little cost."""
        # A copy of NumPy's structure, which takes a hundredth of the time of its `state`.
        twister = ctypes.string_at(self._address, 4 * _WORDS + 4)
        return self._seed, self._fresh, self._spare, twister

    def set_state(self, state: Any) -> Self:
        """Continue from a state that `get_state` returned, here or in PyTorch.

        Raises:
            TypeError: for anything but an array of bytes.
            RuntimeError: for bytes that are no state.
        """
        if not isinstance(state, np.ndarray) or state.dtype != np.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        if state.size != 8 * _STATE_WORDS:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {8 * _STATE_WORDS} but found the input "
                f"RNG state size to be {state.size}"
            )
        words = np.frombuffer(state.tobytes(), "<u8")
        position = int(words[2])
        self_consistent = int(words[1]) == _SEEDED | (_WORDS + 1 - position if position else 1)
        if position > _WORDS or not self_consistent:
            raise RuntimeError("Invalid mt19937 state")
        self._bits.state = {
            "bit_generator": "MT19937",
            "state": {"key": words[_KEY].astype(np.uint32), "pos": position or _WORDS},
        }
        self._seed = int(words[0])
        self._fresh = position == 0
        self._spare = float(words[_SPARE].view(np.float64)) if words[_HAS_SPARE] else None
        return self

    def clone_state(self) -> Self:
        """A generator of its own that goes on as this one."""
        return type(self)().set_state(Twister.get_state(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), Twister.get_state(self))

    def draw32(self, count: int) -> U64:
        """The next `count` outputs of the twister, 32 bits each."""
        self._fresh = self._fresh and count == 0
        raw: U64 = self._bits.random_raw(count)
        return raw

    def draw64(self, count: int) -> U64:
        """Outputs by twos, the first as the upper half."""
        raw = self.draw32(2 * count)
        upper = raw[0::2] << _HALF_WORD
        upper |= raw[1::2]
        return upper

    def uniform32(self, count: int) -> F32:
        """Uniform numbers in [0, 1): multiples of 2⁻²⁴."""
        numbers = (self.draw32(count) & _BITS_24).astype(np.float32)
        numbers *= np.float32(2.0**-24)
        return numbers

    def uniform64(self, count: int) -> F64:
        """Uniform numbers in [0, 1): multiples of 2⁻⁵³."""
        numbers = (self.draw64(count) & _BITS_53).astype(np.float64)
        numbers *= 2.0**-53
        return numbers


def written(mark: Mark) -> NDArray[np.uint8]:
    """The state of a stream when `Twister._mark` was asked, as 5056 bytes in PyTorch's layout."""
    seed, fresh, spare, twister = mark
    key = np.frombuffer(twister, np.uint32)
    position = 0 if fresh else int(key[_WORDS])
    words = np.zeros(_STATE_WORDS, "<u8")
    words[0] = seed
    words[1] = _SEEDED | (1 if fresh else _WORDS + 1 - position)
    words[2] = position
    words[_KEY] = key[:_WORDS]
    if spare is not None:
        words[_SPARE] = np.float64(spare).view(np.uint64)
        words[_HAS_SPARE] = 1
    return words.view(np.uint8)


def _restored(kind: type[Twister], state: NDArray[np.uint8]) -> Twister:
    return Twister.set_state(kind(), state)
