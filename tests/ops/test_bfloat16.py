"""Operations on bfloat16 compute in float32 and round their results, in the whole table."""

import numpy as np
import pytest

import nanotorch as torch
from nanotorch._core.bfloat16 import Bfloat16Array, round_to_bfloat16
from tests.ops.cases import Case, by_row, cases, outcome

# PyTorch has no kernels of them for bfloat16 either, or they compute in double precision.
ELSEWHERE = {
    "bincount", "float", "histc", "histogram", "logdet", "lu_unpack", "nanquantile", "quantile",
    "nextafter",  # another neighbour
    "info of linalg.cholesky_ex", "from linalg.svd", "from torch.svd", "from linalg.eigh",
}  # fmt: skip
# Several operations, each of which rounds: what they subtract or divide by is rounded before.
IN_STEPS = {
    "corrcoef", "cosine_similarity", "ctc_loss", "gradient", "logcumsumexp", "logsumexp",
    "tanhshrink", "triplet_margin_loss",
}  # fmt: skip
ROWS = by_row(c for c in cases() if c.row.torch is not None and c.name not in ELSEWHERE)
BFLOAT16, SINGLE = torch.bfloat16, torch.float32


def drawn(case: Case, kind: torch.dtype) -> list[torch.Tensor]:
    """Inputs that bfloat16 holds."""
    return [
        torch.tensor(round_to_bfloat16(a)).to(kind) if i.dtype == "float" else torch.tensor(a)
        for a, i in zip(case.arrays(), case.sample.inputs(), strict=True)
    ]


def complaint(single: torch.Tensor, found: torch.Tensor, most: float, whole: bool) -> str | None:
    """What is wrong with a result, beside that in single precision.

    Args:
        most: how many units in the last place they may lie apart.
        whole: of the largest number, else of each.
    """
    array = found._array
    if single.dtype is not SINGLE:
        plain = type(array) is np.ndarray and found.dtype is single.dtype
        return None if plain else f"{found.dtype} {type(array)}"
    if not isinstance(array, Bfloat16Array) or found.dtype is not BFLOAT16:
        return f"{found.dtype} {type(array)}"
    values, exact = array.astype(np.float32), round_to_bfloat16(single.detach()._array)
    if not np.array_equal(round_to_bfloat16(values), values, equal_nan=True):
        return "not rounded"
    largest = np.maximum(np.abs(values), np.abs(exact))
    if whole:
        largest = largest.max(initial=0, where=np.isfinite(largest))
    with np.errstate(all="ignore"):
        apart = np.abs(values - exact) / (largest * 2**-8)
    same = (values == exact) | (np.isnan(values) & np.isnan(exact))
    far = float(np.where(same, 0, apart).max(initial=0))
    return None if far <= most else f"{far:.1f} units"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("most", [pytest.param(None, marks=pytest.mark.slow), 1])
def test_results_and_gradients_are_rounded(most: int | None) -> None:
    """For all samples of every operation, or its first one."""
    wrong = []
    for name, row in ROWS.items():
        some = [c for c in row if c.sample.fails is False and "float32" not in str(c.sample)]
        some = [c for c in some if any(i.dtype == "float" for i in c.sample.inputs())]
        for case in some[:most]:
            single, half = (outcome(case, drawn(case, kind)) for kind in (SINGLE, BFLOAT16))
            for exact, found, whole in zip(single, half, (False, True), strict=True):
                limit = 500 if name in IN_STEPS else 8 if whole else 4
                told = [complaint(a, b, limit, whole) for a, b in zip(exact, found, strict=True)]
                wrong += [f"{case}: {text}" for text in told if text]
    assert not wrong


def test_views_share_memory_and_writes_are_rounded() -> None:
    x = torch.zeros(2, 3, dtype=BFLOAT16)
    x[0].fill_(1.01)
    x.T[2] = torch.tensor([1e-3, 257.0])
    x.unfold(1, 2, 1)[1, 0].add_(1 / 3)
    x.as_strided((1,), (1,), 4).mul_(3.0)
    one, third = float(round_to_bfloat16(1.01)), float(round_to_bfloat16(1 / 3))
    expected = [
        [one, one, float(round_to_bfloat16(1e-3))],
        [third, float(round_to_bfloat16(third * 3)), 256.0],
    ]
    assert x.tolist() == expected
    assert x.stride() == (3, 1)
    assert x[1, 1:].storage_offset() == 4


def test_what_reads_memory_is_told_that_it_holds_float32() -> None:
    x = torch.ones(3, dtype=BFLOAT16)
    with pytest.raises(NotImplementedError, match=r"torch\.save writes it"):
        x.data_ptr()
    assert x.view(torch.uint8).tolist() == [128, 63] * 3


def test_a_compiled_step_runs_as_it_is() -> None:
    x = torch.ones(3, dtype=BFLOAT16, requires_grad=True)

    @torch.compile
    def step() -> torch.Tensor:
        return (x * 1.01).sum()

    with pytest.warns(UserWarning, match="bfloat16 is computed operation by operation"):
        assert [step().dtype for _ in range(3)] == [BFLOAT16] * 3
    assert step().item() == torch.tensor(3 * float(round_to_bfloat16(1.01))).to(BFLOAT16).item()


def test_a_compiled_step_in_autocast_runs_as_it_is() -> None:
    weight = torch.ones(2, 2, requires_grad=True)

    @torch.compile
    def step() -> float:
        weight.grad = None
        with torch.autocast("cpu"):
            loss = (weight @ torch.ones(2, 2)).sum()
        loss.backward()
        return float(weight.grad.sum())

    with pytest.warns(UserWarning, match="bfloat16 is computed operation by operation"):
        assert [step() for _ in range(4)] == [8.0] * 4


def test_anomaly_mode_sees_what_is_not_finite() -> None:
    with torch.autograd.set_detect_anomaly(True), torch.autocast("cpu"):
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).tolist() == [[2.0, 2.0], [2.0, 2.0]]
        with pytest.warns(UserWarning, match="log gave nan in all 2 elements"):
            torch.full((2,), -1.0, dtype=BFLOAT16).log()


def test_an_error_tells_of_operands_with_a_history() -> None:
    weight = torch.zeros(5, 3, dtype=torch.bfloat16, requires_grad=True)
    x, bias = torch.zeros(3, 4, dtype=torch.bfloat16), torch.zeros(5, dtype=torch.bfloat16)
    with pytest.raises(RuntimeError, match=r"cannot be multiplied \(3x4 and 3x5\)"):
        torch.nn.functional.linear(x, weight, bias)
