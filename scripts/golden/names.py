"""Write `tests/golden/names.json`: the public names of PyTorch's modules and classes."""

import importlib
import json
from pathlib import Path

TARGET = Path(__file__).parents[2] / "tests" / "golden" / "names.json"
PLACES = [
    "Tensor", "Generator", "Size", "device", "finfo", "iinfo", "nn", "nn.Module", "nn.Parameter",
    "nn.functional", "nn.init", "nn.utils", "optim", "optim.Optimizer", "optim.lr_scheduler",
    "optim.lr_scheduler.LRScheduler", "optim.swa_utils", "autograd", "autograd.Function",
    "utils.data", "cuda", "accelerator", "backends", "func", "linalg", "distributions",
]  # fmt: skip


def main() -> None:
    """Ask PyTorch for all its names."""
    torch = importlib.import_module("torch")
    importlib.import_module("torch.utils.data")
    names = {"": [name for name in dir(torch) if name[0] != "_"]}
    for place in PLACES:
        found = torch
        for part in place.split("."):
            found = getattr(found, part)
        names[place] = [name for name in dir(found) if name[0] != "_"]
    lines = [f"{json.dumps(place)}: {json.dumps(known)}" for place, known in names.items()]
    TARGET.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
    count = sum(map(len, names.values()))
    print(f"{TARGET}: {count} names, {TARGET.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
