"""The command `nanotorch convert`: files of weights in another format."""

import argparse
import io
import pickle
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nanotorch.ops.creation import from_numpy
from nanotorch.serialization import load, save
from nanotorch.serialization.files import open_file, write
from nanotorch.serialization.safetensors import Encoder

KNOWN = (".pt", ".pth", ".bin", ".ckpt", ".safetensors", ".npz")


def read(path: Path) -> Any:
    """The object in a file; of NumPy's, a dict of tensors."""
    if path.suffix != ".npz":
        return load(path)
    with open_file(path) as file, np.load(file, allow_pickle=False) as arrays:
        return {name: from_numpy(array) for name, array in arrays.items()}


def tensors_of(obj: Any) -> dict[str, Any]:
    """The tensors and arrays in an object, by the keys that lead to them, with dots between."""
    encoder = Encoder()
    encoder.encode(obj)
    return encoder.tensors


def convert(source: Path, target: Path) -> str:
    """Write what is in one file to another, whose name decides the format.

    Returns:
        A sentence about the new file.

    Raises:
        ValueError: for a name without a known ending.
        OSError, RuntimeError, pickle.UnpicklingError: if the file cannot be read or written.
    """
    if target.suffix not in KNOWN:
        raise ValueError(f"{target} has none of the endings {' '.join(KNOWN)}")
    obj = read(source)
    tensors = tensors_of(obj)
    if target.suffix == ".npz":
        data = io.BytesIO()
        arrays: Any = {
            name: (tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor)
            for name, tensor in tensors.items()
        }
        np.savez(data, **{name: tensor.detach().numpy() for name, tensor in arrays.items()})
        write(target, [data.getbuffer()])
    else:
        save(obj, target)
    return f"{target}: {len(tensors)} tensors, {target.stat().st_size:,} bytes"


def main(arguments: Sequence[str], program: str) -> int:
    """Convert a file of weights; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog=program,
        description="Write the tensors of a file in another format. No code in a file is run.",
        epilog="The endings of the names decide: .pt .pth .bin .ckpt are PyTorch's, then there "
        "are .safetensors and .npz. An .npz file holds the tensors alone, bfloat16 as float32.",
    )
    parser.add_argument("file", metavar="FILE", type=Path, help="the file to read")
    parser.add_argument("out", metavar="OUT", type=Path, help="the file to write")
    options = parser.parse_args(arguments)
    try:
        print(convert(options.file, options.out))
    except (OSError, ValueError, TypeError, RuntimeError, pickle.UnpicklingError) as error:
        print(f"{program}: error: {error}", file=sys.stderr)
        return 1
    return 0
