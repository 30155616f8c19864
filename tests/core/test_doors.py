"""The core works without the layers around it, which take part through `_core.doors`."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import nanotorch as torch
from nanotorch._core import doors

ALONE = """
import sys
from types import ModuleType

package = ModuleType("nanotorch")  # in the place of the package, which imports all layers
package.__path__ = [sys.argv[1]]
sys.modules["nanotorch"] = package

from nanotorch._core.dtypes import default
from nanotorch._core.engine import quick_sweep
from nanotorch._core.op import Array, op
from nanotorch._core.tensor import wrap
import numpy as np

formulas = {"input": lambda g, other: g * other, "other": lambda g, input: g * input}

@op(**formulas, cast="promote", dunder="mul")
def mul(input: Array, other: Array) -> Array:
    return np.multiply(input, other)

x, y = wrap(np.float32([1, 2])), wrap(np.float32([3, 4]))
x._set_flag(True)
out = x * y
quick_sweep(out._history, 0, np.ones_like(out._array), None)
print(x._grad._array.tolist())
print(*sorted(name for name in sys.modules if name.startswith("nanotorch.")))
"""
HEART = {
    "arguments", "bfloat16", "call_site", "doors", "dtypes", "engine", "grad_mode", "graph",
    "layout", "meta", "op", "op_source", "out", "ownership", "sums", "tensor",
}  # fmt: skip


def test_an_operation_and_its_backward_pass_need_no_other_layer() -> None:
    package = str(Path(torch.__file__).parent)
    run = [sys.executable, "-c", ALONE, package]
    lines = subprocess.run(run, capture_output=True, text=True, check=True).stdout.splitlines()
    assert lines[0] == "[3.0, 4.0]"
    loaded = {name.removeprefix("nanotorch.") for name in lines[1].split()}
    assert loaded == {"_core", "names", "names.lookup", *(f"_core.{name}" for name in HEART)}


class Seen(doors.Observer):
    """Notes what an observer of nodes sees."""

    def __init__(self) -> None:
        self.steps: list[tuple[str, Any]] = []

    def made(self, node: Any, out: Any, arguments: Any) -> None:
        self.steps.append(("made", node.name()))

    def visit(self, sweep: Any, visit: Any, node: Any, held: Any) -> None:
        self.steps.append(("visit", node.name()))
        visit(node, held)

    def ran(self, sweep: Any, node: Any, grads: Any, arrived: Any) -> None:
        self.steps.append(("ran", node.name()))


def test_an_observer_sees_each_node_and_others_run_inside_it() -> None:
    x, outer, inner = torch.ones(2, requires_grad=True), Seen(), Seen()
    inner.steps = outer.steps
    doors.nodes.extend([outer, inner])
    try:
        x.sum().backward(create_graph=False, inputs=[x])
    finally:
        doors.nodes.remove(outer)
        doors.nodes.remove(inner)
    assert outer.steps == [
        (what, name)
        for name, steps in (
            ("SumBackward0", ("made", "visit", "ran")),
            ("torch::autograd::AccumulateGrad", ("visit", "ran")),
        )
        for what in steps
        for _ in (outer, inner)
    ]


def test_without_a_layer_that_knows_them_arguments_have_no_values(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = torch.ones(2, dtype=torch.bfloat16)
    assert (x + x).dtype is torch.bfloat16
    monkeypatch.setattr(doors, "values", [])
    with pytest.raises(doors.NoValues):
        x.exp()


def test_vmap_comes_before_subclasses_of_tensors() -> None:
    seen = []

    class Own(torch.Tensor):
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            seen.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    own: Any = torch.ones(3).as_subclass(Own)
    out = torch.func.vmap(lambda x: torch.mul(x, own))(torch.ones(2, 3))
    assert out.tolist() == [[1.0] * 3] * 2
    assert seen[0] == "mul"
