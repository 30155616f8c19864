"""Write `tests/golden/ops.{json,npz}` and `strides.json`: PyTorch's answers to the table of
operations.

For each sample: the outputs' values, dtypes, node names and whether they are views; the gradients
of the inputs for fixed weights of the outputs; and the gradients of these along fixed directions,
for inputs and weights. For inputs of several layouts: the layouts of outputs and gradients; see
`tests.ops.strides`. Run it where torch is; with arguments, only the rows named are asked again:
`index_fill put`.
"""

from __future__ import annotations

import importlib
import json
import math
import sys
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.ops.samples import TABLE  # noqa: E402 - the table is part of the checkout
from tests.ops.sampling import Call, Row, Sample, find, is_inplace, weights_like  # noqa: E402
from tests.ops.strides import asked, told  # noqa: E402

TARGET = ROOT / "tests" / "golden" / "ops"
STRIDES = ROOT / "tests" / "golden" / "strides.json"
Entry = dict[str, Any]
Arrays = list[np.ndarray]


def function_of(torch: Any, name: str, row: Row) -> Callable[..., Any]:
    """PyTorch's function for a row."""
    if row.call is not None:
        call = row.call
        return lambda *args, **kwargs: call(torch, *args, **kwargs)
    return find(torch, row.torch or name)


def call_of(torch: Any, name: str, row: Row, sample: Sample, floating: str) -> Call:
    """The sample, ready to be called with PyTorch."""
    arrays = [i.draw(k, floating) for k, i in enumerate(sample.inputs())]
    function = function_of(torch, name, row)
    return Call(
        torch, function, sample, arrays, lambda a: torch.tensor(a), inplace=is_inplace(name)
    )


def tensors_like(torch: Any, tensors: list[Any], kind: str) -> list[Any]:
    """Fixed weights or directions for these tensors."""
    return [
        torch.tensor(weights_like(t.shape, kind, k), dtype=t.dtype) for k, t in enumerate(tensors)
    ]


def derivatives(torch: Any, call: Call, second: bool) -> tuple[list[Any], list[Any] | None]:
    """First and second gradients, zeros where PyTorch has none; None if not implemented there."""
    outs = [out for out in call() if out.requires_grad]
    weights = [w.requires_grad_() for w in tensors_like(torch, outs, "weight")]

    def grad(of: list[Any], inputs: list[Any], weights: list[Any], create_graph: bool) -> list[Any]:
        found = torch.autograd.grad(
            of, inputs, weights, create_graph=create_graph, allow_unused=True
        )
        pairs = zip(found, inputs, strict=True)
        return [torch.zeros_like(t) if g is None else g for g, t in pairs]

    first = grad(outs, call.leaves, weights, True)
    if not second:
        return first, None
    along = tensors_like(torch, call.leaves, "direction")
    depending = [(g, v) for g, v in zip(first, along, strict=True) if g.requires_grad]
    inputs = [*call.leaves, *weights]
    if not depending:
        return first, [torch.zeros_like(t) for t in inputs]
    try:
        return first, grad([g for g, _ in depending], inputs, [v for _, v in depending], False)
    except RuntimeError as error:
        if "not implemented" not in str(error):
            raise
        return first, None


def plain(outs: list[Any]) -> list[Any]:
    """The results of a call that are no tensors."""
    return [str(o).removeprefix("torch.") if "torch." in str(o) else o for o in outs]


def seen(call: Call, out: Any) -> list[Any]:
    """An output's dtype, node, and relation to the inputs: a view, one of them, on their memory."""
    memory = out.untyped_storage().data_ptr()
    relations = {
        "view": out._is_view(),
        "same": any(out is t for t in call.tensors),
        "shared": out.numel() > 0
        and any(memory == t.untyped_storage().data_ptr() for t in call.tensors),
    }
    node = None if out.grad_fn is None else type(out.grad_fn).__name__
    kinds = " ".join(kind for kind, holds in relations.items() if holds)
    return [str(out.dtype).removeprefix("torch."), node, kinds]


