"""Random numbers are PyTorch's, bit for bit: see `scripts/golden/random_streams.py`."""

import base64
import copy
import hashlib
import json
import math
import pickle
import threading
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nanotorch as torch
from nanotorch._core import random
from nanotorch._core.random import Generator, memory_order, shuffle
from nanotorch._core.random_normals import fma32, fma64, normals32, pair64, pairs32, round32
from tests.several import in_threads
from tests.tolerances import rounding

PATH = Path(__file__).parents[1] / "golden" / "random_streams.json"
GOLDEN: dict[str, Any] = json.loads(PATH.read_text())
# Everything but these is integer arithmetic and correctly rounded sums, products and roots.
USING_LIBM = {"exponential", "multinomial"}


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def same_libm() -> bool:
    """Whether the C library here has the last bits of the one under the golden numbers."""
    points = [i / 1024.0 for i in range(1, 1024)]
    functions = (math.log, math.log1p, math.exp, math.cos, math.sin, math.tan)
    probe = np.array([[function(x) for x in points] for function in functions])
    return bool(digest(probe.tobytes()) == GOLDEN["libm"])


SAME_LIBM = same_libm()


def uses_libm(method: str, call: dict[str, Any]) -> bool:
    if method != "normal":
        return method in USING_LIBM
    return call["dtype"] == "float64" or call["shape"] < 16 or not call["contiguous"]


def draw(generator: Generator, method: str, call: dict[str, Any]) -> np.ndarray:
    """Make the call of a golden case."""
    arguments = dict(call)
    for name in ("p", "weights"):
        if f"{name}_dtype" in arguments:
            arguments[name] = np.array(arguments[name], arguments.pop(f"{name}_dtype"))
    result: np.ndarray = getattr(generator, method)(**arguments)
    return result


@pytest.mark.filterwarnings("ignore:(from|to - 1) is out of bounds")
@pytest.mark.parametrize("number", range(len(GOLDEN["sequences"])))
def test_sequences_of_calls(number: int) -> None:
    sequence = GOLDEN["sequences"][number]
    generator = Generator().manual_seed(sequence["seed"])
    for method, call, expected, first in sequence["calls"]:
        result = draw(generator, method, call)
        np.testing.assert_allclose(
            result.ravel()[:3].astype(float), first, rtol=rounding(result.dtype.name)
        )
        if SAME_LIBM or not uses_libm(method, call):
            assert digest(result.tobytes()) == expected, (method, call)
        assert result.shape == (call["shape"],) if "shape" in call else True
    if SAME_LIBM:
        assert digest(generator.get_state().tobytes()) == sequence["state"]


def drawn(generator: Generator, method: str, size: int) -> np.ndarray:
    """The numbers of a call in a stretch."""
    more = {"p": 0.5} if method == "bernoulli" else {}
    result: np.ndarray = getattr(generator, method)(shape=size, dtype=np.float32, **more)
    return result


@pytest.mark.parametrize("number", range(len(GOLDEN["stretches"])))
def test_many_draws_of_all_sizes(number: int) -> None:
    case, numbers = GOLDEN["stretches"][number], hashlib.sha256()
    generator = Generator().manual_seed(case["seed"])
    for method, size in case["calls"]:
        numbers.update(drawn(generator, method, size).tobytes())
    assert numbers.hexdigest()[:16] == case["numbers"]
    assert digest(generator.get_state().tobytes()) == case["state"]


def test_a_state_between_any_two_draws_continues_the_stream() -> None:
    case = GOLDEN["stretches"][0]
    generator = Generator().manual_seed(case["seed"])
    for method, size in case["calls"]:
        twin = generator.clone_state()
        assert (drawn(twin, method, size) == drawn(generator, method, size)).all()
        assert (twin.get_state() == generator.get_state()).all()


@pytest.mark.parametrize(
    "shape", [(), (0,), (1,), (2, 0), (3,), (2, 2), (5, 3), (16,), (4, 8), (40,)]
)
def test_numbers_of_any_shape_have_the_dtype_and_memory_of_their_own(shape: Any) -> None:
    kinds = (torch.float32, torch.float64, torch.float16)
    made = [draw(shape, dtype=kind) for draw in (torch.rand, torch.randn) for kind in kinds]
    integers = torch.randint(5, shape)
    assert [x.dtype for x in (*made, integers)] == [*kinds, *kinds, torch.int64]
    assert {tuple(x.shape) for x in (*made, integers)} == {shape}
    assert all(x.numpy().flags.c_contiguous and x.numpy().flags.writeable for x in made)


