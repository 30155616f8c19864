"""Write `tests/golden/programs_*.json`: PyTorch's answers to the programs in `tests/ops/texts`.

Views, indices, writes in place and products of matrices: values, graphs, versions, first and second
gradients, errors. Run it where torch is.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.ops.programs import GOLDEN, HERE, answer, texts  # noqa: E402 - in this checkout

torch: Any = importlib.import_module("torch")


def compact(value: Any) -> str:
    """JSON without spaces."""
    return json.dumps(value, separators=(",", ":"))


def main() -> None:
    """Run every program with PyTorch."""
    for path in sorted((HERE / "texts").glob("*.txt")):
        answers = {
            text: answer(torch, torch.nn.functional.linear, text) for text in texts(path.stem)
        }
        target = GOLDEN / f"programs_{path.stem}.json"
        lines = [f"{compact(k)}: {compact(v)}" for k, v in answers.items()]
        target.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
        print(f"{target.name}: {len(answers)} programs")


if __name__ == "__main__":
    main()
