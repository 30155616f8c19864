"""Every checker of the table has been seen to fail: each wrong operation here is caught."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from nanotorch._core.op import OPS, Array, op
from nanotorch._core.tensor import Tensor
from tests.ops import checks
from tests.ops.cases import Answer, Case, load
from tests.ops.sampling import Row, rows, s, x
from tests.several import each

GOLDEN = load()
# The samples whose answers PyTorch gave: the first of `exp` and of `mul`, of shape (3, 4).
EXP, MUL = GOLDEN["exp:0"], GOLDEN["mul:0"]
ONE, TWO = rows(s(x(3, 4))), rows(s(x(3, 4), x(3, 4)))
HIDDEN = {"method": False, "public": False}
CAUGHT = (AssertionError, ValueError)  # ValueError: NumPy refuses to write into a read-only array


@pytest.fixture(autouse=True)
def _no_new_operations() -> Iterator[None]:
    """Take back what a test declares."""
    before = dict(OPS)
    yield
    for name in set(OPS) - set(before):
        del OPS[name]


def case_of(function: Callable[..., Any], row: Row) -> Case:
    return Case("control", 0, row, row.samples[0], function)


def exponential(**formula: Any) -> Case:
    """`exp` with another formula."""

    def wrong_exp(input: Array) -> Array:
        return np.exp(input)

    return case_of(op(cast="float", node="ExpBackward0", **HIDDEN, **formula)(wrong_exp), ONE)


def product(**formulas: Any) -> Case:
    """`mul` with other formulas."""

    def wrong_mul(input: Array, other: Array) -> Array:
        return input * other

    return case_of(op(cast="promote", node="MulBackward0", **HIDDEN, **formulas)(wrong_mul), TWO)


def valued(kernel: Callable[[Any], Any], **options: Any) -> Case:
    """`exp` with another kernel and the right formula."""

    def wrong_value(input: Array) -> Array:
        return kernel(input)  # type: ignore[no-any-return]

    options = {"node": "ExpBackward0", "input": lambda g, out: g * out, **options}
    return case_of(op(**HIDDEN, **options)(wrong_value), ONE)


def everything(case: Case, answer: Answer) -> None:
    checks.check_values(case, answer)
    checks.check_first(case, answer)
    checks.check_second(case, answer)
    checks.check_first(case, None)
    checks.check_second(case, None)
    checks.check_modes(case)
    checks.check_layouts(case)
    checks.check_memory(case)
    checks.check_release(case)


def test_right_operations_pass() -> None:
    everything(exponential(input=lambda g, out: g * out), EXP)
    everything(product(input=lambda g, other: g * other, other=lambda g, input: g * input), MUL)


@pytest.mark.parametrize("answer", [EXP, None], ids=["golden", "differences"])
@pytest.mark.parametrize("factor", [1.001, 0.999, -1.0, 0.0])
def test_a_first_derivative_that_is_off(answer: Answer | None, factor: float) -> None:
    case = exponential(input=lambda g, out: g * out * factor)
    with pytest.raises(AssertionError, match="gradient 0"):
        checks.check_first(case, answer)


@pytest.mark.parametrize("factor", [1 + 1e-4, 1 - 1e-4])
def test_a_factor_in_single_precision_only(factor: float) -> None:
    def of(array: Any) -> float:
        return factor if array.dtype.itemsize == 4 else 1.0

    with pytest.raises(AssertionError, match="float32 gradient 0"):
        checks.check_first(exponential(input=lambda g, out: g * out * of(out)), EXP)
    with pytest.raises(AssertionError, match="float32 value"):
        checks.check_values(valued(lambda a: np.exp(a) * a.dtype.type(of(a))), EXP)


@pytest.mark.parametrize("answer", [MUL, None], ids=["golden", "differences"])
def test_gradients_of_exchanged_inputs(answer: Answer | None) -> None:
    case = product(input=lambda g, input: g * input, other=lambda g, other: g * other)
    with pytest.raises(AssertionError, match="gradient 0"):
        checks.check_first(case, answer)


@pytest.mark.parametrize("answer", [EXP, None], ids=["golden", "differences"])
@pytest.mark.parametrize("which", ["input", "g"])
def test_a_second_derivative_that_is_off(answer: Answer | None, which: str) -> None:
    """The first is right, computed by an operation whose own derivative is 0.1 % off."""
    off = {"input": 1.0, "g": 1.0, which: 1.001}

    def wrong_slope(g: Array, input: Array) -> Array:
        return g * np.exp(input)

    slope = op(
        g=lambda g, out, input: g * np_free_exp(input) * off["g"],
        input=lambda g, out: g * out * off["input"],
        **HIDDEN,
    )(wrong_slope)
    case = exponential(input=lambda g, input: slope(g, input))
    checks.check_first(case, answer)
    with pytest.raises(AssertionError, match="second gradient" if which == "input" else "gradient"):
        checks.check_second(case, answer)


def np_free_exp(a: Any) -> Any:
    """`exp` of an array or a Tensor."""
    return a.exp() if isinstance(a, Tensor) else np.exp(a)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (lambda a: np.exp(a) * (1 + 1e-12), "float64 value"),
        (lambda a: np.exp(a.astype(np.float64)), "float32"),
        (lambda a: np.exp(a).astype(np.float32), "float64"),
        (lambda a: np.exp(a)[:2], "shape|broadcast|float32"),
        (lambda a: np.where(a > 2, np.nan, np.exp(a)), "float32 value"),
        (lambda a: np.where(a > 2, np.inf, np.exp(a)), "float32 value"),
        (lambda a: a, "float32"),
        (lambda a: np.exp(a, out=a), "float32|input after the call"),
    ],
)
def test_wrong_values(kernel: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        checks.check_values(valued(kernel), EXP)


def test_a_wrong_node_name() -> None:
    with pytest.raises(AssertionError, match="Exp2Backward0"):
        checks.check_values(valued(np.exp, node="Exp2Backward0"), EXP)


def test_a_missing_history() -> None:
    def constant_exp(input: Array) -> Array:
        return np.exp(input)

    with pytest.raises(AssertionError, match="ExpBackward0"):
        checks.check_values(case_of(op(**HIDDEN)(constant_exp), ONE), EXP)


def test_stale_golden_answers() -> None:
    case = exponential(input=lambda g, out: g * out)
    with pytest.raises(AssertionError, match="other samples"):
        checks.check_values(case, GOLDEN["tanh:1"])


def test_a_formula_that_writes_into_the_gradient() -> None:
    def in_place(g: Any, out: Any) -> Any:
        g *= out
        return g

    with pytest.raises(CAUGHT):
        checks.check_memory(exponential(input=in_place))


def test_a_formula_that_returns_what_is_saved() -> None:
    with pytest.raises(AssertionError, match="result 0 is held"):
        checks.check_memory(exponential(input=lambda g, out: out))
    with pytest.raises(AssertionError, match="result 0 is held"):
        checks.check_memory(product(input=lambda g, other: other, other=lambda g, input: g * input))


def test_formulas_that_return_one_array_twice() -> None:
    made: list[Any] = []

    def first(g: Any, other: Any) -> Any:
        made.append(g * other)
        return made[-1]

    with pytest.raises(AssertionError, match="is shared"):
        checks.check_memory(product(input=first, other=lambda g, input: made[-1]))


def test_a_formula_that_keeps_what_it_was_given() -> None:
    def keeping(g: Any, out: Any) -> Any:
        result = g * out
        result.note = [result]
        return result

    with pytest.raises(AssertionError):
        checks.check_release(exponential(input=keeping))


def test_a_formula_that_knows_which_mode_it_is_in() -> None:
    case = exponential(
        input=lambda g, out: g * out * (1.0 if isinstance(g, Tensor) else 1.0 + 1e-15)
    )
    with pytest.raises(AssertionError, match="in the two modes"):
        checks.check_modes(case)


def test_a_gradient_of_the_wrong_dtype_in_one_mode() -> None:
    """The engine casts: only the bits of the narrower type tell."""

    def narrow(g: Any, out: Any) -> Any:
        if isinstance(g, Tensor):
            return g * out
        return (g * out).astype(np.float32)

    with pytest.raises(AssertionError, match="float64 gradient in the two modes"):
        checks.check_modes(exponential(input=narrow))


def test_a_kernel_that_looks_at_the_layout() -> None:
    case = valued(lambda a: np.exp(a.ravel(order="K")).reshape(a.shape))
    checks.check_values(case, EXP)
    with pytest.raises(AssertionError, match=r"column-major|backwards"):
        checks.check_layouts(case)


def test_a_formula_that_looks_at_the_layout() -> None:
    def formula(g: Any, input: Any, out: Any) -> Any:
        return g * out * (1.0 if input.flags.c_contiguous else 2.0)

    with pytest.raises(AssertionError, match="gradient of"):
        checks.check_layouts(exponential(input=formula))


def test_errors_that_differ() -> None:
    expected = GOLDEN["mul:7"]
    assert expected.error is not None
    case = product(input=lambda g, other: g * other, other=lambda g, input: g * input)
    with pytest.raises(AssertionError, match="returned"):
        checks.check_error(case, expected)

    def refuse(input: Any, other: Any) -> Any:
        raise RuntimeError("another text")

    with pytest.raises(AssertionError, match="another text"):
        checks.check_error(case_of(refuse, TWO), expected)


def test_each_sample_is_checked_and_told() -> None:
    wrong = exponential(input=lambda g, out: g)
    right = product(input=lambda g, other: g * other, other=lambda g, input: g * input)

    def differences(case: Case) -> None:
        checks.check_first(case, None)

    with pytest.raises(ExceptionGroup, match="2 checks fail") as raised:
        each([wrong, right, wrong], checks.check_modes, differences)
    told = [error.__notes__ for error in raised.value.exceptions]
    assert told == [[f"differences: {wrong}"]] * 2
