"""Every operation of the table under `vmap` does what it does for one sample after the other."""

import gc
import re
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import numpy as np
import pytest

import nanotorch as torch
from nanotorch import ops
from nanotorch._core.op import OPS
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.func.batched import Shadow, derive_rule, leading, one_by_one
from nanotorch.func.rules import RULES
from tests.ops.cases import Case, cases, load
from tests.ops.sampling import Dtype, Input, is_inplace, rebuilt
from tests.several import each, in_parts
from tests.tolerances import rounding

SIZE = 2  # of every batch
Dims = tuple[int | None, ...]


def rows_of_table() -> dict[str, list[Case]]:
    """The samples of each row that take tensors and succeed."""
    golden, rows = load(), dict[str, list[Case]]()
    for case in cases():
        answer = golden.get(case.key)
        if case.sample.inputs() and not (answer is not None and answer.error is not None):
            rows.setdefault(case.name, []).append(case)
    return rows


def batches(arrays: Sequence[np.ndarray]) -> list[list[np.ndarray]]:
    """For each input its samples, of the same values in other places."""
    return [
        [np.roll(a.reshape(-1), k).reshape(a.shape).copy() for k in range(SIZE)] for a in arrays
    ]


def all_dims(arrays: Sequence[np.ndarray]) -> Iterator[Dims]:
    """Which inputs differ between the samples, and where their dimension lies: all together in
    front, and each alone in every place."""
    if len(arrays) > 1:
        yield (0,) * len(arrays)
    for k, array in enumerate(arrays):
        for dim in range(array.ndim + 1):
            yield tuple([dim if j == k else None for j in range(len(arrays))])


