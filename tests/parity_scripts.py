"""The PyTorch programs under `tests/parity`, runnable on either framework."""

from pathlib import Path
from typing import Any

SCRIPTS = sorted((Path(__file__).parent / "parity").glob("*.py"))
GOLDEN = Path(__file__).parent / "golden" / "parity.json"


def run(script: Path, framework: str) -> dict[str, Any]:
    """Run a script on a framework; its `losses`, and what it says `final`ly."""
    text = script.read_text("utf-8")
    text = text.replace("import torch\n", f"import {framework} as torch\n")
    text = text.replace("from torch", f"from {framework}")
    namespace: dict[str, Any] = {"__name__": script.stem}
    exec(compile(text, str(script), "exec"), namespace)
    return {"losses": namespace["losses"], "final": namespace["final"]}
