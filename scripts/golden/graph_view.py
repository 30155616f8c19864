"""Write `tests/golden/graph_view.json`: how torchviz draws PyTorch's graphs.

Run it where torch and torchviz are: `python scripts/golden/graph_view.py`.
"""

import importlib
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.autograd.graph_view_cases import CASES, statements  # noqa: E402 - part of the checkout

TARGET = ROOT / "tests" / "golden" / "graph_view.json"


def main() -> None:
    """Draw every case with torchviz."""
    torch: Any = importlib.import_module("torch")
    torchviz: Any = importlib.import_module("torchviz")
    answers = {}
    for name, case in CASES.items():
        var, options = case(torch)
        answers[name] = statements(torchviz.make_dot(var, **options).source)
    lines = [f"{json.dumps(name)}: {json.dumps(answer)}" for name, answer in answers.items()]
    TARGET.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
    print(f"{TARGET}: {len(answers)} graphs, {TARGET.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
