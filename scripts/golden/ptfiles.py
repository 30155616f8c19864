"""Record files of PyTorch, or read files of nanotorch with PyTorch.

Run it with each Python that has PyTorch; each adds its files, in both formats:

    PYTHONPATH=. python scripts/golden/ptfiles.py

With --check, PyTorch reads what nanotorch writes, with weights_only=True.
"""

import importlib
import io
import json
import sys
import zipfile
from pathlib import Path
from typing import Any

import nanotorch
from tests.serialization.objects import OBJECTS, described

torch: Any = importlib.import_module("torch")
TARGET = Path(__file__).parents[2] / "tests" / "golden" / "ptfiles.zip"


def record() -> None:
    """Add PyTorch's files and their descriptions to the container."""
    version = torch.__version__.partition("+")[0]
    kept = {}
    if TARGET.exists():
        with zipfile.ZipFile(TARGET) as before:
            kept = {n: before.read(n) for n in before.namelist() if not n.startswith(version)}
    for name, make in OBJECTS.items():
        obj = make(torch)
        for form in ("zip", "old"):
            file = io.BytesIO()
            torch.save(obj, file, _use_new_zipfile_serialization=form == "zip")
            kept[f"{version}/{form}/{name}.pt"] = file.getvalue()
            file.seek(0)
            found = described(torch, torch.load(file, weights_only=True))
            kept[f"{version}/{form}/{name}.json"] = json.dumps(found).encode()
    with zipfile.ZipFile(TARGET, "w", zipfile.ZIP_LZMA) as archive:
        for name in sorted(kept):
            archive.writestr(zipfile.ZipInfo(name), kept[name], zipfile.ZIP_LZMA)
    print(f"{len(kept) // 2} files, {TARGET.stat().st_size:,} bytes")


def check() -> None:
    """Read nanotorch's files: of its own objects, and of what it has read from PyTorch's."""
    count = 0
    with zipfile.ZipFile(TARGET) as archive:
        files = [archive.read(n) for n in archive.namelist() if n.endswith(".pt")]
    objects = [nanotorch.load(io.BytesIO(data)) for data in files]
    objects += [make(nanotorch) for make in OBJECTS.values()]
    for obj in objects:
        file = io.BytesIO()
        nanotorch.save(obj, file)
        file.seek(0)
        ours = described(nanotorch, nanotorch.load(file))
        file.seek(0)
        assert described(torch, torch.load(file, weights_only=True)) == ours, obj
        count += 1
    print(f"PyTorch {torch.__version__} reads {count} files of nanotorch")


check() if "--check" in sys.argv else record()
