"""Samples of the table of operations under `vmap`, and what a loop over the batch makes of them."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import nanotorch as torch
from nanotorch._core.tensor import Tensor, wrap
from tests.ops.cases import Case, cases, load
from tests.ops.sampling import Dtype, Input, is_inplace, rebuilt

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
    """Weights of an output's elements."""
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


def by_vmap(
    case: Case, dims: Dims, vmap: Callable[..., Any] = torch.vmap
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The same of all samples at once."""
    arrays = case.arrays()
    parts = batches(arrays)
    joined = [
        a if d is None else np.stack(parts[n], d)
        for n, (a, d) in enumerate(zip(arrays, dims, strict=True))
    ]
    leaves = leaves_of(case, joined)
    outputs = vmap(lambda *tensors: results(case, tensors), in_dims=dims)(*leaves)
    slopes = gradients(outputs, leaves, True)
    return [o.detach().numpy() for o in outputs], [g.numpy() for g in slopes]