def results(case: Case, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The tensors that a sample's call gives."""
    waiting = iter(tensors)

    def given(leaf: Any) -> Any:
        if isinstance(leaf, Input):
            return next(waiting)
        return getattr(torch, leaf.name) if isinstance(leaf, Dtype) else leaf

    args, kwargs = rebuilt(case.sample.args, given), rebuilt(case.sample.kwargs, given)
    if is_inplace(case.name):
        args = (args[0].clone(), *args[1:])
    result = case.function(*args, **kwargs)
    if is_inplace(case.name):
        result = args[0]
    parts = result if isinstance(result, (tuple, list)) else (result,)
    return tuple([part for part in parts if isinstance(part, Tensor)])


def leaves_of(case: Case, arrays: Sequence[np.ndarray]) -> list[Tensor]:
    """Tensors of the arrays, those that are differentiated requiring grad."""
    pairs = zip(arrays, case.sample.inputs(), strict=True)
    return [wrap(a.copy()).requires_grad_(i.differentiable) for a, i in pairs]


def weights(shape: Sequence[int], dtype: Any) -> Tensor:
    count = int(np.prod(shape))
    return torch.arange(1, count + 1, dtype=dtype).view(tuple(shape))


def gradients(outputs: Sequence[Tensor], leaves: Sequence[Tensor], batched: bool) -> list[Tensor]:
    """The gradients by the leaves that require grad, with the same weights for all samples."""
    wanted = [t for t in leaves if t.requires_grad]
    roots = [o for o in outputs if o.requires_grad]
    if not wanted or not roots:
        return []
    given = [
        weights(o.shape[1:], o.dtype).expand(o.shape) if batched else weights(o.shape, o.dtype)
        for o in roots
    ]
    return list(
        torch.autograd.grad(roots, wanted, given, allow_unused=True, materialize_grads=True)
    )


def by_loop(case: Case, dims: Dims) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Results and gradients of one sample after the other, put together."""
    arrays = case.arrays()
    parts = batches(arrays)
    found, slopes = [], []
    for k in range(SIZE):
        own = [a if d is None else parts[n][k] for n, (a, d) in enumerate(zip(arrays, dims))]  # noqa: B905
        leaves = leaves_of(case, own)
        outputs = results(case, leaves)
        found.append([o.detach().numpy() for o in outputs])
        slopes.append([g.numpy() for g in gradients(outputs, leaves, False)])
    inputs = zip(dims, leaves, strict=True)
    places = [d for d, t in inputs if t.requires_grad]
    return [np.stack(column) for column in zip(*found, strict=True)], [
        np.sum(column, 0) if d is None else np.stack(column, d)
        for d, column in zip(places, zip(*slopes, strict=True), strict=False)
    ]


def by_vmap(case: Case, dims: Dims) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The same of all samples at once."""
    arrays = case.arrays()
    parts = batches(arrays)
    joined = [
        a if d is None else np.stack(parts[n], d)
        for n, (a, d) in enumerate(zip(arrays, dims, strict=True))
    ]
    leaves = leaves_of(case, joined)
    outputs = torch.vmap(lambda *tensors: results(case, tensors), in_dims=dims)(*leaves)
    slopes = gradients(outputs, leaves, True)
    return [o.detach().numpy() for o in outputs], [g.numpy() for g in slopes]


ROWS = rows_of_table()
# How many calls of each operation are compared.
AT_FIRST = pytest.mark.parametrize("count", [1, pytest.param(None, marks=pytest.mark.slow)])

# What cannot be done for samples, in PyTorch neither.
REFUSED = {
    "allclose": "vmap over torch.allclose isn't supported yet", "argwhere": "dynamic shape",
    "equal": "Batching rule not implemented for aten::equal",
    "is_nonzero": "data-dependent control flow", "nonzero": "dynamic shape",
    "unique": "dynamic shape", "unique_consecutive": "dynamic shape",
}  # fmt: skip
ALSO = {
    "where:9": "dynamic shape",  # the form with one argument
    "dropout:2": "random operation",  # of probability 1, for which no number is drawn
    "rrelu:5": "random operation",
}  # fmt: skip
BY_MEMORY = ("as_strided",)
# A view of a sample need not be one of all samples.
NO_VIEW = "view size is not compatible"
MASK = "vmap over (the mask|indices that are masks)"
IN_PLACE = "is not possible because there exists a Tensor `other`"
# Where a greatest element is nan, which elements share its gradient depends on their number.
AT_NAN = ("max:14", "min:14")


def refusal(case: Case, dims: Any) -> str | None:
    """The text of the error that is expected, if one is."""
    texts = [REFUSED.get(case.name), ALSO.get(case.key)]
    return next((text for text in texts if text), None)


def check(case: Case, dims: Any) -> None:
    """Compare one sample's call in one way of being batched."""
    what = f"{case} in_dims={dims}"
    text = refusal(case, dims)
    if text is not None:
        with pytest.raises(RuntimeError, match=text):
            by_vmap(case, dims)
        return
    if case.name in BY_MEMORY and any(dims):  # where a sample's elements lie in memory differs
        return
    try:
        expected = by_loop(case, dims)
    except (RuntimeError, ValueError, IndexError):  # values in other places do not fit together
        with pytest.raises((RuntimeError, ValueError, IndexError)):
            by_vmap(case, dims)
        return
    try:
        found = by_vmap(case, dims)
    except RuntimeError as error:
        known = (
            (NO_VIEW in str(error) and case.name in ("view", "view_as") and dims[0])
            or (IN_PLACE in str(error) and case.name.endswith("_") and dims[0] is None)
            or re.search(MASK, str(error))
            or (case.key == "gradient:13" and ".item()" in str(error))  # its spacing is a tensor
        )
        if not known:
            raise
        return
    compare(case, found, expected, what)


def compare(case: Case, found: Any, expected: Any, what: str) -> None:
    """Equal shapes, dtypes and, but for rounding, values; of the gradients as well."""
    for kind, ours, theirs in zip(("result", "gradient"), found, expected, strict=True):
        if kind == "gradient" and case.key in AT_NAN:
            continue
        assert len(ours) == len(theirs), f"{what}: number of {kind}s"
        for a, b in zip(ours, theirs, strict=True):
            assert (a.dtype, a.shape) == (b.dtype, b.shape), f"{what}: {kind}"
            # Integers become single precision in some operations.
            near = rounding("float32", terms=16) if a.dtype == np.float32 else 1e-9
            np.testing.assert_allclose(
                a.astype(np.float64), b.astype(np.float64), near, near, err_msg=f"{what}: {kind}"
            )


def check_row(name: str, count: int | None) -> None:
    """Compare the first calls of an operation, or all."""
    for case in ROWS[name][:count]:
        for dims in all_dims(case.arrays()):
            check(case, dims)


@contextmanager
def leaving_nothing() -> Iterator[None]:
    """A block after which no tensor of all samples is alive that it made."""
    wholes: list[weakref.ref[torch.Tensor]] = []

    def noted(self: Shadow, whole: torch.Tensor) -> None:
        self.whole = whole
        wholes.append(weakref.ref(whole))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Shadow, "__init__", noted)
        yield
    if any(whole() is not None for whole in wholes):
        gc.collect()  # errors that were expected hold their frames
    assert wholes
    assert all(whole() is None for whole in wholes)


