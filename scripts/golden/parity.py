"""Write `tests/golden/parity.json`: the losses of the parity scripts. Run it where torch is."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.parity_scripts import GOLDEN, SCRIPTS, run  # noqa: E402 - part of the checkout


def main() -> None:
    """Run every script with PyTorch."""
    torch: Any = importlib.import_module("torch")
    torch.set_num_threads(1)
    answers = {script.stem: run(script, "torch") for script in SCRIPTS}

    lines = [f"{json.dumps(key)}: {json.dumps(answer)}" for key, answer in answers.items()]
    GOLDEN.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
    for name, answer in answers.items():
        print(name, len(answer["losses"]), answer["losses"][0], answer["losses"][-1])


if __name__ == "__main__":
    main()
