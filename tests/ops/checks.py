"""The checks that every sample passes. `test_controls` shows that each of them can fail."""

import warnings
import weakref
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import nanotorch as torch
from nanotorch._core.graph import Node
from nanotorch._core.tensor import Tensor, wrap
from tests.answers import BEYOND, in_pytorchs_words
from tests.ops.cases import FLOATS, Answer, Case, Seen
from tests.ops.sampling import Call, weights_like
from tests.several import uncollected
from tests.tolerances import SINGLE

STEP = 1e-5  # of the central differences: error about 1e-10, rounding about 1e-10
FLOOR = 0.1


def checksum(arrays: Iterable[np.ndarray]) -> int:
    """A number that tells whether two runs drew the same inputs."""
    total = 0
    for array in arrays:
        total = zlib.crc32(np.ascontiguousarray(array).tobytes(), total)
    return total


def assert_close(actual: Any, expected: Any, tolerance: float, what: str) -> None:
    """Equal but for ``tolerance`` times the largest expected value; NaN and infinity in place.

    Smaller values than `FLOOR` are held to it, since they are what larger ones leave behind.
    """
    actual, expected = np.asarray(actual, np.float64), np.asarray(expected, np.float64)
    assert actual.shape == expected.shape, f"{what}: shape {actual.shape}, not {expected.shape}"
    finite = np.isfinite(expected)
    same = np.array_equal(np.isfinite(actual), finite) and np.array_equal(
        actual[~finite], expected[~finite], equal_nan=True
    )
    assert same, f"{what}: {actual} is not {expected}"
    if finite.any():
        scale = max(np.abs(expected[finite]).max(), FLOOR)
        error = np.abs(actual[finite] - expected[finite]).max()
        assert error <= tolerance * scale, f"{what}: off by {error:g}\n{actual}\n{expected}"


def assert_same_bits(a: Sequence[np.ndarray], b: Sequence[np.ndarray], what: str) -> None:
    """Equal dtypes, shapes and bytes."""
    for k, (one, other) in enumerate(zip(a, b, strict=True)):
        assert (one.dtype, one.shape) == (other.dtype, other.shape), f"{what} {k}"
        if one.dtype.kind == "f":  # which of the many nan it is does not matter
            one, other = (np.where(np.isnan(array), np.nan, array) for array in (one, other))
        assert one.tobytes() == other.tobytes(), f"{what} {k}: {one} is not {other}"


def outputs_with_grad(call: Call) -> list[Any]:
    """Run the call; those of its outputs that require grad."""
    return [out for out in call() if isinstance(out, Tensor) and out.requires_grad]


def weights_of(outs: Sequence[Any], requires_grad: bool = False) -> list[Any]:
    """The golden weights for these outputs, of their dtypes."""
    weights = []
    for k, out in enumerate(outs):
        weight = wrap(weights_like(out.shape, "weight", k).astype(out._array.dtype))
        weights.append(weight.requires_grad_(requires_grad))
    return weights


def directions(leaves: Sequence[Any]) -> list[np.ndarray]:
    """The golden directions for these inputs."""
    return [weights_like(leaf.shape, "direction", k) for k, leaf in enumerate(leaves)]


def gradients(call: Call, create_graph: bool) -> list[np.ndarray]:
    """First gradients of the call's inputs, zeros where there is none."""
    outs = outputs_with_grad(call)
    grads = torch.autograd.grad(
        outs, call.leaves, weights_of(outs), create_graph=create_graph, materialize_grads=True
    )
    return [g.detach()._array for g in grads]


def bare_gradients(case: Case, floating: str = "float64") -> list[np.ndarray]:
    """First gradients of the case's inputs, computed once: most checks compare with them."""
    if floating not in case.gradients:
        case.gradients[floating] = gradients(case.call(floating), create_graph=False)
    return case.gradients[floating]


def second_gradients(call: Call) -> list[np.ndarray]:
    """Gradients, for inputs and weights, of the first gradient along the golden directions."""
    outs = outputs_with_grad(call)
    weights = weights_of(outs, requires_grad=True)
    first = torch.autograd.grad(
        outs, call.leaves, weights, create_graph=True, materialize_grads=True
    )
    total: Any = torch.zeros((), dtype=torch.float64)
    for g, v in zip(first, directions(call.leaves), strict=True):
        total = total + (g * wrap(v.astype(g._array.dtype))).sum()
    if not total.requires_grad:
        return [np.zeros(t.shape) for t in (*call.leaves, *weights)]
    second = torch.autograd.grad(total, [*call.leaves, *weights], materialize_grads=True)
    return [g._array for g in second]


def seen(call: Call, out: Any) -> Seen:
    """What the golden file holds of an output."""
    relations = {
        "view": out._is_view(),
        "same": any(out is t for t in call.tensors),
        "shared": any(np.shares_memory(out._array, t._array) for t in call.tensors),
    }
    node = None if out.grad_fn is None else type(out.grad_fn).__name__
    return Seen(out.dtype.name, node, " ".join(k for k, holds in relations.items() if holds))