@pytest.mark.filterwarnings("ignore")
@AT_FIRST
@in_parts(ROWS, 25)
def test_all_samples_at_once_are_one_after_the_other(names: list[str], count: int | None) -> None:
    def check_and_leave_nothing(name: str) -> None:
        with leaving_nothing():
            check_row(name, count)

    each(names, check_and_leave_nothing)


def check_gradients(name: str, count: int | None) -> None:
    """Compare gradients of several weights at once with those of one after the other."""
    for case in ROWS[name][:count]:
        leaves = leaves_of(case, case.arrays())
        outputs = [o for o in results(case, leaves) if o.requires_grad]
        wanted = [t for t in leaves if t.requires_grad]
        if not outputs or not wanted:
            continue
        given = [torch.stack([weights(o.shape, o.dtype) * k for k in (1, 2)]) for o in outputs]
        gradient = partial(
            torch.autograd.grad, outputs, wanted, materialize_grads=True, retain_graph=True
        )
        try:
            one_by_one = [gradient([w[k] for w in given]) for k in (0, 1)]
        except NotImplementedError:  # what is in place may have no derivative
            continue
        expected = [torch.stack(column).numpy() for column in zip(*one_by_one, strict=True)]
        found = gradient(given, is_grads_batched=True)
        recorded = torch.vmap(lambda *w, g=gradient: g(w, create_graph=True))(*given)
        for both in (found, recorded):
            compare(case, ([t.detach().numpy() for t in both], []), (expected, []), str(case))


@pytest.mark.filterwarnings("ignore")
@AT_FIRST
@in_parts(ROWS, 25)
def test_gradients_of_all_weights_at_once_are_one_after_the_other(
    names: list[str], count: int | None
) -> None:
    def gradients(name: str) -> None:
        check_gradients(name, count)

    each(names, gradients)


def test_a_wrong_rule_of_an_adjoint_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RULES, "tanh_backward", lambda call: call.whole("grad"))
    with pytest.raises(AssertionError):
        check_gradients("tanh", None)


def test_a_wrong_rule_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """That a dimension of a sample is another one of all samples, for example."""
    monkeypatch.setitem(RULES, "sum_along", leading)
    with pytest.raises(AssertionError):
        check_row("sum", None)


def test_each_operation_has_a_rule_or_a_reason_to_loop() -> None:
    for family in iter_modules(ops.__path__):
        import_module(f"nanotorch.ops.{family.name}")
    own = {name: o for name, o in OPS.items() if o.kernel.__module__.startswith("nanotorch.ops.")}
    looped = {name for name, o in own.items() if derive_rule(o) is one_by_one}
    assert looped - RULES.keys() == set()
    assert RULES.keys() - own.keys() == set()
