"""Write `tests/golden/{hooks,graph,...}.json`: what PyTorch answers in the engine's situations.

Each file of situations beside the engine's tests has a golden file of its own. Run it where
torch is.
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
from tests.core.casebook import FILES, situations  # noqa: E402


def main() -> None:
    """Put every situation to PyTorch."""
    torch: Any = importlib.import_module("torch")
    warnings.simplefilter("ignore")
    for name in FILES:
        answers = {key: told(ask(torch)) for key, ask in situations(name).items()}
        target = GOLDEN / f"{name}.json"
        lines = [f"{json.dumps(key)}: {json.dumps(answer)}" for key, answer in answers.items()]
        target.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
        print(f"{target}: {len(answers)} situations, {target.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
