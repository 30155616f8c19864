"""The table's samples as nanotorch runs them, and PyTorch's answers to them."""

import importlib
import json
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

import nanotorch as torch
from nanotorch._core.op import OPS
from nanotorch._core.tensor import wrap
from nanotorch.ops import FAMILIES
from tests.ops.samples import TABLE
from tests.ops.sampling import Call, Row, Sample, find, is_inplace, weights_like

GOLDEN = Path(__file__).parents[1] / "golden"
FLOATS = ("float32", "float64")

for _family in FAMILIES["nanotorch.ops"].split():  # so that all operations are known
    importlib.import_module(f"nanotorch.ops.{_family}")


@dataclass(frozen=True)
class Seen:
    """What PyTorch says of one output.

    Attributes:
        relations: of "view", "same" (it is an input) and "shared" (memory of an input).
    """

    dtype: str
    node: str | None
    relations: str


@dataclass(frozen=True)
class Output:
    """One output: its shape, and the rest by the floating-point dtype of the run."""

    shape: tuple[int, ...]
    seen: dict[str, Seen]


@dataclass
class Answer:
    """PyTorch's answer to one sample.

    Attributes:
        checksum: of the drawn inputs, so that a stale golden file says so.
        error: the type and text of the exception, for a sample that fails.
        python: what the call returned that was no tensor, by floating-point dtype of the run.
        first, second: gradients of the inputs, and of the inputs and weights; None where PyTorch
            has none.
    """

    checksum: int
    error: str | None
    python: Any
    outputs: list[Output]
    values: list[np.ndarray]
    first: list[np.ndarray] | None
    second: list[np.ndarray] | None


@dataclass(frozen=True)
class Case:
    """One sample of one row, ready to be called."""

    name: str
    number: int
    row: Row
    sample: Sample
    function: Callable[..., Any]

    @property
    def key(self) -> str:
        return f"{self.name}:{self.number}"

    def __str__(self) -> str:
        return f"{self.key}({self.sample})"

    @cached_property
    def differentiable(self) -> bool:
        return any(i.differentiable for i in self.sample.inputs())

    @cached_property
    def gradients(self) -> dict[str, list[np.ndarray]]:
        """By floating-point dtype, those that a check has computed, for the others."""
        return {}

    def arrays(self, floating: str = "float64") -> list[np.ndarray]:
        """Fresh arrays of the inputs."""
        return [i.draw(k, floating) for k, i in enumerate(self.sample.inputs())]

    def call(self, floating: str = "float64", arrays: list[np.ndarray] | None = None) -> Call:
        """The call with fresh tensors, of ``arrays`` where given."""
        arrays = self.arrays(floating) if arrays is None else arrays
        inplace = is_inplace(self.name)
        return Call(torch, self.function, self.sample, arrays, wrap, inplace=inplace)


def function_of(name: str, row: Row) -> Callable[..., Any] | None:
    """How nanotorch is called for a row: by its own name, also where it is not exported."""
    if row.call is not None:
        call = row.call
        return lambda *args, **kwargs: call(torch, *args, **kwargs)
    hidden = name in OPS and not OPS[name].public
    home = sys.modules[OPS[name].kernel.__module__] if hidden else None
    try:
        return getattr(home, name) if hasattr(home, name) else find(torch, name)
    except AttributeError:
        return None


@cache
def cases() -> tuple[Case, ...]:
    """Every sample of every row; `test_complete` asks for the rows that name nothing."""
    functions = {name: function_of(name, row) for name, row in TABLE.items()}
    return tuple(
        [
            Case(name, number, TABLE[name], sample, function)
            for name, function in functions.items()
            if function is not None
            for number, sample in enumerate(TABLE[name].samples)
        ]
    )


def outcome(case: Case, tensors: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The results for these inputs, and the gradients that there are, for the golden weights."""
    torch.manual_seed(0)
    inplace = is_inplace(case.name)
    # What makes a tensor of an array gets the tensors themselves.
    call = Call(torch, case.function, case.sample, tensors, lambda t: t, inplace=inplace)
    outs = [out for out in call() if isinstance(out, torch.Tensor)]
    ends = [out for out in outs if out.requires_grad]
    if not (ends and call.leaves):
        return outs, []
    weights = [torch.tensor(weights_like(t.shape, "weight", k)).to(t) for k, t in enumerate(ends)]
    grads = torch.autograd.grad(ends, call.leaves, weights, allow_unused=True)
    return outs, [g for g in grads if g is not None]


def by_row(some: Iterable[Case]) -> dict[str, list[Case]]:
    """The samples of each row."""
    found: dict[str, list[Case]] = {}
    for case in some:
        found.setdefault(case.name, []).append(case)
    return found


@cache
def load() -> dict[str, Answer]:
    """The golden answers by `Case.key`."""
    index = json.loads((GOLDEN / "ops.json").read_text("utf-8"))
    flat = np.load(GOLDEN / "ops.npz")["values"]
    position = 0

    def take(shapes: list[list[int]]) -> list[np.ndarray]:
        nonlocal position
        arrays = []
        for shape in shapes:
            size = math.prod(shape)
            arrays.append(flat[position : position + size].reshape(shape))
            position += size
        return arrays

    answers = {}
    for key, entry in index.items():
        outputs = []
        for shape, *seen in entry.get("outputs", []):
            single, double = Seen(*seen[0]), Seen(*seen[-1])
            outputs.append(Output(tuple(shape), {"float32": single, "float64": double}))
        values = take([list(o.shape) for o in outputs])
        first = take(entry["first"]) if "first" in entry else None
        second = take(entry["second"]) if "second" in entry else None
        answers[key] = Answer(
            entry["inputs"], entry.get("error"), entry.get("python"), outputs, values, first,
            second,
        )  # fmt: skip
    assert position == len(flat), "ops.json and ops.npz were not made together"
    return answers
