"""PyTorch's random numbers on the CPU, bit for bit, as NumPy arrays."""

import ctypes
import math
import os
import sys
import threading
from collections.abc import Callable
from functools import cache, lru_cache, partial
from typing import Any, Self

import numpy as np

from nanotorch._core import random_normals as box_muller
from nanotorch._core.bfloat16 import cast
from nanotorch._core.call_site import warn
from nanotorch._core.dtypes import BFLOAT16, C_NAMES, INT64, OF_NUMPY
from nanotorch._core.grad_mode import mode
from nanotorch._core.random_normals import F32, F64, Array, normals32
from nanotorch._core.sums import SINGLE

I64 = np.ndarray[Any, np.dtype[np.int64]]
U64 = np.ndarray[Any, np.dtype[np.uint64]]
U32 = np.ndarray[Any, np.dtype[np.uint32]]
U8 = np.ndarray[Any, np.dtype[np.uint8]]
DTypeLike = np.dtype | type | str
Shape = int | tuple[int, ...]


# The Mersenne Twister as PyTorch seeds it, draws from it and writes down its state.


_DEFAULT_SEED = 67280421310721
_WORDS = 624
# PyTorch's state in 64-bit words: the seed; 1 << 32 plus the outputs left; the place of the next
# output; the twister's own 624; unused; the spare normal; unused; whether there is one; unused.
_STATE_WORDS = 8 + _WORDS
_SEEDED = 1 << 32
_KEY = slice(3, 3 + _WORDS)
_SPARE, _HAS_SPARE = 4 + _WORDS, 6 + _WORDS
_BITS_24, _BITS_53, _BITS_63 = np.uint32(2**24 - 1), np.uint64(2**53 - 1), np.uint64(2**63 - 1)
_HALF_WORD, _TO_UNIT = np.uint64(32), np.float32(2.0**-24)


# All there is to know about a stream: the seed; whether nothing was drawn; the spare normal; the
# words and the place of the next output, as they were before the last few outputs; how many.
Mark = tuple[int, bool, float | None, bytes, int]


def _integers64(outputs: U32) -> U64:
    """Pairs of outputs as 64 bits, the first output as the upper half."""
    numbers = outputs[0::2].astype(np.uint64)
    numbers <<= _HALF_WORD
    numbers |= outputs[1::2]
    return numbers


def _uniforms64(outputs: U32) -> F64:
    """Uniform numbers in [0, 1), multiples of 2⁻⁵³, from two outputs each."""
    numbers = (_integers64(outputs) & _BITS_53).astype(np.float64)
    numbers *= 2.0**-53
    return numbers


def _naturals63(outputs: U32) -> I64:
    """Pairs of outputs as integers of 63 bits."""
    return (_integers64(outputs) & _BITS_63).view(np.int64)


def _uniforms32(outputs: U32) -> F32:
    """Uniform numbers in [0, 1), multiples of 2⁻²⁴, from an output each."""
    numbers: F32 = (outputs & _BITS_24).view(np.int32).astype(np.float32)
    numbers *= _TO_UNIT
    return numbers


def _logarithms64(outputs: U32) -> F64:
    """`log(1 - u)` of the uniform numbers of two outputs each."""
    return box_muller.libm(math.log1p, -_uniforms64(outputs))


def _exponentials32(outputs: U32) -> F32:
    """`-log(1 - u)` of the uniform numbers of two outputs each, rounded to single precision."""
    uniforms = _uniforms64(outputs)
    return box_muller.round32(
        -np.log1p(-uniforms), lambda at: -box_muller.libm(math.log1p, -uniforms[at])
    )


def _pairs32(outputs: U32) -> F32:
    """Pairs of normal numbers of four outputs each, rounded to single precision: (N, 2)."""
    return box_muller.pairs32(_uniforms64(outputs).reshape(-1, 2))


# NumPy takes as long for a hundred numbers as for one, and a hundred calls for normal numbers. So
# the twister runs ahead of small draws, and the numbers of many draws are made at once: of few
# outputs after a seed, which may serve for one draw only, then of four times as many each time.
_FIRST_AHEAD, _MOST_AHEAD = 512, 16384
_LONGEST_DRAW = 4096  # of outputs ahead


