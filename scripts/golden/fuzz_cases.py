"""Write `tests/golden/fuzz.json`: PyTorch's answers to the programs that the fuzzer found."""

import importlib
import json
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.core.fuzz_cases import CASES  # noqa: E402 - of the checkout
from tests.core.programs import outcome, told  # noqa: E402


def main() -> None:
    """Run every program with PyTorch."""
    torch = importlib.import_module("torch")
    target = ROOT / "tests" / "golden" / "fuzz.json"
    lines = [
        f"{json.dumps(name)}: {json.dumps(told(outcome(torch, program)))}"
        for name, program in CASES.items()
    ]
    target.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
    print(f"{target}: {len(lines)} programs, {target.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
