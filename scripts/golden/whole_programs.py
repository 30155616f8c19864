"""Write `tests/golden/whole_programs.json`: the output of `tests/programs` with PyTorch.

Run it where torch is; with arguments, only the programs named are run anew.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
TARGET = ROOT / "tests" / "golden" / "whole_programs.json"


def main(names: list[str]) -> None:
    """Run the programs, each in a process of its own."""
    known = json.loads(TARGET.read_text("utf-8")) if names else {}
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    for path in sorted((ROOT / "tests" / "programs").glob("*.py")):
        if path.name.startswith("test_") or (names and path.stem not in names):
            continue
        done = subprocess.run(
            [sys.executable, path], env=environment, capture_output=True, text=True, check=True
        )
        known[path.stem] = done.stdout.splitlines()
    TARGET.write_text(json.dumps(known, indent=0) + "\n", "utf-8")
    print(f"{TARGET}: {len(known)} programs, {TARGET.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
