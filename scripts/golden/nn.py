"""Write `tests/golden/{nn_*,optim*,data*}.json`: PyTorch's answers in situations of training code.

Each module of situations has a golden file of its own. Run it where torch is; with arguments, only
the files named are written.
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

from tests.answers import FILES, GOLDEN, leaves, situations, told  # noqa: E402 - of the checkout


def main(names: list[str]) -> None:
    """Put every situation to PyTorch."""
    torch: Any = importlib.import_module("torch")
    importlib.import_module("torch.utils.data")
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    for name in names or FILES:
        answers = {}
        for key, ask in situations(name).items():
            torch.manual_seed(0)
            answers[key] = told(ask(torch))
        target = GOLDEN / f"{name}.json"
        lines = [f"{json.dumps(key)}: {json.dumps(answer)}" for key, answer in answers.items()]
        target.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
        count = sum(1 for _ in leaves(answers))
        size = target.stat().st_size // 1000
        print(f"{target}: {len(answers)} situations, {count} answers, {size} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