def test_numbers_are_their_owners_to_write_to() -> None:
    generator, twin = Generator().manual_seed(0), Generator().manual_seed(0)
    for method in ("normal", "uniform", "bernoulli", "naturals") * 3:
        ours = drawn(generator, method, 16)
        kept = ours.copy()
        ours.fill(-1)
        assert (drawn(twin, method, 16) == kept).all()


def test_small_draws_share_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    blocks: list[int] = []

    def counted(uniforms: np.ndarray) -> np.ndarray:
        blocks.append(len(uniforms))
        return normals32(uniforms)

    monkeypatch.setattr(random, "normals32", counted)
    generator = Generator().manual_seed(0)
    for _ in range(1000):
        generator.normal(16)
    assert len(blocks) < 10
    assert sum(blocks) < 3000


@pytest.mark.parametrize("case", GOLDEN["layouts"], ids=str)
def test_layouts_are_filled_in_the_order_of_memory(case: dict[str, Any]) -> None:
    array = np.zeros(case["shape"], np.float32).transpose(case["axes"])[..., :: case["step"]]
    view = memory_order(array)
    generator = Generator().manual_seed(0)
    if case["method"] == "normal":
        view[...] = generator.normal(view.shape, contiguous=False)
    else:
        view[...] = generator.uniform(view.shape)
    if SAME_LIBM or case["method"] == "uniform":
        assert digest(array.tobytes()) == case["digest"]


@pytest.mark.filterwarnings("ignore:(from|to - 1) is out of bounds")
@pytest.mark.parametrize("case", GOLDEN["errors"], ids=lambda case: f"{case[0]}: {case[3]}")
def test_refusals_are_those_of_pytorch(case: Any) -> None:
    method, call, kind, message = case
    generator = Generator()
    before = generator.get_state()
    with pytest.raises((RuntimeError, NotImplementedError)) as caught:
        draw(generator, method, call)
    assert type(caught.value).__name__ == kind
    assert str(caught.value) == message
    assert (generator.get_state() == before).all()


def test_probabilities_beyond_one_and_too_long_permutations_are_refused() -> None:
    generator = Generator()
    for p in ([0.5, 1.5], [0.5, math.nan]):
        with pytest.raises(RuntimeError, match="Expected p_in >= 0 && p_in <= 1"):
            generator.bernoulli(np.array(p), 2)
    with pytest.raises(RuntimeError, match="shuffles at most 214748363 elements"):
        generator.permutation(2**28)


def test_a_state_of_pytorch_continues_here_and_goes_back_unchanged() -> None:
    state = np.frombuffer(base64.b64decode(GOLDEN["exchange"]["state"]), np.uint8)
    generator = Generator()
    assert generator.set_state(state) is generator
    assert generator.initial_seed() == 2**64 - 5
    assert (generator.get_state() == state).all()
    drawn = generator.normal(5)
    np.testing.assert_allclose(drawn, GOLDEN["exchange"]["randn"], rtol=rounding("float32"))


@pytest.mark.parametrize("drawn", [0, 1, 623, 624, 625, 1248])
def test_states_are_complete(drawn: int) -> None:
    generator = Generator().manual_seed(7)
    generator.uniform(drawn)
    generator.normal(3)
    twin = Generator().set_state(generator.get_state())
    assert (twin.get_state() == generator.get_state()).all()
    assert (twin.normal(40) == generator.normal(40)).all()
    assert twin.initial_seed() == 7


def test_a_state_is_a_copy() -> None:
    generator = Generator()
    state = generator.get_state()
    kept = state.copy()
    generator.normal(1)
    assert (state == kept).all()
    generator.set_state(state)
    state[:] = 0
    assert (generator.get_state() == kept).all()


@pytest.mark.parametrize("duplicate", ["clone", "copy", "deepcopy", "pickle"])
def test_copies_are_independent(duplicate: str) -> None:
    generator = Generator().manual_seed(3)
    generator.normal(3)
    twin = {
        "clone": Generator.clone_state,
        "copy": copy.copy,
        "deepcopy": copy.deepcopy,
        "pickle": lambda one: pickle.loads(pickle.dumps(one)),
    }[duplicate](generator)
    first = twin.normal(5)
    assert (generator.normal(5) == first).all()
    assert isinstance(twin, Generator)


