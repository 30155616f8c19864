"""Write the answers of PyTorch to golden cases: `tests/golden/nn_loss.json` and the like.

Run it where torch is; with arguments, only the files named are written: `nn_loss core_graph`.
"""

from __future__ import annotations

import importlib
import json
import sys
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.answers import GOLDEN, cases, files, leaves, told  # noqa: E402 - of the checkout


def main(names: list[str]) -> None:
    """Run every case with PyTorch."""
    torch: Any = importlib.import_module("torch")
    importlib.import_module("torch.utils.data")
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    for name in names or files():
        answers = {}
        for key, case in cases(name).items():
            torch.manual_seed(0)
            answers[key] = told(case(torch))
        target = GOLDEN / f"{name}.json"
        lines = [f"{json.dumps(key)}: {json.dumps(answer)}" for key, answer in answers.items()]
        target.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
        count = sum(1 for _ in leaves(answers))
        size = target.stat().st_size // 1000
        print(f"{target}: {len(answers)} cases, {count} answers, {size} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
