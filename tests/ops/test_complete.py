"""Nothing is left out: every operation is sampled, every row is of an operation."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

import nanotorch as torch
from nanotorch._core.op import OPS, PUBLIC, Op, OpNode
from nanotorch._core.tensor import Tensor
from nanotorch.ops import ALIASES
from tests.ops.cases import Answer, Case, cases, function_of, load
from tests.ops.checks import (
    gradients,
    nodes_behind,
    outputs_with_grad,
    second_gradients,
    weights_of,
)
from tests.ops.samples import TABLE
from tests.ops.sampling import is_inplace


def told(reasons: dict[str, str]) -> dict[str, str]:
    """The reason of each name."""
    return {name: why for why, names in reasons.items() for name in names.split()}


# Why an operation has no row and stands in no row's graph.
ELSEWHERE = told({
    "PyTorch has no derivative of it: tests/core/golden_graph.py": """
        floor_divide heaviside number_floor_divided number_remainder scatter_combined
        scatter_combined_in_place _unique2_values unique_consecutive_values unique_dim_values""",
    "random, and its gradient an error: tests/core/golden_mistakes.py": "draw_with_chance",
    "its own derivative is an error, as in PyTorch": "ctc_backward",
    "it stands for several: tests/ops/test_affine.py": "layer layer_of_rows class_cross_entropy",
})  # fmt: skip

# Why an exported function or a method has no row.
NOT_SAMPLED = told({
    "random: tested against PyTorch's stream of numbers": """
        bernoulli multinomial normal rand rand_like randint randint_like randn randn_like randperm
        bernoulli_ exponential_ normal_ random_ uniform_""",
    "acts on the state of a generator or of a tensor, not on values": """
        get_rng_state initial_seed manual_seed seed set_rng_state detach_ requires_grad_ resize_
        resize_as_ share_memory_""",
    "takes NumPy's arrays": "asarray from_dlpack from_numpy frombuffer to_dlpack",
    "its values are undefined": "empty empty_like",
    "not an operation": """
        can_cast contiguous_format get_device is_tensor memory_format preserve_format
        UntypedStorage layout strided""",
    "gives the tensor itself, or an error, since no number is complex":
        "conj real resolve_conj resolve_neg imag",
    "given with its warning in `tests/core/golden_mistakes.py`": "range",
    "a second name of what is sampled by its first": " ".join(
        name
        for second in ALIASES
        for name in (second, f"{second}_")
        if hasattr(torch.Tensor, name) and name not in TABLE
    ),
})  # fmt: skip


def working(golden: dict[str, Answer]) -> Iterator[Case]:
    """The cases that PyTorch answers with a result."""
    for case in cases():
        answer = golden.get(case.key) if case.row.torch is not None else None
        if answer is None or answer.error is None:
            yield case


@pytest.fixture(scope="module")
def nodes_of_all_rows() -> list[OpNode]:
    """The nodes behind the results of every sample, and behind the gradients of its inputs.

    The table differentiates both: the gradients with respect to inputs and weights.
    """
    nodes: list[Any] = []
    for case in working(load()):
        call = case.call()
        outs = outputs_with_grad(call)
        weights = weights_of(outs, requires_grad=True)
        grads: Sequence[Any] = ()
        if outs and case.row.second:
            grads = torch.autograd.grad(
                outs, call.leaves, weights, create_graph=True, materialize_grads=True
            )
        behind = nodes_behind(outs) + nodes_behind(grads)
        nodes += [node for node in behind if isinstance(node, OpNode)]
    return nodes


def called_by_all_rows(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The operations whose kernels run on Tensors in some sample or in its derivatives."""
    called: set[str] = set()
    for name, o in OPS.items():
        kernel = o.namespace["kernel"]

        def noting(*args: Any, _name: str = name, _kernel: Any = kernel, **kwargs: Any) -> Any:
            called.add(_name)
            return _kernel(*args, **kwargs)

        monkeypatch.setitem(o.namespace, "kernel", noting)
    for case in working(load()):
        outs = outputs_with_grad(case.call())
        if outs and case.row.second:
            second_gradients(case.call())
        elif outs:
            gradients(case.call(), create_graph=True)
    return called


def missing_rows(ops: dict[str, Op], seen: set[str]) -> set[str]:
    """The operations that no sample exercises."""
    return {name for name in ops if name not in seen | set(ELSEWHERE)}


@pytest.mark.slow
def test_every_operation_is_sampled(
    nodes_of_all_rows: list[OpNode], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those with formulas stand in the graph of a result, so that their gradients are checked."""
    in_graphs = {node.op.name for node in nodes_of_all_rows}
    called = called_by_all_rows(monkeypatch)
    without_formulas = {name for name in called if not OPS[name].formulas}
    # The trainer's, which is there once that is imported, sums over processes: train/test_ranks.py.
    own = {name: o for name, o in OPS.items() if "train" not in o.kernel.__module__.split(".")}
    del own["to_device"]  # its results have no values: tests/core/golden_meta.py
    assert missing_rows(own, in_graphs | without_formulas) == set()


def test_a_missing_row_is_seen() -> None:
    assert missing_rows({"sinc": OPS["sin"], "sin": OPS["sin"]}, {"sin"}) == {"sinc"}


def test_every_row_is_of_an_operation() -> None:
    unknown = [name for name, row in TABLE.items() if function_of(name, row) is None]
    assert unknown == []
    assert [name for name, row in TABLE.items() if not row.samples] == []


def test_every_export_is_sampled() -> None:
    assert sorted(set(PUBLIC) - set(TABLE) - set(NOT_SAMPLED)) == []


def test_every_in_place_form_is_sampled() -> None:
    private = {f"{name}_" for name, o in OPS.items() if not o.method}
    forms = {n for n in vars(Tensor) if is_inplace(n) and n[0] != "_" and hasattr(Tensor, n)}
    forms -= private
    assert sorted(forms - set(TABLE) - set(NOT_SAMPLED)) == []


def test_reasons_are_not_stale() -> None:
    assert [name for name in ELSEWHERE if name not in OPS] == []
    assert [n for n in NOT_SAMPLED if n not in PUBLIC and not hasattr(Tensor, n)] == []
    assert sorted(set(NOT_SAMPLED) & set(TABLE)) == []


def test_every_golden_answer_is_of_a_sample() -> None:
    keys = {
        f"{name}:{number}"
        for name, row in TABLE.items()
        for number in range(len(row.samples))
        if row.torch is not None
    }
    assert set(load()) == keys


@pytest.mark.slow
def test_further_outputs_that_formulas_use_are_integers(nodes_of_all_rows: list[OpNode]) -> None:
    """Else the second derivative, which takes them for constants, would be silently wrong.

    That of `gelu_unit` does not: `gelu_backward` counts the share's derivative with the input's.
    That of `ctc` is an error.
    """
    for node in nodes_of_all_rows:
        for (name, kind), kept in zip(node.op.recipe, node._saved or (), strict=False):
            if kind == "aux" and kept is not None and node.op.name not in ("gelu_unit", "ctc"):
                assert kept[0]._array.dtype.kind in "iub", f"{node.op.name}: {name}"


def test_second_names_are_the_same_functions() -> None:
    for second, first in ALIASES.items():
        assert getattr(torch.Tensor, second, None) is getattr(torch.Tensor, first, None)
        if hasattr(torch, first):
            assert getattr(torch, second) is getattr(torch, first)
