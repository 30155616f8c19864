"""Write `tests/golden/{autograd,seeds}_*.json`: PyTorch's answers in the situations of those tests.

User functions, functional derivatives, inference and anomaly mode, hooks of saved tensors,
checkpoints; and the examples of the tutorials. Run it where torch is.
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

from tests.answers import GOLDEN, told  # noqa: E402 - part of the checkout
from tests.autograd.casebook import FILES, situations  # noqa: E402


def main() -> None:
    """Put every situation to PyTorch."""
    torch: Any = importlib.import_module("torch")
    warnings.simplefilter("ignore")
    for folder, name in [(folder, name) for folder, names in FILES.items() for name in names]:
        answers = {key: told(ask(torch)) for key, ask in situations(name, folder).items()}
        target = GOLDEN / f"{folder}_{name}.json"
        lines = [f"{json.dumps(key)}: {json.dumps(answer)}" for key, answer in answers.items()]
        target.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
        print(f"{target}: {len(answers)} situations, {target.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