def check_values(case: Case, answer: Answer) -> None:
    """Values, dtypes, shapes, node names and sharing of memory are PyTorch's; inputs stay."""
    assert checksum(case.arrays()) == answer.checksum, "the golden file is of other samples"
    for floating in FLOATS:
        call = case.call(floating)
        outs = call()
        if answer.python is not None:
            assert [getattr(o, "name", o) for o in outs] == answer.python[floating]
            continue
        assert len(outs) == len(answer.outputs), f"{len(outs)} outputs"
        for out, expected, values in zip(outs, answer.outputs, answer.values, strict=True):
            known = expected.seen[floating]
            actual = seen(call, out)
            if not case.row.nodes:
                actual = replace(actual, node=known.node)
            assert actual == known, floating
            assert "same" in known.relations or out.requires_grad == (known.node is not None)
            precision = case.row.tolerance if out.dtype is torch.float64 else SINGLE
            assert_close(out._array, values, precision, f"{floating} value")
        for before, after in zip(case.arrays(floating), call.tensors, strict=True):
            assert_same_bits([after._array], [before], "input after the call")
        assert all(t._version == 0 for t in call.tensors), "an input counts a write"


def check_error(case: Case, answer: Answer) -> None:
    """The call fails as PyTorch's does: same type, same text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch warns as well before some errors
        try:
            result = f"returned {case.call('float32')()}"
        except Exception as error:
            result = f"{type(error).__name__}: {BEYOND.sub('', str(error))}"
    assert in_pytorchs_words(result, answer.error) == answer.error


def check_first(case: Case, answer: Answer | None) -> None:
    """First gradients are PyTorch's in both floats, and those of central differences."""
    for floating in FLOATS:
        grads = bare_gradients(case, floating)
        for leaf, g in zip(case.call(floating).leaves, grads, strict=True):
            assert g.dtype == leaf._array.dtype, f"gradient of dtype {g.dtype}"
            assert g.shape == leaf.shape, f"gradient of shape {g.shape}"
        if answer is not None and answer.first is not None:
            tolerance = 2 * (case.row.tolerance if floating == "float64" else SINGLE)
            for k, (g, expected) in enumerate(zip(grads, answer.first, strict=True)):
                assert_close(g, expected, tolerance, f"{floating} gradient {k}")
    if case.sample.smooth:
        check_differences(case, grads)


def assert_near(actual: Any, expected: Any, what: str) -> None:
    """`assert_close` at the precision of central differences."""
    expected = np.asarray(expected)
    bound = max(1.0, np.abs(expected).max(initial=0.0)) * 2e-7
    error = np.abs(np.asarray(actual) - expected).max(initial=0.0)
    assert error <= bound, f"{what}: off by {error:g}\n{actual}\n{expected}"


def values_at(case: Case, arrays: list[np.ndarray]) -> list[np.ndarray]:
    """The differentiable outputs at these inputs."""
    return [out.detach()._array for out in outputs_with_grad(case.call(arrays=arrays))]


def moved(case: Case, steps: dict[int, np.ndarray]) -> list[np.ndarray]:
    """The inputs, those that are differentiable moved by ``steps``."""
    arrays, leaf = case.arrays(), 0
    for k, description in enumerate(case.sample.inputs()):
        if description.differentiable:
            arrays[k] = np.asarray(arrays[k] + steps.get(leaf, 0.0))
            leaf += 1
    return arrays


def check_differences(case: Case, grads: Sequence[np.ndarray]) -> None:
    """The gradient of each input along two directions is that of central differences."""
    outs = outputs_with_grad(case.call())
    weights = [w._array for w in weights_of(outs)]
    for k, g in enumerate(grads):
        for kind in ("direction", "other direction"):
            along = weights_like(g.shape, kind, k)
            ahead, behind = (values_at(case, moved(case, {k: s * along})) for s in (STEP, -STEP))
            pairs = zip(weights, ahead, behind, strict=True)
            slope = sum(float((w * (a - b)).sum()) for w, a, b in pairs) / (2 * STEP)
            assert_near((g * along).sum(), slope, f"gradient {k} along a direction")


def check_second(case: Case, answer: Answer | None) -> None:
    """Second gradients are PyTorch's, and those of differences of the first along a direction."""
    call = case.call()
    second = second_gradients(call)
    if answer is not None and answer.second is not None and (case.row.kinks or case.sample.smooth):
        for k, (g, expected) in enumerate(zip(second, answer.second, strict=True)):
            assert_close(g, expected, 16 * case.row.tolerance, f"second gradient {k}")
    if not case.sample.smooth:
        return
    along = directions(call.leaves)
    count = len(along)
    other = [weights_like(v.shape, "other direction", k) for k, v in enumerate(along)]

    def slope(sign: float) -> float:
        arrays = moved(case, {k: sign * STEP * d for k, d in enumerate(other)})
        grads = gradients(case.call(arrays=arrays), create_graph=False)
        return sum(float((g * v).sum()) for g, v in zip(grads, along, strict=True))

    expected = (slope(1.0) - slope(-1.0)) / (2 * STEP)
    actual = sum(float((g * d).sum()) for g, d in zip(second[:count], other, strict=True))
    assert_near(actual, expected, "second gradient along a direction")
    ahead = values_at(case, moved(case, {k: STEP * v for k, v in enumerate(along)}))
    behind = values_at(case, moved(case, {k: -STEP * v for k, v in enumerate(along)}))
    for k, (g, a, b) in enumerate(zip(second[count:], ahead, behind, strict=True)):
        assert_near(g, (a - b) / (2 * STEP), f"gradient of weight {k}")


