"""Write `nanotorch/COVERAGE.md`: which of PyTorch's public names nanotorch has.

    python scripts/coverage.py

PyTorch's names are those in `names/pytorch.json`, the reasons those that errors tell.
"""

import argparse
import sys
from functools import reduce
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import nanotorch as torch  # noqa: E402 - of this checkout
from nanotorch._core.dtypes import AbsentDtype  # noqa: E402
from nanotorch.names.lookup import InertModules  # noqa: E402
from nanotorch.names.scope import HOMES, REASONS, Inert, names_of_pytorch, why_not  # noqa: E402

TARGET = ROOT / "nanotorch" / "COVERAGE.md"
PLACES = (
    "", "Tensor", "nn", "nn.functional", "nn.init", "nn.utils", "optim", "optim.lr_scheduler",
    "utils.data", "autograd", "func", "linalg", "distributions",
)  # fmt: skip
HEAD = """# What nanotorch has of PyTorch

Every public name of PyTorch 2.15 in these places: *present*, *not yet*, or *out of scope*,
with the reason. What libraries import of the latter is there to be imported; its use is an error
that says so. Written by `python scripts/coverage.py`; a test compares this file with what is there.

"""


def is_nothing(value: Any) -> bool:
    """Whether a name can only be imported and compared with: its use is an error."""
    inert = getattr(getattr(value, "__spec__", None), "loader", None) is InertModules
    inert = inert and value.__name__.partition(".")[2] not in HOMES
    return inert or isinstance(value, AbsentDtype | Inert)


def sorted_names(known: dict[str, list[str]], place: str) -> dict[str, list[str]]:
    """The names of a place, by status: present, not yet, or a reason."""
    try:
        here: Any = reduce(getattr, filter(None, place.split(".")), torch)
    except AttributeError:
        here = None
    found: dict[str, list[str]] = {}
    for name in known[place]:
        there = hasattr(here, name) and not is_nothing(getattr(here, name))
        why = None if there else why_not(place, name) or "not yet"
        found.setdefault(why or "present", []).append(name)
    return found


def listed(names: list[str]) -> str:
    """Names as Markdown."""
    return " ".join(f"`{name}`" for name in names)


def table() -> str:
    """The text of the file."""
    known = names_of_pytorch()
    places = {place: sorted_names(known, place) for place in PLACES}
    rows = ["| | present | not yet | out of scope |", "| --- | ---: | ---: | ---: |"]
    parts = []
    for place, found in places.items():
        shown = f"torch.{place}" if place else "torch"
        present, later = found.pop("present", []), found.pop("not yet", [])
        out = sum(map(len, found.values()))
        rows.append(f"| `{shown}` | {len(present)} | {len(later)} | {out} |")
        part = [f"## {shown}", f"**Present:** {listed(present)}"]
        part += [f"**Not yet:** {listed(later)}"] if later else []
        order = [r.why for r in REASONS if r.why in found]
        part += [f"**Out of scope:** {why}: {listed(found[why])}" for why in order]
        parts.append("\n\n".join(part))
    return HEAD + "\n".join(rows) + "\n\n" + "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    TARGET.write_text(table(), "utf-8")
    print(f"{TARGET}: {TARGET.stat().st_size // 1000} kB")
