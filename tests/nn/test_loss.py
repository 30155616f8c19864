"""The losses answer as PyTorch's."""

import pytest

import nanotorch as torch
from nanotorch.nn import functional as F


@pytest.mark.parametrize(
    ("shares", "target", "told"),
    [
        ([0.25, -0.75], [1.5, 0.5], "target"), ([-0.25, 0.75], [1.5, 0.5], "input"),
        ([0.5, 0.5], [0.5, 2.0], "target"), ([0.5, 2.0], [0.5, 2.0], "input"),
    ],
)  # fmt: skip
def test_the_first_share_that_is_none_is_told(
    shares: list[float], target: list[float], told: str
) -> None:
    """As in PyTorch: element by element, the input's before the target's."""
    with pytest.raises(RuntimeError, match=f"^all elements of {told} should be between 0 and 1"):
        F.binary_cross_entropy(torch.tensor(shares), torch.tensor(target))