def beyond_the_twister() -> np.ndarray:
    words = Generator().get_state().view("<u8")
    words[1], words[2] = (1 << 32) + 2**32 - 375, 1000
    return words.view(np.uint8)


REFUSED: list[tuple[str, Any, type[Exception], str]] = [
    ("set_state", "state", TypeError, "RNG state must be a torch.ByteTensor"),
    ("set_state", np.zeros(5056), TypeError, "RNG state must be a torch.ByteTensor"),
    ("set_state", np.zeros(16, np.uint8), RuntimeError, "of size 5056 but found .* size to be 16"),
    ("set_state", np.zeros(5056, np.uint8), RuntimeError, "Invalid mt19937 state"),
    ("set_state", beyond_the_twister(), RuntimeError, "Invalid mt19937 state"),
    ("manual_seed", 2**64, ValueError, "Overflow when unpacking long long"),
    ("manual_seed", -(2**63) - 1, ValueError, "Overflow when unpacking long long"),
    ("manual_seed", 1.0, RuntimeError, "manual_seed expected a long, but got float"),
    ("manual_seed", "1", RuntimeError, "manual_seed expected a long, but got str"),
    ("manual_seed", True, RuntimeError, "manual_seed expected a long, but got bool"),
]


@pytest.mark.parametrize(("method", "value", "error", "message"), REFUSED)
def test_states_and_seeds_that_are_refused(
    method: str, value: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        getattr(Generator(), method)(value)


def test_devices() -> None:
    assert Generator().device == "cpu"
    assert Generator("cpu:0").initial_seed() == Generator(None).initial_seed() == 67280421310721
    with pytest.raises(RuntimeError, match="no device 'cuda'"):
        Generator("cuda")


def test_seed_is_new_each_time() -> None:
    generator = Generator()
    first = generator.seed()
    assert generator.initial_seed() == first
    assert first != generator.seed()


def test_normals_wait_for_the_next_call_whatever_its_dtype() -> None:
    pair = Generator().manual_seed(1).normal(2, np.float64)
    generator = Generator().manual_seed(1)
    assert generator.normal(1, np.float64) == pair[0]
    generator.normal(16)
    generator.normal(0)
    assert generator.normal((), np.float32, 3.0, 2.0) == np.float32(pair[1] * 2.0 + 3.0)


def test_infinite_parameters_pass_as_in_pytorch() -> None:
    generator = Generator()
    assert np.isinf(generator.normal(20, mean=math.inf)).all()
    assert np.isinf(generator.normal(20, mean=1e39)).all()
    assert np.isinf(generator.normal(20, mean=3.4e38, std=3.4e38)).any()
    assert (generator.exponential(5, rate=math.inf) == 0).all()


def test_multinomial_of_rows_and_of_one_row() -> None:
    generator = Generator()
    weights = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 2.0]])
    assert generator.multinomial(weights, 4, replacement=True).tolist() == [[1] * 4, [2] * 4]
    assert generator.multinomial(weights, 1).tolist() == [[1], [2]]
    assert sorted(generator.multinomial(np.ones(5), 5).tolist()) == [0, 1, 2, 3, 4]
    assert generator.multinomial(np.ones((0, 3)), 2).shape == (0, 2)


def swapped_one_by_one(partners: np.ndarray) -> list[int]:
    order = list(range(len(partners) + 1))
    for place, partner in enumerate(partners.tolist()):
        order[place], order[partner] = order[partner], order[place]
    return order


@pytest.mark.parametrize("length", [0, 1, 383, 384, 400, 9000, 16384, 16432, 16479, 20000])
@pytest.mark.parametrize("kind", ["random", "last", "self", "next", "reverse"])
def test_swaps_at_once_are_swaps_one_by_one(length: int, kind: str) -> None:
    places = np.arange(length, dtype=np.int64)
    partners = {
        "random": places + np.random.default_rng(0).integers(0, length + 1 - places),
        "last": np.full(length, length, np.int64),
        "self": places,
        "next": places + 1,
        "reverse": np.maximum(places, length - places),
    }[kind]
    assert shuffle(partners).tolist() == swapped_one_by_one(partners)


def test_a_long_permutation_holds_every_number_once() -> None:
    order = Generator().permutation(30_000, np.int32)
    assert order.dtype == np.int32
    assert (np.sort(order) == np.arange(30_000)).all()


NUMBERS = st.floats(1e-3, 1e3) | st.floats(-1e3, -1e-3)


