"""Inference tensors: what is made in inference mode, and must stay out of recorded operations.

An inference tensor differs from others in its version cell alone. Whoever saves a tensor reads
its version, so the refusal costs nothing where no inference tensor is.
"""

from typing import TYPE_CHECKING, Any, SupportsIndex

from nanotorch._core.grad_mode import mode

if TYPE_CHECKING:
    from nanotorch._core.tensor import Tensor

SAVED = (
    "Inference tensors cannot be saved for backward. Please do not use Tensors created in "
    "inference mode in computation tracked by autograd. To work around this, you can make a clone "
    "to get a normal tensor and use it in autograd, or use `torch.no_grad()` instead of "
    "`torch.inference_mode()`."
)
# The missing spaces between the sentences are PyTorch's.
WRITTEN = (
    "Inplace update to inference tensor outside InferenceMode is not allowed."
    "You can make a clone to get a normal tensor before doing inplace update."
    "See https://github.com/pytorch/rfcs/pull/17 for more details."
)
REQUIRED = "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed."
UNTRACKED = "Inference tensors do not track version counter."


class InferenceCell(list[Any]):
    """The version cell of an inference tensor, whose version nobody may ask for."""

    def __init__(self) -> None:
        super().__init__((0, None))

    def __getitem__(self, index: SupportsIndex) -> int:  # type: ignore[override]
        if mode.enabled is not None:
            raise RuntimeError(SAVED)
        return 0


def is_inference(input: "Tensor") -> bool:
    """Whether the tensor was made in inference mode."""
    return isinstance(input._cell, InferenceCell)


def refuse_write(cell: list[int]) -> None:
    """Refuse a write to an inference tensor outside the mode.

    Raises:
        RuntimeError: if ``cell`` is such a tensor's.
    """
    if mode.enabled is not None and isinstance(cell, InferenceCell):
        raise RuntimeError(WRITTEN)
