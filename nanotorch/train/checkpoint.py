"""Tensors in a file, in the safetensors format: nothing in it can be executed."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

import nanotorch as torch

from .run_directory import write_atomically


def save_weights(path: Path, tensors: Mapping[str, torch.Tensor]) -> None:
    """Write a state dict; PyTorch's `safetensors.torch.load_file` reads it too."""
    from safetensors.numpy import save

    # safetensors writes the memory as it lies, whatever the strides say.
    arrays = {
        name: np.ascontiguousarray(tensor.detach().numpy()) for name, tensor in tensors.items()
    }
    write_atomically(path, save(arrays))


def load_weights(path: Path) -> dict[str, torch.Tensor]:
    """Return the state dict that was written."""
    from safetensors.numpy import load

    return {name: torch.from_numpy(array) for name, array in load(path.read_bytes()).items()}