class Outputs:
    """Consecutive outputs of a twister, and the numbers made of them.

    The methods return views of the numbers from the output `first` on.

    Attributes:
        words, size: the outputs, and their number.
        start: the twister's structure in memory before them, if they are for several draws.
        used: the number of outputs that were drawn.
        tables: the numbers made of them, by the function that makes them of groups of outputs, and
            the start of the first group.
    """

    __slots__ = ("_blocks", "_parts", "size", "start", "tables", "used", "words")

    def __init__(self, words: U32, start: bytes = b"", used: int = 0) -> None:
        self.words, self.size, self.start, self.used = words, len(words), start, used
        self.tables: dict[tuple[Callable[[U32], Array], int], Array] = {}
        # Blocks of 16 may begin at any output modulo 16. The first that are needed are made as
        # such, others are put together of the radius, cosine and sine that each output gives.
        self._blocks: dict[int, F32] = {}
        self._parts: tuple[F32, F32, F32] | None = None

    def numbers(self, make: Callable[[U32], Array], each: int, first: int, count: int) -> Array:
        """`count` numbers, or rows of numbers, that `make` makes of `each` outputs."""
        place, start = divmod(first, each)
        return self.table(make, each, start)[place : place + count]

    def table(self, make: Callable[[U32], Array], each: int, start: int) -> Array:
        """All the numbers that `make` makes of `each` outputs, from the output `start` on."""
        made = self.tables.get((make, start))
        if made is None:
            end = self.size - (self.size - start) % each
            made = self.tables[make, start] = make(self.words[start:end])
        return made

    def normals32(self, first: int, count: int) -> F32:
        """`count` normal numbers, blocks of 16."""
        start = first % 16  # a thread that drew earlier outputs may come later
        normals = self._blocks.get(start)
        if normals is None:
            normals = self._normals32(start, (self.size - start) // 16 * 16)
            self._blocks[start] = normals
        return normals[first - start : first - start + count]

    def _normals32(self, first: int, size: int) -> F32:
        if not self._blocks:
            return normals32(self.numbers(_uniforms32, 1, first, size).reshape(-1, 16)).ravel()
        if self._parts is None:
            uniforms = self.numbers(_uniforms32, 1, 0, self.size)
            self._parts = box_muller.parts32(uniforms)
        radius, cos, sin = [p[first : first + size].reshape(-1, 16) for p in self._parts]
        normals = np.empty_like(radius)
        box_muller.blocks32(radius[:, :8], cos[:, 8:], sin[:, 8:], normals)
        return normals.ravel()


_NOTHING = Outputs(np.empty(0, np.uint32))


class Twister:
    """A stream of random bits and uniform numbers, with PyTorch's seeds and states."""

    _seeder: "np.random.RandomState"
    _bits: "np.random.BitGenerator"
    _address: int

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.manual_seed(_DEFAULT_SEED)

    def __getattr__(self, name: str) -> Any:
        """Make NumPy's twister on first use: its import takes long."""
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
        with self._lock:
            self._seed = seed % 2**64
            if "_seeder" in vars(self):
                self._seeder.seed(self._seed % 2**32)
            self._ahead = _NOTHING
            # The state tells a stream not drawn from yet from one that used up its 624 words.
            self._fresh = True
            # Normals come in pairs: the second of the last pair waits here for the next call.
            self._spare: float | None = None
        return self

    def initial_seed(self) -> int:
        """The seed of the stream, as a natural number below 2⁶⁴."""
        return self._seed

    def seed(self) -> int:
        """Start a stream from a seed of the operating system; returns the seed."""
        return self.manual_seed(int.from_bytes(os.urandom(8))).initial_seed()

    def get_state(self) -> Any:
        """The state of the stream, as 5056 bytes in PyTorch's layout."""
        return state_bytes(self._mark())

    def _mark(self) -> Mark:
        """The state of the stream in a form that is quick to note; see `state_bytes`."""
        with self._lock:
            start = self._ahead.start or self._twister()
            return self._seed, self._fresh, self._spare, start, self._ahead.used

    def _twister(self) -> bytes:
        if sys.platform == "wasi":  # `ctypes` is without effect there
            held = self._bits.state["state"]
            return np.append(held["key"], np.uint32(held["pos"])).tobytes()
        # A copy of NumPy's structure, which takes a hundredth of the time of its `state`.
        return ctypes.string_at(self._address, 4 * _WORDS + 4)

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
        with self._lock:
            self._bits.state = {
                "bit_generator": "MT19937",
                "state": {"key": words[_KEY].astype(np.uint32), "pos": position or _WORDS},
            }
            self._ahead = _NOTHING
            self._seed = int(words[0])
            self._fresh = position == 0
            self._spare = float(words[_SPARE].view(np.float64)) if words[_HAS_SPARE] else None
        return self

    def clone_state(self) -> Self:
        """A separate generator in the same state."""
        return type(self)().set_state(Twister.get_state(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), Twister.get_state(self))

    def _draw(self, count: int) -> tuple[Outputs, int]:
        """The outputs that hold the next `count`, and the place of the first there."""
        _ = mode.enabled  # silences NumPy in a thread that begins with random numbers
        with self._lock:
            ahead = self._ahead
            first = ahead.used
            end = first + count
            if end > ahead.size:
                return self._draw_on(count)
            ahead.used = end
            return ahead, first

    def _draw_on(self, count: int) -> tuple[Outputs, int]:
        """`_draw` of more outputs than are left ahead."""
        self._fresh = False
        rest = self._ahead.words[self._ahead.used :]
        missing, more = count - len(rest), 0
        if count <= _LONGEST_DRAW:
            more = min(max(4 * self._ahead.size, _FIRST_AHEAD), _MOST_AHEAD)
        start = self._twister() if more else b""
        words = self._bits.random_raw(missing + more).astype(np.uint32)
        self._ahead = Outputs(words, start, missing) if more else _NOTHING
        if more and not len(rest):
            return self._ahead, 0
        return Outputs(np.concatenate([rest, words[:missing]]) if len(rest) else words), 0

    def draw32(self, count: int) -> U32:
        """The next `count` outputs of the twister, 32 bits each; a view, only to read."""
        outputs, first = self._draw(count)
        return outputs.words[first : first + count]

    def _numbers(self, make: Callable[[U32], Array], each: int, count: int) -> Array:
        """The next `count` numbers, which `make` makes of `each` outputs; a view, only to read."""
        _ = mode.enabled  # as in `_draw`, whose call would take a fifth of a small draw's time
        with self._lock:
            outputs = self._ahead
            first = outputs.used
            end = first + each * count
            if end <= outputs.size:
                outputs.used = end
            else:
                outputs, first = self._draw_on(each * count)
        place, start = divmod(first, each)
        made = outputs.tables.get((make, start))
        if made is None:
            made = outputs.table(make, each, start)
        return made[place : place + count]

    def draw64(self, count: int) -> U64:
        """The next `count` pairs of outputs as 64 bits; a view, only to read."""
        return self._numbers(_integers64, 2, count)

    def uniform32(self, count: int) -> F32:
        """Uniform numbers in [0, 1), multiples of 2⁻²⁴; a view, only to read."""
        return self._numbers(_uniforms32, 1, count)

    def uniform64(self, count: int) -> F64:
        """Uniform numbers in [0, 1), multiples of 2⁻⁵³; a view, only to read."""
        return self._numbers(_uniforms64, 2, count)

    def _uniform(self, count: int, dtype: np.dtype) -> Array:
        """Uniform numbers with as many random bits as the dtype takes."""
        return self.uniform64(count) if dtype.itemsize == 8 else self.uniform32(count)


def state_bytes(mark: Mark) -> U8:
    """The state that `Twister._mark` has noted, as 5056 bytes in PyTorch's layout."""
    seed, fresh, spare, start, used = mark
    key = np.frombuffer(start, np.uint32)
    twister: Any = {"key": key[:_WORDS], "pos": int(key[_WORDS])}
    if used:
        bits = np.random.MT19937(0)
        bits.state = {"bit_generator": "MT19937", "state": twister}
        bits.random_raw(used, output=False)
        twister = bits.state["state"]
    position = 0 if fresh else int(twister["pos"])
    words = np.zeros(_STATE_WORDS, "<u8")
    words[0] = seed
    words[1] = _SEEDED | (1 if fresh else _WORDS + 1 - position)
    words[2] = position
    words[_KEY] = twister["key"]
    if spare is not None:
        words[_SPARE] = np.float64(spare).view(np.uint64)
        words[_HAS_SPARE] = 1
    return words.view(np.uint8)


def _restored(kind: type[Twister], state: U8) -> Twister:
    return Twister.set_state(kind(), state)


# The swaps of a shuffle, all at once.


# So few elements that they are swapped faster one by one.
_FEW = 384


def shuffle(partners: I64) -> I64:
    """The numbers 0 ... n after swapping each place but the last, in order, with its partner.

    A partner is never before its place.

    Shape: `partners` (n,) to (n + 1,).
    """
    if len(partners) < _FEW:
        few = list(range(len(partners) + 1))  # its items are faster to swap than an array's
        for place, partner in enumerate(partners.tolist()):
            few[place], few[partner] = few[partner], few[place]
        return np.array(few, np.int64)
    # Where does the element come from that each swap puts into place? At swap i, what stands at
    # place i was put there by the last swap k < i whose partner was i, and it had stood at place k
    # before: so it is `here[i] = here[k]`, or i itself if there was no such swap. What swap i puts
    # into place stood at its partner: it is `here[k]` of the last swap k < i with the same partner,
    # or the partner itself.
    places = np.arange(len(partners) + 1)
    moved = np.flatnonzero(partners != places[:-1])
    here = places.copy()
    here[partners[moved]] = moved  # of several, the last one counts
    while True:
        further = here[here]
        if np.array_equal(further, here):
            break
        here = further
    order = np.append(partners, here[-1])
    by_partner = np.sort(partners << 32 | places[:-1])
    swaps, met = by_partner & 0xFFFFFFFF, by_partner >> 32
    again = np.flatnonzero(met[1:] == met[:-1])
    order[swaps[again + 1]] = here[swaps[again]]
    return order


# What the distributions ask of their arguments, in PyTorch's words.


# PyTorch shuffles more elements than this by another rule.
_LONGEST_PERMUTATION = (2**32 - 1) // 20 - 1


def require(condition: bool, message: str, *given: Any) -> None:
    """Raise a RuntimeError with `message.format(*given)` unless the condition holds."""
    if not condition:
        raise RuntimeError(message.format(*given) if given else message)


def floating(dtype: DTypeLike, kernel: str = "", distribution: str = "") -> np.dtype:
    """The dtype, which must be of floating point.

    Args:
        kernel, distribution: which of PyTorch's functions refuses others, by either name.
    """
    if dtype is SINGLE:
        return SINGLE
    found = np.dtype(dtype)
    if found.kind == "f":
        return found
    char = OF_NUMPY[found].char
    if kernel:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{char}'")
    name = C_NAMES[found.name] if distribution == "Cauchy" else char
    raise RuntimeError(
        f"{distribution} distribution is a continuous probability distribution. dtype must be a "
        f"floating point but you specified {name}"
    )


def _digits(dtype: np.dtype) -> int:
    """The binary digits of a floating-point number."""
    return 8 if dtype == BFLOAT16 else int(np.finfo(dtype).nmant) + 1


@cache
def _limits(dtype: np.dtype) -> tuple[float, float]:
    """The smallest and the largest finite number of `dtype`."""
    if dtype.kind == "f":
        return float(np.finfo(dtype).min), float(np.finfo(dtype).max)
    return (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)


@cache
def _largest_count(dtype: np.dtype) -> int:
    """The largest integer up to which `dtype` has every natural number."""
    return 1 << _digits(dtype) if dtype.kind == "f" else int(_limits(dtype)[1])


def _require_bounds(dtype: np.dtype, **bounds: float) -> None:
    """Refuse the bounds of a range that `dtype` does not reach."""
    smallest, largest = _limits(dtype)
    for name, value in bounds.items():
        if not smallest <= value <= largest:
            name = name.replace("_", " - ")
            raise RuntimeError(f"{name} is out of bounds for {C_NAMES[dtype.name]}")


INEXACT = (
    "{0} is out of bounds [-(2^{1}), 2^{1}]. Due to precision limitations {2} can support discrete "
    "uniform distribution only within this range. This warning will become an error in version 1.7 "
    "release, please fix the code in advance"
)


@lru_cache(1024)
def _usual_range(low: int, high: int, dtype: np.dtype) -> bool:
    """Whether `_integer_range` gives the bounds as they are."""
    smallest, largest = _limits(dtype)
    return dtype.kind != "f" and smallest <= low < high <= largest


def _integer_range(low: int, high: int | None, dtype: np.dtype) -> tuple[int, int]:
    """The first and the last integer to draw from `[low, high)`, which `dtype` must cover.

    Without `high` the last is `_largest_count`. For a floating-point dtype the range is narrowed
    until none of its integers is rounded to one outside.
    """
    if high is not None:
        text = "random_ expects 'from' to be less than 'to', but got from={} >= to={}"
        require(low < high, text, low, high)
    first, last = low, _largest_count(dtype) if high is None else high - 1
    _require_bounds(dtype, **{"from": first, "to_1": last})
    if dtype.kind != "f":
        return first, last
    exact = _digits(dtype)
    for name, bound in (("from", first), ("to - 1", last)):
        if abs(bound) > 1 << exact:
            warn(INEXACT.format(name, exact, C_NAMES[OF_NUMPY[dtype].name]))
    above, below = int(dtype.type(first + 1)), int(dtype.type(last))

    def spacing(value: int) -> int:  # of the numbers of this size that `dtype` has
        return 1 << (abs(value).bit_length() - _digits(dtype))

    if above < first:
        first = above + spacing(first + 1)
    if below > last:
        last = below - spacing(last) - 1
    cast = "random_ expects 'from' casted to dtype to be less than"
    if high is None:
        text = f"{cast} or equal to 'to_inc' casted to dtype, but got from={first} > to_inc={last}"
        require(first < last, text)
    require(first <= last, f"{cast} 'to' casted to dtype, but got from={first} >= to={last + 1}")
    return first, last


def _check_permutation(n: int, dtype: np.dtype) -> None:
    """`dtype` must tell `n` indices apart."""
    require(n >= 0, "Trying to create tensor with negative dimension {0}: [{0}]", n)
    if dtype.kind == "b":
        raise NotImplementedError("\"randperm\" not implemented for 'Bool'")
    limit = _largest_count(dtype) + 1
    if n > limit:
        text = f"value cannot be converted to type {dtype.name}_t without overflow"
        if dtype.kind == "f":
            shown = limit if dtype.itemsize == 2 else f"2^{_digits(dtype)}+1"
            text = f"n cannot be greater than {shown} for {OF_NUMPY[dtype].char} type."
        raise RuntimeError(text)
    text = "nanotorch shuffles at most {} elements, but got n={}"
    require(n <= _LONGEST_PERMUTATION, text, _LONGEST_PERMUTATION, n)


def _check_weights(values: Array, num_samples: int, replacement: bool) -> None:
    """`values` must be rows of finite weights, none negative, enough of them for the samples."""
    require(values.ndim in (1, 2), "prob_dist must be 1 or 2 dim")
    require(
        values.dtype.kind == "f",
        "multinomial only supports floating-point dtypes for input, got: "
        f"{OF_NUMPY[values.dtype].char}",
    )
    require(num_samples > 0, "cannot sample n_sample <= 0 samples")
    require(
        replacement or num_samples <= values.shape[-1],
        "cannot sample n_sample > prob_dist.size(-1) samples without replacement",
    )
    wrong = "invalid multinomial distribution"
    positive, finite = bool((values >= 0).all()), bool((values < np.inf).all())
    if replacement and num_samples > 1:
        require(positive, f"{wrong} (encountering probability entry < 0)")
        require(finite, f"{wrong} (encountering probability entry = infinity or NaN)")
    else:
        message = "probability tensor contains either `inf`, `nan` or element < 0"
        require(positive and finite, message)
    require(bool((values > 0).any(-1).all()), f"{wrong} (sum of probabilities <= 0)")


# The distributions.
#
# Elements are drawn in the order of a contiguous result. Filling an array of another layout in
# place draws in the order of its memory (`memory_order`), and normals one by one
# (`Generator.normal`).


# Ranges from here on take 64 bits: the remainder of 32 would be visibly uneven.
_WIDE_RANGE = 2**28
# So few take less time one by one than in three operations at the speed of vectors.
_FEW_REMAINDERS = 1024


def memory_order(array: Array) -> Array:
    """A view of `array` with its axes sorted by stride: filling it in C order follows memory."""
    return array.transpose(sorted(range(array.ndim), key=lambda axis: -array.strides[axis]))


def _size(shape: Shape) -> int:
    return shape if isinstance(shape, int) else math.prod(shape)


def _shaped(values: Array, shape: Shape, copy: bool) -> Array:
    """A vector in another shape, and perhaps in memory of its own."""
    if values.shape != shape:
        values = values.reshape(shape)
    return values.copy() if copy else values


def _cast(values: Array, dtype: np.dtype[Any]) -> Array:
    """Convert as C++ does: from double to half by way of float."""
    if values.dtype is dtype:
        return values
    if not is_short(dtype):
        return values.astype(dtype, copy=False)
    if dtype.kind == "f":
        values = values.astype(np.float32, copy=False)
    return cast(values, dtype, copy=False)


def is_short(kind: np.dtype) -> bool:
    """Whether numbers are drawn in more digits than the type has, and rounded."""
    return kind.itemsize == 2 or kind == BFLOAT16


@lru_cache(1024)
def _number(value: int, dtype: np.dtype) -> Array:
    """A number as an array, which NumPy takes faster."""
    return np.array(value, dtype)


def _modulo(drawn: Array, span: int) -> Array:
    """`drawn % span`, of which NumPy has no fast loop."""
    if span & (span - 1) == 0:
        return drawn & _number(span - 1, drawn.dtype)
    divisor = _number(span, drawn.dtype)
    if drawn.size < _FEW_REMAINDERS:
        return drawn % divisor
    return drawn - drawn // divisor * divisor


class Generator(Twister):
    """A stream of random numbers: after `manual_seed(0)`, those PyTorch draws after it.

    The sampling methods are PyTorch's, with the shape and dtype of the result; the dtype of
    uniform and normal numbers also decides how many bits each takes from the stream.
    """

    def __init__(self, device: object = "cpu") -> None:
        if device is not None and str(device).partition(":")[0] != "cpu":
            raise RuntimeError(f"nanotorch runs on the CPU only; there is no device '{device}'")
        super().__init__()

    @property
    def device(self) -> Any:
        """Always the CPU."""
        return "cpu"

    def uniform(
        self, shape: Shape, dtype: DTypeLike = np.float32, low: float = 0.0, high: float = 1.0, *,
        copy: bool = True,
    ) -> Array:  # fmt: skip
        """Uniform numbers in [low, high): `rand`, `uniform_`.

        Without `copy` the result may be a view, only to read.
        """
        if dtype is SINGLE and low == 0.0 and high == 1.0:
            return _shaped(self._numbers(_uniforms32, 1, _size(shape)), shape, copy)
        kind, size = floating(dtype, "check_uniform_bounds"), _size(shape)
        if low != 0.0 or high != 1.0:
            _require_bounds(kind, **{"from": low, "to": high})
            text = "uniform_ expects to return a [from, to) range, but found from={:g} > to={:g}"
            require(low <= high, text, low, high)
            text = (
                "uniform_ expects to-from <= std::numeric_limits<{}>::max(), but found to={:g} and "
                "from={:g} which result in to-from to exceed the limit"
            )
            fits = high - low <= _limits(kind)[1]
            require(fits, text, OF_NUMPY[kind].char, high, low)
        elif not is_short(kind):
            return _shaped(self._uniform(size, kind), shape, copy)
        values = self._uniform(size, kind)
        if kind.itemsize == 8:
            values = box_muller.fma64(values, high - low, low)
        else:
            start = np.float32(low)
            values = box_muller.fma32(values, float(np.float32(high) - start), float(start))
        values = _cast(values, kind)
        # Rounding may reach the end of the half-open range; such numbers go to its start.
        values[values == kind.type(high)] = kind.type(low)
        return values.reshape(shape)

    def normal(
        self,
        shape: Shape,
        dtype: DTypeLike = np.float32,
        mean: float = 0.0,
        std: float = 1.0,
        *,
        contiguous: bool = True,
        copy: bool = True,
    ) -> Array:
        """Normal numbers: `randn`, `normal_`.

        Fewer than 16 come in pairs of which one may wait for the next call, more in blocks of 16
        with other roundings. `contiguous=False` is for filling in place an array that is not, which
        takes pairs however many there are. Without `copy` the result may be a view, only to read.
        """
        size = _size(shape)
        if dtype is SINGLE and std == 1.0 and mean == 0.0 and contiguous:  # the usual case
            if size >= 16:
                values: Array = self._normals_in_blocks(size, SINGLE)
            elif size % 2 or self._spare is not None:
                values = self._normals_in_pairs(size, rounded=True)
            else:
                values = self._numbers(_pairs32, 4, size // 2)
            return _shaped(values, shape, copy)
        kind = floating(dtype, "normal_kernel_cpu")
        if not std >= 0.0:
            raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
        standard = std == 1.0 and mean == 0.0
        if size < 16 or not contiguous:
            rounded = standard and kind is SINGLE
            values = self._normals_in_pairs(size, rounded)
            if not rounded:
                values = box_muller.fma64(values, std, mean)
        else:
            values = self._normals_in_blocks(size, kind)
            if kind.itemsize == 8:
                values = box_muller.fma64(values, std, mean)
            elif std != 1.0:
                values = box_muller.fma32(values, float(np.float32(std)), float(np.float32(mean)))
            elif mean:
                values = values + np.float32(mean)
        return _shaped(_cast(values, kind), shape, standard and copy)

    def _normals_in_pairs(self, size: int, rounded: bool) -> Array:
        """Normal numbers in pairs; `rounded` to single precision, they are made faster."""
        if size == 0:
            return np.empty(0, SINGLE if rounded else None)
        held = [] if self._spare is None else [self._spare]
        pairs = (size + 1 - len(held)) // 2
        if not pairs:
            self._spare = None
            return np.array(held, SINGLE if rounded else None)
        outputs, first = self._draw(4 * pairs)
        if rounded:
            normals = outputs.numbers(_pairs32, 4, first, pairs).reshape(-1)
        else:
            uniforms = outputs.numbers(_uniforms64, 2, first, 2 * pairs).reshape(-1, 2)
            normals = np.array([box_muller.pair64(*pair) for pair in uniforms.tolist()]).reshape(-1)
        self._spare = None
        if len(held) + 2 * pairs > size:
            last = outputs.numbers(_uniforms64, 2, first + 4 * pairs - 4, 2)
            self._spare = box_muller.pair64(*last.tolist())[1]
        if held:
            return np.concatenate([np.array(held, normals.dtype), normals[: size - 1]])
        return normals[:size]

    def _normals_in_blocks(self, size: int, dtype: np.dtype[Any]) -> Array:
        """Normal numbers in blocks of 16; an incomplete block is drawn anew over the last 16."""
        rest = size % 16
        full, end = size - rest, 16 if rest else 0
        # All places are filled with uniform numbers first, except in half precision, which turns
        # block after block into normals.
        filled = full if rest and is_short(dtype) else size
        transform: Callable[[Any], Array] = box_muller.normals64
        if dtype.itemsize == 8:
            uniforms: Array = self.uniform64(filled + end)
        else:
            outputs, first = self._draw(filled + end)
            if outputs.start:
                normals: Array = outputs.normals32(first, full)
                if end:
                    last = outputs.normals32(first + filled, end)
                    normals = np.concatenate([normals[: size - end], last])
                return normals
            transform = normals32
            uniforms = outputs.numbers(_uniforms32, 1, 0, filled + end)
        if filled != full:
            uniforms = np.concatenate([uniforms[:full], uniforms[filled:]])
        normals = transform(uniforms.reshape(-1, 16)).ravel()
        if end:
            normals[size - 16 : size] = normals[full:].copy()
        return normals[:size]

    def integers(
        self, low: int, high: int | None, shape: Shape, dtype: DTypeLike = np.int64
    ) -> Array:
        """Integers in [low, high): `randint`, `random_(from, to)`.

        Without `high`, the range ends with the last integer up to which `dtype` has all.
        """
        kind, size = np.dtype(dtype), _size(shape)
        if low.__class__ is high.__class__ is int and _usual_range(low, high, kind):
            first, span = low, high - low
        else:
            first, last = _integer_range(low, high, kind)
            span = last + 1 - first
        if span >= _WIDE_RANGE:
            wide = self.draw64(size)
            if span < 2**64:
                wide = wide % np.uint64(span) + np.uint64(first % 2**64)
            return wide.view(np.int64).astype(kind, copy=False).reshape(shape)
        drawn = _modulo(self.draw32(size), span).astype(np.int64)
        if first:
            drawn += first
        if kind is not INT64:
            drawn = drawn.astype(kind, copy=False)
        return _shaped(drawn, shape, copy=False)

    def naturals(self, shape: Shape, dtype: DTypeLike = np.int64, *, copy: bool = True) -> Array:
        """Integers from 0 to the last up to which `dtype` has all: `random_()`.

        Without `copy` the result may be a view, only to read.
        """
        kind, size = np.dtype(dtype), _size(shape)
        if kind == np.int64:
            return _shaped(self._numbers(_naturals63, 2, size), shape, copy)
        drawn = self.draw64(size) if kind.itemsize == 8 else self.draw32(size)
        return _modulo(drawn, _largest_count(kind) + 1).astype(kind).reshape(shape)

    def permutation(self, n: int, dtype: DTypeLike = np.int64) -> Array:
        """The numbers 0 ... n - 1 shuffled: `randperm`."""
        kind = np.dtype(dtype)
        _check_permutation(n, kind)
        if n < 2:
            return np.zeros(n, kind)
        choices = np.arange(n, 1, -1, dtype=np.uint32)
        partners = (self.draw32(n - 1) % choices).astype(np.int64)
        partners += np.arange(n - 1)
        return shuffle(partners).astype(kind, copy=False)

    def bernoulli(self, p: float | Array, shape: Shape, dtype: DTypeLike = np.float32) -> Array:
        """Ones with probability `p`, else zeros: `bernoulli`, `bernoulli_` and dropout's mask.

        A number `p` is compared with 53 random bits; an array with 53 where it holds doubles and
        with 24 where not. Dropout keeps the elements where `bernoulli(1 - p)` is one.
        """
        size = _size(shape)
        if isinstance(p, np.ndarray):
            floating(p.dtype, "bernoulli_tensor_cpu_p_")
            require(
                not p.size or 0 <= p.item(p.argmin()) <= p.item(p.argmax()) <= 1,
                "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error "
                "message be improved?  If so, please report an enhancement request to PyTorch.)",
            )
            drawn = self._uniform(size, p.dtype)
        else:
            require(0 <= p <= 1, "bernoulli_ expects p to be in [0, 1], but got p={:g}", p)
            drawn = self.uniform64(size)
        return np.asarray(drawn.reshape(shape) < p, dtype)  # what NumPy compares to may be a scalar

    def exponential(
        self, shape: Shape, dtype: DTypeLike = np.float32, rate: float = 1.0, *, copy: bool = True
    ) -> Array:
        """Exponentially distributed numbers: `exponential_`.

        Without `copy` the result may be a view, only to read.
        """
        kind = floating(dtype, distribution="Exponential")
        text = "exponential_ expects lambda > 0.0, but found lambda={:g}"
        require(rate > 0.0, text, rate)
        size = _size(shape)
        if rate == 1.0 and kind is SINGLE:
            return _shaped(self._numbers(_exponentials32, 2, size), shape, copy)
        values = -1.0 / rate * self._numbers(_logarithms64, 2, size)
        return _cast(values, kind).reshape(shape)

    def multinomial(self, weights: Array, num_samples: int, replacement: bool = False) -> Array:
        """Indices drawn with probabilities proportional to `weights`: `multinomial`.

        Shape: `weights` (N,) or (B, N) to (num_samples,) or (B, num_samples), int64.
        """
        _check_weights(weights, num_samples, replacement)
        if not replacement or num_samples == 1:
            # The largest of w / e, e exponential, is the first of a race with rates w.
            race = weights / self.exponential(weights.shape, weights.dtype)
            return np.argsort(-race, axis=-1, kind="stable")[..., :num_samples].astype(np.int64)
        rows = weights.reshape(-1, weights.shape[-1])
        total = np.float64 if weights.itemsize == 8 else np.float32
        picked = np.empty((len(rows), num_samples), np.int64)
        for row, into in zip(rows, picked, strict=True):
            sums: Array = np.cumsum(row, dtype=total)
            into[:] = np.searchsorted(sums / sums[-1], self.uniform64(num_samples))
        return picked.reshape(*weights.shape[:-1], num_samples)


class InMemoryOrder:
    """A stream that draws as for filling an array in place that is not contiguous.

    Args:
        generator: to draw from; None for the default one.
        array: what has the shape and the layout of the results.
    """

    def __init__(self, generator: Any, array: Array) -> None:
        self.generator, self.array = generator, array

    def laid(self, draw: Callable[..., Array], shape: Shape, dtype: DTypeLike) -> Array:
        """Numbers in the order of the memory, where they are for the array's shape."""
        if shape != self.array.shape:
            return draw(shape, dtype)
        out = np.empty_like(self.array, dtype)
        target = memory_order(out)
        target[...] = draw(target.shape, dtype)
        return out

    def uniform(self, shape: Shape, dtype: DTypeLike) -> Array:
        """See `Generator.uniform`."""
        return self.laid(self.generator.uniform, shape, dtype)

    def normal(self, shape: Shape, dtype: DTypeLike, mean: float = 0.0, std: float = 1.0) -> Array:
        """See `Generator.normal`."""
        one_by_one = shape == self.array.shape
        draw = partial(self.generator.normal, mean=mean, std=std, contiguous=not one_by_one)
        return self.laid(draw, shape, dtype)

    def integers(self, low: int, high: int | None, shape: Shape, dtype: DTypeLike) -> Array:
        """See `Generator.integers`."""
        return self.laid(partial(self.generator.integers, low, high), shape, dtype)

    def bernoulli(self, p: float | Array, shape: Shape, dtype: DTypeLike) -> Array:
        """See `Generator.bernoulli`."""
        if isinstance(p, np.ndarray) and shape == self.array.shape:
            held = np.empty_like(self.array, p.dtype)
            held[...] = p
            p = memory_order(held)
        return self.laid(partial(self.generator.bernoulli, p), shape, dtype)
