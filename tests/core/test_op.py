"""The declaration of operations: what is refused, what is generated, how it explains itself."""

import inspect
import traceback
from collections.abc import Iterator

import numpy as np
import pytest

import nanotorch as torch
from nanotorch._core.op import COMMON, OPS, PUBLIC, Array, Arrays, Op, op
from nanotorch._core.tensor import Tensor


@pytest.fixture(autouse=True)
def _no_new_operations() -> Iterator[None]:
    """Take back what a test declares."""
    ops, public, methods = dict(OPS), dict(PUBLIC), set(vars(Tensor))
    yield
    for name in set(vars(Tensor)) - methods:
        delattr(Tensor, name)
    for table, before in ((OPS, ops), (PUBLIC, public)):
        for name in set(table) - set(before):
            del table[name]


def cubed(input: Array) -> Array:
    """``input`` to the third."""
    return input * input * input


def test_a_declaration_is_all_it_takes() -> None:
    function = op(input=lambda g, input: g * (3 * input * input), inplace=True)(cubed)
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    y = x.cubed()
    assert type(y.grad_fn).__name__ == "CubedBackward0"
    assert PUBLIC["cubed"] is function
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (gg,) = torch.autograd.grad(g.sum(), x, create_graph=True)
    (ggg,) = torch.autograd.grad(gg.sum(), x)
    assert [t.tolist() for t in (y, g, gg, ggg)] == [[1, 8], [3, 12], [6, 12], [6, 6]]
    z = x * 1
    assert z.cubed_() is z
    assert z.tolist() == [1, 8]
    (g,) = torch.autograd.grad(z.sum(), x)
    assert g.tolist() == [3, 12]


def test_bare_arrays_go_straight_to_the_kernel() -> None:
    function = op(input=lambda g: g, method=False, public=False)(cubed)
    assert type(function(np.array([2.0]))) is np.ndarray
    assert function(np.float64(2.0)) == 8.0


@pytest.mark.parametrize(
    ("formulas", "message"),
    [
        ({"input": lambda g, wrong: g}, "op cubed: a formula asks for 'wrong', which it has not"),
        ({"input": lambda g, other_shape: g}, "asks for 'other_shape'"),
        ({"other": lambda g: g}, r"op cubed: formulas for \['other'\], inputs \['input'\]"),
        ({"surprise": True}, r"op cubed: unknown options \['surprise'\]"),
        ({"node_nam": "X"}, r"unknown options \['node_nam'\]"),
    ],
)
def test_refused_declarations(formulas: dict[str, object], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        op(**formulas)(cubed)
    assert "cubed" not in OPS


def test_a_name_is_declared_once() -> None:
    op(input=lambda g: g, method=False, public=False)(cubed)
    with pytest.raises(TypeError, match="op cubed is declared twice"):
        op(input=lambda g: g)(cubed)


def test_what_a_formula_names_is_what_is_kept() -> None:
    def kernel(input: Array, other: Array, factor: float) -> Array:
        return input * other * factor

    cases = {
        (): lambda g: g,
        ("out",): lambda g, out: g,
        ("other", "factor"): lambda g, other, factor: g,
        ("input_shape",): lambda g, input_shape: g,
    }
    for names, formula in cases.items():
        assert {n for n, _ in Op(kernel, {"input": formula}).recipe} == set(names)
    assert not Op(kernel, {"input": lambda g, factor: g}).keeps_values
    assert Op(kernel, {"input": lambda g, other: g}).keeps_values


def test_optional_and_variadic_inputs() -> None:
    def kernel(tensors: Arrays, scale: Array | None = None) -> Array:
        return tensors[0]

    o = Op(kernel, {})
    assert o.variadic == "tensors"
    assert o.optional == {"scale"}
    assert o.inputs == ["tensors", "scale"]
    assert o.statics == []


def test_functions_document_themselves() -> None:
    add = torch.add
    assert add.__doc__ is not None
    assert "alpha" in add.__doc__
    assert str(inspect.signature(add)) == "(input, other, *, alpha=1, out=None)"
    assert inspect.signature(torch.Tensor.exp).parameters.keys() == {"input"}
    assert add.__module__ == "nanotorch.ops.elementwise"
    assert add.__name__ == "add"
    assert "In-place" in (torch.Tensor.add_.__doc__ or "")


def test_the_source_of_generated_functions_can_be_read() -> None:
    torch.mul(torch.ones(1), 2)  # an operation is compiled when it is first called
    torch.ones(1).mul(2)  # and so is the method, which has no `out`
    source = inspect.getsource(torch.Tensor.mul)
    assert source.startswith("def mul(input, other=ABSENT, *more, **named):")
    source = inspect.getsource(torch.mul)
    assert source.startswith("def mul(input=ABSENT, other=ABSENT, *more, out=None, **named):")
    assert "kernel(a_input, a_other)" in source


def test_tracebacks_show_generated_lines_and_formulas() -> None:
    def failing(input: Array) -> Array:
        return input * 1

    def formula(g: Array) -> Array:
        raise ZeroDivisionError("in the formula")

    function = op(input=formula, method=False, public=False)(failing)
    x = torch.ones(2, requires_grad=True)
    y = function(x).sum()
    try:
        y.backward()
    except ZeroDivisionError as error:
        text = "".join(traceback.format_exception(error))
    assert "<nanotorch op failing: plain_back>" in text
    assert "grad_input(g)" in text
    assert "in formula" in text


def test_every_function_of_an_op_is_generated_with_its_name() -> None:
    for name, o in OPS.items():
        assert o.name == name
        assert o.kernel.__doc__, f"{name} is not documented"
        if o.inplace:
            assert callable(o.functions[f"Tensor.{name}_"])


@pytest.mark.parametrize("one_step", [False, True])
def test_formulas_take_half_precision_in_single(one_step: bool) -> None:
    """Whatever their code looks like, unless they are declared to do one operation."""
    seen = {}

    def formula(g: Array) -> Array:
        seen["kind"] = g.dtype
        return g

    options = {"method": False, "public": False, "one_step": one_step}
    x = torch.ones(2, dtype=torch.float16, requires_grad=True)
    op(input=formula, **options)(cubed)(x).backward(torch.ones(2, dtype=torch.float16))
    assert seen["kind"] == (np.float16 if one_step else np.float32)
    assert x.grad.dtype == torch.float16


def test_common_dtypes_of_long_lists_are_few() -> None:
    before = len(COMMON)
    for n in range(2, 40):
        torch.cat([torch.ones(1)] * n)
    assert len(COMMON) <= before + 1
