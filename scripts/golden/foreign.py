"""Write `tests/golden/foreign/`: small files of PyTorch, for the errors of `load`.

One is in the safetensors format, which `load` reads; the others hold pickles. Run it where torch
is.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parents[2] / "tests" / "golden" / "foreign"


def main() -> None:
    """Save a model in every format with PyTorch."""
    torch: Any = importlib.import_module("torch")
    safetensors: Any = importlib.import_module("safetensors.torch")
    TARGET.mkdir(exist_ok=True)
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 2)
    state = model.state_dict()
    torch.save(state, TARGET / "zip.pt")
    torch.save(state, TARGET / "old.pt", _use_new_zipfile_serialization=False)
    torch.jit.script(model).save(TARGET / "script.pt")
    tensors = {
        "b": torch.tensor([True, False]),
        "f16": torch.tensor([1.5, -2.0]).half(),
        "f64": torch.randn(2, 3).double(),
        "i8": torch.tensor([[1], [-1]], dtype=torch.int8),
        "scalar": torch.tensor(3),
        "empty": torch.zeros(0, 2),
        **state,
    }
    safetensors.save_file(tensors, TARGET / "state.safetensors", {"format": "pt"})
    brain = {"w": torch.tensor([1.0, -1 / 3, 1e30], dtype=torch.bfloat16)}
    safetensors.save_file(brain, TARGET / "bfloat16.safetensors")
    print(f"{TARGET}: {sum(p.stat().st_size for p in TARGET.iterdir())} bytes")


if __name__ == "__main__":
    main()
