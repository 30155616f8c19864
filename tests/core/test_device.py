"""Devices. PyTorch's texts for a missing GPU are those of its builds for the CPU."""

from collections.abc import Callable
from typing import Any

import pytest

import nanotorch as torch


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
