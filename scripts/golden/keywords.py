"""Write `tests/golden/keywords.json`: the names of the arguments of PyTorch's functions.

For each function and method of the table: the names of a sample's arguments, the sample's number,
and whether NumPy's names for them work too. Run it where torch is.
"""

from __future__ import annotations

import importlib
import inspect
import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.ops.keywords import PLACES, by_name, found, prepared, spellings  # noqa: E402
from tests.ops.samples import TABLE  # noqa: E402

TARGET = ROOT / "tests" / "golden" / "keywords.json"


def forms(torch: Any, path: str, function: Any) -> Iterator[list[str]]:
    """The names of positional arguments, for each form in which PyTorch declares a function."""
    place, _, name = path.rpartition(".")
    method = place == "Tensor"
    if inspect.isfunction(function):
        parameters = inspect.signature(function).parameters
        yield [n for n in parameters if not (method and n == "self")]
        return
    prefix = {"linalg": "linalg_", "special": "special_"}.get(place, "")
    schemas = torch._C._jit_get_schemas_for_operator(f"aten::{prefix}{name}")
    for schema in schemas:
        names = [a.name for a in schema.arguments if not a.kwarg_only]
        if method:
            yield [n for n in names if n != "self"]
        else:
            yield ["input" if n == "self" else n for n in names]


def accepts(function: Any, own: Any, named: dict[str, Any]) -> bool:
    """Whether the function accepts the arguments."""
    try:
        function(*own, **named)
    except (TypeError, RuntimeError, ValueError, IndexError, NotImplementedError):
        return False
    return True


def entries(torch: Any, path: str, function: Any, samples: Any) -> Iterator[list[Any]]:
    """An entry for each form of a sample: names, its number, whether NumPy's names work."""
    told: set[tuple[str, ...]] = set()
    for number, sample in enumerate(samples):
        if sample.fails:
            continue
        args, _ = prepared(torch, path, sample, torch.tensor)
        for names in forms(torch, path, function):
            taken = tuple(names[: len(args) - path.startswith("Tensor.")])
            if len(taken) < len(args) - path.startswith("Tensor."):
                continue
            args, kwargs = prepared(torch, path, sample, torch.tensor)
            own, named = by_name(path, args, taken)
            if not accepts(function, own, named | kwargs):
                continue
            if taken in told or not taken:
                break
            others = []
            for spelled in spellings(named | kwargs):
                fresh, _ = prepared(torch, path, sample, torch.tensor)
                others.append(accepts(function, fresh[: len(own)], spelled))
            if len(set(others)) > 1:
                print(path, taken, others)
            told.add(taken)
            yield [list(taken), number, all(others) if others else None]
            break


def main() -> None:
    """Ask PyTorch for each row, at each place where it has an operation of that name."""
    torch: Any = importlib.import_module("torch")
    warnings.simplefilter("ignore")
    answers = {}
    for row_name, row in TABLE.items():
        if " " in row_name:
            continue
        for place in [""] if "." in row_name else PLACES:
            path = place + row_name
            function = found(torch, path)
            if function is not None and (
                known := list(entries(torch, path, function, row.samples))
            ):
                answers[path] = known
    lines = [f"{json.dumps(path)}: {json.dumps(known)}" for path, known in answers.items()]
    TARGET.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


if __name__ == "__main__":
    main()
