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
    """The version cell of an inference tensor.

    Args:
        known: it counts versions, and so its tensor may be written to outside the mode, as what
            `detach` gives there.
    """

    def __init__(self, known: bool = False) -> None:
        super().__init__((0, None))
        self.known = known

    def __getitem__(self, index: SupportsIndex) -> int:  # type: ignore[override]
        if mode.enabled or (mode.enabled is not None and not self.known):
            raise RuntimeError(SAVED)
        return self.version

    @property
    def version(self) -> int:
        """How often the memory was written to."""
        return int(super().__getitem__(0))


def new_cell(version: int = 0) -> list[Any]:
    """The version cell of a tensor that is made here."""
    return InferenceCell() if mode.enabled is None else [version, None]


def is_inference(input: "Tensor") -> bool:
    """Whether the tensor was made in inference mode."""
    return isinstance(input._cell, InferenceCell)


def of_inference(*tensors: Any) -> bool:
    """Whether all of them, but for None, are inference tensors."""
    return all(t is None or t._cell.__class__ is InferenceCell for t in tensors)


def refuse_write(cell: list[int]) -> None:
    """Refuse a write to an inference tensor outside the mode.

    Raises:
        RuntimeError: if ``cell`` is such a tensor's.
    """
    if mode.enabled is not None and isinstance(cell, InferenceCell) and not cell.known:
        raise RuntimeError(WRITTEN)
