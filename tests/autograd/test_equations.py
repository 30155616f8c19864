"""Every equation on a page of `explain` is true: of any operation, whatever is constant in it."""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

import nanotorch as torch
from nanotorch._core.tensor import Tensor
from nanotorch.autograd import graph_text
from tests.autograd.equations import check, looked_back, watched
from tests.ops.cases import Case, by_row
from tests.ops.checks import weights_of
from tests.ops.sampling import Input, rebuilt
from tests.ops.test_table import DIFFERENTIATED
from tests.several import each

# Losses of operands that are broadcast warn.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
ROWS = by_row(DIFFERENTIATED)


@pytest.fixture(autouse=True)
def exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts with all numbers of a tensor, and all their digits."""
    monkeypatch.setattr(graph_text, "SMALL", 100_000)
    monkeypatch.setattr(graph_text, "DIGITS", 17)


def with_inputs(case: Case, inputs: list[Input]) -> Case:
    """The case with other inputs."""
    left = iter(inputs)

    def next_input(leaf: Any) -> Any:
        return next(left) if isinstance(leaf, Input) else leaf

    args, kwargs = (rebuilt(tree, next_input) for tree in (case.sample.args, case.sample.kwargs))
    return replace(case, sample=replace(case.sample, args=args, kwargs=kwargs))


def constants(case: Case) -> Iterator[Case]:
    """The case with every proper subset of its operands constant."""
    inputs = case.sample.inputs()
    choices = [(True, False) if i.differentiable else (i.grad,) for i in inputs]
    for flags in itertools.product(*choices):
        chosen = [replace(i, grad=flag) for i, flag in zip(inputs, flags, strict=True)]
        if any(i.differentiable for i in chosen):
            yield with_inputs(case, chosen)


def broadcast(case: Case) -> Iterator[Case]:
    """The case with each of its operands in smaller shapes, if all have the same."""
    inputs = list(case.sample.inputs())
    shapes = {i.shape for i in inputs}
    if len(inputs) < 2 or len(shapes) > 1 or any(i.values is not None for i in inputs):
        return
    (shape,) = shapes
    smaller = {shape[k:] for k in range(1, len(shape) + 1)} - {shape}
    smaller |= {(*shape[:k], 1, *shape[k + 1 :]) for k in range(len(shape))}
    for k, one in itertools.product(range(len(inputs)), sorted(smaller - {shape})):
        yield with_inputs(case, [*inputs[:k], replace(inputs[k], shape=one), *inputs[k + 1 :]])


def is_recorded(case: Case) -> bool:
    """Whether the operation accepts the inputs and records the call."""
    try:
        return any(isinstance(out, Tensor) and out.requires_grad for out in case.call()())
    except (RuntimeError, ValueError, IndexError):
        return False


def runs_back(case: Case) -> bool:
    """Whether the backward pass of a call runs, if it is recorded: an operation that only formulas
    call does not refuse all operands that its own formulas cannot use."""
    if is_recorded(case):
        outs = [out for out in case.call()() if isinstance(out, Tensor) and out.requires_grad]
        try:
            torch.autograd.backward(outs, weights_of(outs))
        except IndexError:
            return False
    return True


def check_pages(case: Case) -> None:
    """Check both pages of a case, if it has a graph."""
    for make in (watched, looked_back):
        if is_recorded(case):
            torch.manual_seed(0)
            check(make(case.call("float64"), weights_of))


def check_all(case: Case) -> None:
    """Check the pages of a case with every subset of constants, also where it is broadcast."""
    each(constants(case), check_pages)
    each(filter(runs_back, itertools.chain(*map(constants, broadcast(case)))), check_pages)


# Operations with two or three operands, with options, with several results, of one formula.
SOME = ["div", "pow", "where", "addmm", "lerp", "clamp", "cat", "std_mean", "layer_norm"]


def test_equations_of_some_operations() -> None:
    each([case for name in SOME for case in constants(ROWS[name][0])], check_pages)
    each(ROWS["mul"][:1], check_all)
    # The shape of a number; an operand that was written to without a record.
    each([*ROWS["put"], *ROWS["cosine_similarity"]], check_pages)


@pytest.mark.slow
@pytest.mark.parametrize("name", ROWS)
def test_equations(name: str) -> None:
    each(ROWS[name], check_all)
