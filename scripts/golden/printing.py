"""Write `tests/golden/printing.json`: how PyTorch prints many tensors. Run it where torch is.

The cases are drawn from a fixed seed, so another run writes the same file.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

TARGET = Path(__file__).parents[2] / "tests" / "golden" / "printing.json"
DTYPES = "float32 float32 float32 float64 float64 float16 int64 int64 int32 int16 int8 uint8 bool"
Case = dict[str, Any]


def draw_shape(rng: np.random.Generator) -> tuple[int, ...]:
    """Mostly small shapes of up to five axes, some empty, some long."""
    kind = rng.random()
    if kind < 0.06:
        return ()
    if kind < 0.12:
        return tuple(int(n) for n in rng.integers(0, 3, rng.integers(1, 4)))
    if kind < 0.35:
        return (int(rng.integers(1, 45)),)
    if kind < 0.70:
        return tuple(int(n) for n in rng.integers(1, 9, 2))
    return tuple(int(n) for n in rng.integers(1, 4, rng.integers(3, 6)))


def draw_floats(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Numbers of one or of many magnitudes, whole or not, with zeros, infinities and NaN."""
    wide = 4.0 if dtype == "float16" else 12.0
    scale = 10.0 ** (rng.uniform(-wide, wide) if rng.random() < 0.4 else rng.uniform(-1, 2))
    values = np.asarray(rng.normal(size=shape) * scale)
    if rng.random() < 0.3:
        values = np.round(values)
    if rng.random() < 0.2:
        values = values * 10.0 ** rng.integers(-3, 4, shape)
    if rng.random() < 0.2:
        values = np.abs(values)
    if rng.random() < 0.3:
        special = np.array([0.0, -0.0, np.nan, np.inf, -np.inf])
        mask = rng.random(shape) < rng.choice([0.1, 0.5, 1.0])
        values = np.where(mask, rng.choice(special[: rng.integers(1, 6)], shape), values)
    with np.errstate(over="ignore", under="ignore"):
        return values.astype(dtype)


def draw_array(rng: np.random.Generator) -> np.ndarray:
    """An array of any dtype that nanotorch has."""
    shape, dtype = draw_shape(rng), str(rng.choice(DTYPES.split()))
    if dtype == "bool":
        return np.asarray(rng.random(shape) < 0.5)
    if dtype.startswith("float"):
        return draw_floats(rng, shape, dtype)
    limits = np.iinfo(dtype)
    size = min(int(10.0 ** rng.uniform(0, 19)), int(limits.max))
    return np.asarray(rng.integers(max(-size, int(limits.min)), size, shape, dtype, endpoint=True))


def draw_options(rng: np.random.Generator) -> Case:
    """Print options, most often none."""
    choices: Case = {
        "precision": [0, 1, 2, 3, 6, 8],
        "threshold": [0, 5, 20, 100],
        "edgeitems": [0, 1, 2, 4],
        "linewidth": [10, 30, 60, 120],
        "profile": ["default", "short", "full"],
        "sci_mode": [True, False],
    }
    chosen = {
        name: some[int(rng.integers(len(some)))]
        for name, some in choices.items()
        if rng.random() < 0.2
    }
    return chosen if rng.random() < 0.5 else {}


def written(torch: Any, case: Case, array: np.ndarray, form: str) -> tuple[list[str], str, str]:
    """Return the suffixes of a form of tensor, its prefix, and its text."""
    tensor = torch.tensor(array)
    floating = array.dtype.kind == "f"
    suffixes, prefix = [], "tensor("
    if form == "subclass":
        tensor = tensor.as_subclass(type("LongClassName", (torch.Tensor,), {}))
        prefix = "LongClassName("
    if form == "leaf" and floating:
        tensor.requires_grad_()
        suffixes = ["requires_grad=True"]
    if form == "result" and floating:
        tensor = tensor.requires_grad_().clone()
        suffixes = ["grad_fn=<CloneBackward0>"]
    torch.set_default_dtype(getattr(torch, case["default_dtype"]))
    torch.set_printoptions(profile="default")
    torch.set_printoptions(**case["options"])
    text = str(tensor)
    torch.set_printoptions(profile="default")
    torch.set_default_dtype(torch.float32)
    return suffixes, prefix, text


def numbers(array: np.ndarray) -> list[bool | int | float]:
    """The elements, floating-point ones as the shortest text that is read back exactly."""
    if array.dtype.kind != "f":
        values: list[bool | int] = array.ravel().tolist()
        return list(values)
    return [float(str(value)) for value in array.ravel()]


def draw_case(torch: Any, rng: np.random.Generator) -> tuple[np.ndarray, Case]:
    """A tensor, and the case: the options of its printing and PyTorch's text."""
    array = draw_array(rng)
    case: Case = {
        "dtype": array.dtype.name,
        "shape": list(array.shape),
        "default_dtype": "float64" if rng.random() < 0.1 else "float32",
        "options": draw_options(rng),
    }
    form = str(rng.choice(["plain", "plain", "leaf", "result", "subclass"]))
    case["suffixes"], case["prefix"], case["text"] = written(torch, case, array, form)
    return array, case


def long_case(torch: Any, shape: tuple[int, ...], dtype: str) -> Case:
    """A summarised `arange`, which needs no list of values; halves if the dtype has them."""
    array = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    if dtype.startswith("float"):
        array /= np.array(2.0, dtype)
    case: Case = {"dtype": dtype, "shape": list(shape), "default_dtype": "float32", "options": {}}
    case["suffixes"], case["prefix"], case["text"] = written(torch, case, array, "leaf")
    return case


def main(count: int) -> None:
    """Draw `count` small cases and add the long ones."""
    torch: Any = importlib.import_module("torch")
    rng = np.random.default_rng(0)
    cases = []
    for _ in range(count):
        array, case = draw_case(torch, rng)
        cases.append(case | {"values": numbers(array)})
    cases.append(long_case(torch, (1000,), "int16"))
    for shape in ((1001,), (12, 100), (100, 12), (7, 12, 13), (40, 2, 2, 10), (1,) * 12 + (5000,)):
        cases += [long_case(torch, shape, dtype) for dtype in ("int64", "float32")]
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    TARGET.write_text(f"[\n{lines}\n]\n", "utf-8")
    print(f"{TARGET}: {len(cases)} cases, {TARGET.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