def check_modes(case: Case) -> None:
    """Formulas on arrays and formulas on Tensors give the same bits."""
    for floating in FLOATS:
        bare = bare_gradients(case, floating)
        recorded = gradients(case.call(floating), create_graph=True)
        assert_same_bits(bare, recorded, f"{floating} gradient in the two modes")


def layouts(array: np.ndarray) -> dict[str, np.ndarray]:
    """The same values with other strides."""
    wide = np.zeros((*array.shape, 2), array.dtype)
    wide[..., 0] = array
    back = (..., *(slice(None, None, -1) for _ in array.shape))
    return {
        "column-major": np.array(array, order="F"),
        "every other": wide[(..., 0)],
        "backwards": np.array(array[back], order="C")[back],
    }


LAYOUTS = ("column-major", "every other", "backwards")


def check_layouts(case: Case, chosen: Sequence[str] = LAYOUTS) -> None:
    """Values and gradients do not depend on how the inputs lie in memory."""
    plain = case.call()
    values = [out.detach()._array for out in plain() if isinstance(out, Tensor)]
    grads = bare_gradients(case) if outputs_with_grad(plain) else []
    for layout in chosen:
        arrays = [layouts(a)[layout] for a in case.arrays()]
        call = case.call(arrays=arrays)
        outs = [out.detach()._array for out in call() if isinstance(out, Tensor)]
        for a, b in zip(outs, values, strict=True):
            assert_close(a, b, 1e-12, f"value of {layout} inputs")
        others = gradients(case.call(arrays=arrays), create_graph=False) if grads else []
        for a, b in zip(others, grads, strict=True):
            assert_close(a, b, 1e-12, f"gradient of {layout} inputs")


def nodes_behind(outs: Iterable[Any]) -> list[Node]:
    """Every node that leads to the outputs."""
    found = list({out.grad_fn: None for out in outs if out.grad_fn is not None})
    for node in found:  # the list grows while the loop runs
        found += [n for n, _ in node.next_functions if n is not None and n not in found]
    return found


def arrays_in(kept: Any) -> list[np.ndarray]:
    """The arrays in what a node saved."""
    if isinstance(kept, Tensor):
        return [kept._array]
    if isinstance(kept, (tuple, list)):
        return [array for part in kept for array in arrays_in(part)]
    return [kept] if isinstance(kept, np.ndarray) else []


def check_memory(case: Case) -> None:
    """What a node returns is the gradient that came, a view of something, or nobody else's.

    The engine adds into arrays that own their memory, and so does `AccumulateGrad`.
    """
    for floating in FLOATS:
        call = case.call(floating)
        outs = outputs_with_grad(call)
        for node in nodes_behind(outs):
            if not node.fresh_gradients:
                continue
            arrived = [np.full(shape, 0.5, dtype) for shape, dtype in node._outputs]
            for g in arrived:
                g.flags.writeable = False  # a formula that writes into `g` raises
            held = [*arrived, *arrays_in(node._saved), *(t._array for t in call.tensors)]
            results = [g for g in node.apply(list(arrived), False) if g is not None]
            for k, g in enumerate(results):
                if any(g is a for a in arrived) or g.base is not None:
                    continue
                assert not any(g is a or a.base is g for a in held), f"{node}: result {k} is held"
                others = results[:k] + results[k + 1 :]
                assert not any(g is a or a.base is g for a in others), f"{node}: {k} is shared"
        for k, out in enumerate(outs):
            out.backward(weights_of(outs)[k], retain_graph=True)
        held = [t._array for t in (*call.tensors, *outs)]
        for leaf in call.leaves:
            mine = None if leaf.grad is None else leaf.grad._array
            assert mine is None or not any(np.shares_memory(mine, a) for a in held)


def check_release(case: Case) -> None:
    """What a recorded pass has made is freed as soon as it is dropped: nothing is in a cycle."""

    def made() -> list[weakref.ref[Any]]:
        call = case.call()
        outs = outputs_with_grad(call)
        weights = weights_of(outs, requires_grad=True)
        grads = torch.autograd.grad(
            outs, call.leaves, weights, create_graph=True, allow_unused=True
        )
        found = [t for t in (*outs, *grads, *call.tensors) if t is not None]
        return [weakref.ref(thing) for thing in (*found, *nodes_behind(found))]

    with uncollected():
        assert [thing for ref in made() if (thing := ref()) is not None] == []