def answer(torch: Any, name: str, row: Row, sample: Sample) -> tuple[Entry, Arrays]:
    """One entry of the index, and its numbers."""
    drawn = [i.draw(k, "float64") for k, i in enumerate(sample.inputs())]
    total = 0
    for array in drawn:
        total = zlib.crc32(np.ascontiguousarray(array).tobytes(), total)
    entry: Entry = {"inputs": total}
    try:
        single = call_of(torch, name, row, sample, "float32")
        single()
    except Exception as error:
        if sample.fails is False:
            raise
        return entry | {"error": f"{type(error).__name__}: {error}"}, []
    if sample.fails:
        raise AssertionError("PyTorch accepts this sample")
    call = call_of(torch, name, row, sample, "float64")
    outs = call()
    if not all(isinstance(out, torch.Tensor) for out in outs):
        python = {"float32": plain(single()), "float64": plain(outs)}
        return entry | {"python": python}, []
    single_outs = single()
    entry["outputs"] = [
        [list(out.shape), seen(single, one), seen(call, out)]
        for one, out in zip(single_outs, outs, strict=True)
    ]
    for output in entry["outputs"]:
        if output[1] == output[2]:
            output.pop()
    arrays = [out.numpy(force=True) for out in outs]
    if any(out.requires_grad for out in outs):
        first, second = derivatives(torch, call, row.second)
        for key, grads in (("first", first), ("second", second)):
            if grads is not None:
                entry[key] = [list(g.shape) for g in grads]
                arrays += [g.numpy(force=True) for g in grads]
    return entry, arrays


def recorded(names: list[str]) -> dict[str, tuple[Entry, Arrays]]:
    """The entries and numbers that the files have, of other rows than the named ones."""
    if not names:
        return {}
    found, flat, start = {}, np.load(TARGET.with_suffix(".npz"))["values"], 0
    for key, entry in json.loads(TARGET.with_suffix(".json").read_text("utf-8")).items():
        shapes = [shape for shape, *_ in entry.get("outputs", [])]
        shapes += entry.get("first", []) + entry.get("second", [])
        end = start + sum(map(math.prod, shapes))
        if key.partition(":")[0] not in names:
            found[key] = entry, [flat[start:end]]
        start = end
    return found


def write_strides(torch: Any, names: list[str]) -> None:
    """Ask PyTorch for the layouts of results and gradients; those in order are left out."""
    lines, old = [], json.loads(STRIDES.read_text("utf-8")) if names else {}
    for name, row in TABLE.items():
        if row.torch is None:
            continue
        function = function_of(torch, name, row)
        for number in asked(row.samples):
            told_of = old.get(f"{name}:{number}") if name not in names else None
            if told_of is None:
                told_of = told(torch, function, name, row.samples[number], torch.from_numpy)
            text = json.dumps(told_of, separators=(",", ":"))
            lines.append(f'"{name}:{number}":{text}')
    STRIDES.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
    print(f"{STRIDES}: {len(lines)} samples, {STRIDES.stat().st_size // 1000} kB")


def main(names: list[str]) -> None:
    """Ask PyTorch for every sample of every row, or of the named rows."""
    torch: Any = importlib.import_module("torch")
    warnings.simplefilter("ignore")
    index: dict[str, Entry] = {}
    flat: Arrays = []
    problems, old = [], recorded(names)
    for name, row in TABLE.items():
        for number, sample in enumerate(row.samples):
            if row.torch is None:
                continue
            key = f"{name}:{number}"
            try:
                entry, arrays = old.get(key) or answer(torch, name, row, sample)
            except Exception as error:
                problems.append(f"{key}({sample}): {type(error).__name__}: {error}")
                continue
            index[key] = entry
            flat += [np.asarray(a, np.float64).ravel() for a in arrays]
    if problems:
        sys.exit("\n".join(problems))
    lines = [f"{json.dumps(k)}: {json.dumps(v, separators=(',', ':'))}" for k, v in index.items()]
    TARGET.with_suffix(".json").write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
    np.savez_compressed(TARGET.with_suffix(".npz"), values=np.concatenate(flat))
    sizes = [TARGET.with_suffix(suffix).stat().st_size // 1000 for suffix in (".json", ".npz")]
    print(f"{TARGET}: {len(index)} samples, {sizes[0]} + {sizes[1]} kB")
    write_strides(torch, names)


if __name__ == "__main__":
    main(sys.argv[1:])
