"""Write `tests/golden/counts.json`: the Poisson and binomial counts that PyTorch draws.

Each with the number that the stream gives next, which tells how many were taken. Run it where
torch is.
"""

import importlib
import json
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parents[2] / "tests" / "golden" / "counts.json"
RATES = (0.0, 0.5, 3.0, 9.75, 12.0, 50.0, 1000.0)
TRIALS = ((5.0, 0.25), (10.0, 0.75), (100.0, 0.4), (1000.0, 0.9), (40.0, 0.5), (7.0, 0.0))
COUNT = 20


def main() -> None:
    """Draw each and write them."""
    torch: Any = importlib.import_module("torch")
    found = []
    for name in ("float32", "float64"):
        kind = getattr(torch, name)
        for rate in RATES:
            torch.manual_seed(7)
            drawn = torch.poisson(torch.full((COUNT,), rate, dtype=kind)).tolist()
            found.append([name, "poisson", [rate], drawn, torch.rand(1).item()])
        for count, chance in TRIALS:
            torch.manual_seed(7)
            n, p = (torch.full((COUNT,), value, dtype=kind) for value in (count, chance))
            drawn = torch.binomial(n, p).tolist()
            found.append([name, "binomial", [count, chance], drawn, torch.rand(1).item()])
    lines = ",\n".join(json.dumps(entry) for entry in found)
    TARGET.write_text(f"[\n{lines}\n]\n", "utf-8")
    print(f"{TARGET}: {len(found)} draws")


if __name__ == "__main__":
    main()