@given(NUMBERS, NUMBERS, NUMBERS)
def test_multiply_add_of_doubles_rounds_once(a: float, b: float, c: float) -> None:
    for term in (c, -(a * b)):  # the other one cancels
        exact = Fraction(a) * Fraction(b) + Fraction(term)
        assert fma64(np.array([a]), b, term)[0] == float(exact)


def test_multiply_add_of_floats_rounds_once() -> None:
    a, b, c = np.random.default_rng(0).normal(size=(3, 5000)).astype(np.float32)
    triples = zip(a.tolist(), b.tolist(), c.tolist(), strict=True)
    exact = [float(Fraction(x) * Fraction(y) + Fraction(z)) for x, y, z in triples]
    assert (fma32(a, b, c) == np.array(exact).astype(np.float32)).all()
    assert (a * b + c != fma32(a, b, c)).mean() > 0.1


def test_numbers_near_a_boundary_are_those_of_the_c_library() -> None:
    floats = np.random.default_rng(0).normal(size=5000).astype(np.float32)
    between = (floats.astype(np.float64) + np.nextafter(floats, np.float32(9))) / 2
    exact, near = between * (1 + 2.0**-50), between * (1 - 2.0**-50)
    assert (round32(near, lambda at: exact[at]) == exact.astype(np.float32)).all()
    assert (near.astype(np.float32) != exact.astype(np.float32)).all()


def test_pairs_in_single_precision_are_rounded_ones() -> None:
    uniforms = np.random.default_rng(0).random((20_000, 2))
    uniforms[:3] = [0, 0], [0.25, 1 - 2.0**-53], [0.5, 2.0**-53]
    exact = np.array([pair64(*row) for row in uniforms.tolist()])
    assert pairs32(uniforms).tobytes() == exact.astype(np.float32).tobytes()


def test_what_is_done_before_the_first_draw_counts() -> None:
    """The twister itself is made by the first draw."""
    drawn, waiting = Generator(), Generator()
    drawn.uniform(3)
    for generator in (drawn, waiting):
        generator.manual_seed(7)
    assert waiting.initial_seed() == 7
    assert (drawn.uniform(5) == waiting.uniform(5)).all()
    state = Generator().manual_seed(8).get_state()
    assert (Generator().set_state(state).uniform(5) == drawn.manual_seed(8).uniform(5)).all()
    assert (copy.deepcopy(Generator()).uniform(5) == Generator().uniform(5)).all()
    with pytest.raises(AttributeError, match="'Generator' object has no attribute 'nope'"):
        _ = Generator().nope


def test_threads_that_draw_first_share_a_stream() -> None:
    generator, drawn, start = Generator(), [], threading.Barrier(8)

    def draw() -> None:
        start.wait()
        drawn.extend([generator.uniform(4).tolist() for _ in range(500)])

    in_threads(lambda _: draw(), 8)
    assert sorted(drawn) == sorted(Generator().uniform(16000).reshape(4000, 4).tolist())


def test_numbers_of_outputs_in_any_order() -> None:
    """A thread that has drawn may get its numbers after a thread that has drawn later."""
    words = np.random.MT19937(0).random_raw(512).astype(np.uint32)
    for first in (0, 5):
        late = random.Outputs(words).normals32(first, 496)
        outputs = random.Outputs(words)
        for place in (32, 0, 480):
            found = outputs.normals32(first + place, 16)
            assert found.tolist() == late[place : place + 16].tolist()


def test_a_seed_during_a_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    generator, drawing, seeded = Generator(), threading.Event(), threading.Event()
    raw = generator._bits.random_raw

    def slow(count: int) -> Any:
        drawn = raw(count)
        drawing.set()
        seeded.wait(0.05)  # in vain if the seed waits for the draw
        return drawn

    def work(number: int) -> None:
        if number:
            generator.uniform(4)
        elif drawing.wait():
            generator.manual_seed(5)
            seeded.set()

    bits = type("Bits", (), {"random_raw": staticmethod(slow)})
    with monkeypatch.context() as patch:
        patch.setattr(generator, "_bits", bits)
        in_threads(work, 2)
    assert (generator.uniform(4) == Generator().manual_seed(5).uniform(4)).all()


def test_a_thread_that_begins_with_random_numbers_overflows_silently() -> None:
    in_threads(lambda _: Generator().normal(20, mean=0.0, std=1e39), 1)
