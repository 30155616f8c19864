"""Dtypes, their promotion, sizes and devices."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nanotorch as torch
from nanotorch._core import dtypes


@pytest.mark.parametrize("kind", ["complex64", "U3", "object", "datetime64[s]"])
def test_types_without_counterpart(kind: str) -> None:
    with pytest.raises(TypeError, match=r"can't convert np\.ndarray of type numpy\."):
        dtypes.of_array(np.zeros(2, kind))


USES: dict[str, Callable[[Any], Any]] = {
    "tensor": lambda kind: torch.tensor([1.0], dtype=kind),
    "as_tensor": lambda kind: torch.as_tensor(np.ones(2), dtype=kind),
    "zeros": lambda kind: torch.zeros(2, dtype=kind),
    "arange": lambda kind: torch.arange(2, dtype=kind),
    "randn": lambda kind: torch.randn(2, dtype=kind),
    "zeros_like": lambda kind: torch.zeros_like(torch.ones(2), dtype=kind),
    "new_zeros": lambda kind: torch.ones(2).new_zeros(2, dtype=kind),
    "to": lambda kind: torch.ones(2).to(kind),
    "view": lambda kind: torch.ones(2).view(kind),
    "sum": lambda kind: torch.ones(2).sum(dtype=kind),
    "Linear": lambda kind: torch.nn.Linear(2, 2, dtype=kind),
    "set_default_dtype": torch.set_default_dtype,
}


@pytest.mark.parametrize("use", USES)
def test_dtypes_that_numpy_lacks_are_there_but_no_tensor_has_them(use: str) -> None:
    text = (
        r"^torch\.float8_e5m2 is out of scope\. Nanotorch computes in the dtypes of NumPy and in "
        r"bfloat16\. Use float32, or"
    )
    with pytest.raises(NotImplementedError, match=text):
        USES[use](torch.float8_e5m2)
    assert torch.get_default_dtype() is torch.float32


def test_promotion_is_symmetric_and_associative_within_a_rank() -> None:
    for a in dtypes.ALL:
        for b in dtypes.ALL:
            ab = dtypes.promote_types(a, b)
            assert ab is dtypes.promote_types(b, a)
            assert dtypes.promote_types(a, ab) is ab
            for c in dtypes.ALL:
                left = dtypes.promote_types(ab, c)
                assert left is dtypes.promote_types(a, dtypes.promote_types(b, c))


def test_python_types_stand_for_dtypes() -> None:
    assert torch.zeros(2, dtype=float).dtype is torch.float64
    assert torch.tensor([1, 0], dtype=bool).dtype is torch.bool
    assert torch.full((2,), 1.5, dtype=int).dtype is torch.int64
    assert torch.ones(2).to(int).dtype is torch.int64
    assert torch.zeros_like(torch.ones(2), dtype=float).dtype is torch.float64
    with pytest.raises(TypeError, match=r"'dtype' must be torch.dtype, not str"):
        torch.zeros(2, dtype="float32")


def test_dtypes_that_numpy_lacks_are_none_of_numpys() -> None:
    assert not hasattr(torch.float8_e5m2, "_numpy")
    assert not hasattr(torch.complex64, "char")


@pytest.mark.parametrize(
    "use",
    [
        lambda: torch.ones(2, device="cuda"),
        lambda: torch.tensor([1.0], device=torch.device("cuda:0")),
        lambda: torch.zeros_like(torch.ones(2), device="cuda"),
        lambda: torch.ones(2).to("cuda"),
        lambda: torch.ones(2).to(device=torch.device("cuda")),
        lambda: torch.ones(2).to(0),
        lambda: torch.ones(2).cuda(),
        lambda: torch.nn.Linear(2, 1).to("cuda"),
        lambda: torch.nn.Linear(2, 1).to(torch.device("cuda")),
        lambda: torch.nn.Linear(2, 1).cuda(),
        torch.cuda.current_device,
        lambda: torch.cuda.set_device(0),
        torch.cuda.synchronize,
        torch.cuda.get_device_name,
    ],
)
def test_no_gpu(use: Callable[[], Any]) -> None:
    with pytest.raises(AssertionError, match=r"^Torch not compiled with CUDA enabled$"):
        use()


def test_no_tensor_elsewhere() -> None:
    with pytest.raises(RuntimeError, match="runs on the CPU only; there is no device 'meta'"):
        torch.ones(2, device="meta")


def test_the_usual_choice_of_a_device() -> None:
    """As PyTorch's tutorials write it."""
    a = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    found = torch.accelerator.is_available()
    b = torch.accelerator.current_accelerator().type if found else "cpu"
    assert torch.ones(2).to(a).to(b).device == a
    assert not torch.backends.cuda.is_built()
    assert not torch.backends.cudnn.is_available()
    assert torch.backends.cudnn.version() is None
    assert torch.accelerator.current_accelerator() is None
