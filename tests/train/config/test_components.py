"""Components come from the framework and from programs: names, signatures, placed errors."""

from inspect import Parameter
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import nanotorch as torch
from nanotorch import nn
from nanotorch import train as trainer
from nanotorch.train.config.components import (
    CALLBACKS,
    FUNCTIONS,
    LAYERS,
    LOSS_FACTS,
    LOSSES,
    OPTIMIZERS,
    Components,
    ExpressionError,
    parse_expression,
)
from nanotorch.train.config.load import dump_config, load_config
from nanotorch.train.config.sections import Component, describe_hint
from tests.several import each
from tests.train.examples import (
    CLASSIFICATION,
    MINIMIZATION,
    REGRESSION,
    mistake,
    refusal_of,
    result_of,
    said,
    write_example,
)

ALL = {name: registry for registry in (LAYERS, LOSSES, OPTIMIZERS) for name in registry.names}


# For arguments without a default; any other number is 2, which suits a size of anything.
REQUIRED: dict[str, Any] = {
    "unflattened_size": (1, 2),
    "dim": 1,
    "encoder_layer": Component(
        "TransformerEncoderLayer", {"d_model": 2, "nhead": 2, "batch_first": True}
    ),
}


# What has a default that says nothing.
NEEDED = {f"FractionalMaxPool{n}d": {"output_size": 2} for n in (2, 3)}


def required(registry: Components, name: str) -> dict[str, Any]:
    given: dict[str, Any] = {**NEEDED.get(name, {})}
    for argument, key in registry.keys(name).items():
        if key.default is Parameter.empty:
            inner = "mapping" in describe_hint(key.hint)
            given[argument] = REQUIRED.get(argument, Component("Identity", {}) if inner else 2)
    return given


def check_defaults(name: str) -> None:
    registry = ALL[name]
    inputs = [[torch.zeros(2, 2, requires_grad=True)]] if registry is OPTIMIZERS else []
    keys = registry.keys(name).items()
    arguments = {k: key.default for k, key in keys if key.default not in (None, Parameter.empty)}
    component = Component(name, {**arguments, **required(registry, name)})
    inferred = dict.fromkeys(registry.followed(name), 2)
    built = registry.build(component, *inputs, **inferred)
    assert type(built).__name__ == name


def check_types(name: str) -> None:
    registry = ALL[name]
    keys = registry.keys(name)
    for parameter in registry.parameters(name):
        assert parameter.default is parameter.empty or parameter.name in keys, parameter
    for key in keys.values():
        assert key.default in (None, Parameter.empty) or "mapping" not in describe_hint(key.hint)


def test_every_component_has_types_and_can_be_built_with_its_defaults() -> None:
    each(ALL, check_defaults, check_types)


def test_hints_keep_what_a_file_can_express() -> None:
    assert LAYERS.plain_hint(float | torch.Tensor, 1.0) is float
    assert LAYERS.plain_hint(torch.dtype | None, None) is None


def test_numbers_become_tensors_where_the_component_wants_them() -> None:
    component = Component("BCEWithLogitsLoss", {"reduction": "mean", "pos_weight": 3.0})
    loss = LOSSES.build(component)
    zero, one = torch.zeros(1, 1), torch.ones(1, 1)
    assert loss(zero, one).item() == pytest.approx(3 * loss(zero, zero).item())


def test_null_is_handed_over_where_it_is_not_the_default() -> None:
    text = REGRESSION.replace("layers:", "layers:\n    - {name: BatchNorm1d, momentum: null}")
    write_example(Path(), text)
    loaded = load_config("x.yaml")
    layer = loaded.config.model.layers[0]
    assert layer.build(num_features=2).momentum is None
    assert "momentum: null  " in dump_config(loaded)


# Expressions compute what Python would, and nothing but arithmetic gets through.


VALUES = {
    "x[0]**2 + (x[1] - 1)**2": ([1, 2], 2), " 3*x[0] - x[1]/4 ": ([2, 4], 5),
    "2**x[0]": ([3], 8), "-x[0] + +2": ([1], 1), "sum(x**2)": ([1, 2, 3], 14),
    "mean(x)": ([1, 2, 6], 3), "abs(x[0]) + sqrt(x[1])": ([-2, 9], 5),
    "exp(x[0]) + log(x[0] + 1) + sin(x[0]) + cos(x[0]) + tan(x[0]) + tanh(x[0])": ([0], 2),
    "cos(pi*x[0]) + e*0": ([1], -1), "(1/4 + 2**3*2)*x[0]": ([1], 16.25),
    "x[0]*999999999999999999999999999999*2": ([1], 2e30), "x[0]**2\n  + x[1]\n": ([3, 1], 10),
    "+".join(["x[0]"] * 150): ([1], 150),  # long, not deep
}  # fmt: skip
STARTS = {
    "x[3]": ([1, 2], "needs x of length 4, but the start has 2"),
    "x[0]": ([1, 2], "needs x of length 1, but the start has 2"),
    "x * 2": ([1, 2], "gives 2 numbers, not one; use sum(...)"),
    "log(x[0])": ([-1], "is nan at the start [-1]"),
    "1 / x[0]": ([0], "is inf at the start [0]"),
}


def test_the_value_and_starts_where_nothing_can_begin() -> None:
    for text, (x, value) in VALUES.items():
        expression = parse_expression(text)
        assert expression.problem(x) is None
        assert expression(torch.tensor(x).float()).item() == pytest.approx(value)
    for text, (start, message) in STARTS.items():
        assert parse_expression(text).problem(start) == message


DIMENSIONS = {"quadratic": 3, "sphere": 3, "ellipsoid": 4, "rastrigin": 3, "ackley": 3}
DIMENSIONS["styblinski_tang"] = 5


@pytest.mark.parametrize("name", FUNCTIONS)
def test_named_functions_have_their_least_value_at_their_minima(name: str) -> None:
    known = FUNCTIONS[name]
    dimensions = DIMENSIONS.get(name, 2)
    expression = known.expression()
    generator = np.random.default_rng(0)
    assert known.minima
    points = generator.normal(size=(6, dimensions))
    together = expression(torch.tensor(points.T.copy()))  # has the values of each
    alone = [expression(torch.tensor(point)).item() for point in points]
    np.testing.assert_allclose(together.numpy(), alone, rtol=1e-12)
    for place in known.places(dimensions):
        minimum = list(place)
        x = torch.tensor(minimum, dtype=torch.float64, requires_grad=True)
        value = expression(x)
        assert known.excess(value.item(), dimensions) == pytest.approx(0, abs=1e-12)
        if name != "ackley":  # a cone
            value.backward()
            np.testing.assert_allclose(x.grad.numpy(), np.zeros(dimensions), atol=1e-11)
        for _ in range(20):
            near = torch.tensor(minimum + 0.3 * generator.normal(size=dimensions))
            assert known.excess(expression(near).item(), dimensions) > 0
        assert known.distance(minimum) == (0, tuple(minimum))


def test_sums_of_numbers_are_the_numbers() -> None:
    expression = parse_expression("sum(sum(x)**2) + mean(x[0]) + sum((i + 1) * x)")
    points = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    np.testing.assert_allclose(expression(points).numpy(), [81 + 1 + 22, 144 + 2 + 28])


NO_ARITHMETIC = [
    "__import__('os').system('id')", "x.data", "x.__class__.__bases__", "(lambda: x)()", "await x",
    "[x for x in x]", "x[0] if x else 1", "x[0] < 1", "x[0] and 1", "x[0] // 2", "x @ x", "~x",
    "f'{x}'", "1or x[0]",
]  # fmt: skip
REFUSED = {
    **{text: f"{text!r} is not arithmetic" for text in NO_ARITHMETIC},
    **{f"x[{k}]": f"'x[{k}]' needs a whole number, as in x[0]" for k in (-1, 0.5, "0:1", True)},
    "open('f')": "'open' is not known; known: abs, cos, exp, log, mean, sin, sqrt, sum, tan, tanh",
    "x[0]^2": "'x[0]^2' is not arithmetic; powers are written **",
    "x[0] + 1 # 2": "'#' is not allowed",
    "x[0] + cos": "'cos' needs a value, as in cos(x[0])",
    "x(0)": "'x(0)' calls x; a coordinate is written x[0]",
    "(y := x)": "'y := x' is not arithmetic",
    "'a' * x": "\"'a'\" is not arithmetic",
    "True * x[0]": "'True' is not arithmetic",
    "1j * x[0]": "'1j' is not arithmetic",
    "sinn(x[0])": "'sinn' is not known; did you mean 'sin'?",
    "y + x": "'y' is not known; known: x, i, pi, e, abs, cos, exp, log, mean, sin, sqrt, sum, "
    "tan, tanh",
    "pi[0]": "'pi[0]' is not arithmetic; only x has an index",
    "x[99999999]": "'x[99999999]' is too large an index; the most is a million",
    "sum(x, 0)": "'sum(x, 0)' is not valid; sum takes one value",
    "sum(x=x)": "'sum(x=x)' is not valid; sum takes one value",
    "sum(*x)": "'*x' is not arithmetic",
    "exp(2) * x[0]": "'exp(2)' does not depend on x; write its value",
    "2 + 3": "does not depend on x",
    "sum(i)": "does not depend on x",
    "9**9**9 * x[0]": "'9**9**9' is not a finite number",
    "1/0 * x[0]": "'1/0' is not a finite number",
    "(-8)**(1/3) * x[0]": "'(-8)**(1/3)' is not a finite number",
    "1e999 * x[0]": "'1e999' is too large",
    "x[0": "not an expression: '[' was never closed",
    "x[0]; 1": "not an expression: invalid syntax",
    "import os": "not an expression: invalid syntax",
    "": "not an expression: invalid syntax",
    "x\0": "not an expression: source code string cannot contain null bytes",
    "(" * 500: "not an expression: too many nested parentheses",
    "-" * 1500 + "x[0]": "is nested too deeply",
    "+".join(["x[0]"] * 400): "is nested too deeply",
    "x" * 2001: "has 2001 characters; at most 2000 are allowed",
}


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text[:30])
def test_everything_but_arithmetic_is_refused(text: str) -> None:
    assert refusal_of(parse_expression, ExpressionError)(text) == REFUSED[text]


class Quartic(nn.Module):
    """Fourth powers of errors."""

    def forward(self, input: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return ((input - target) ** 4).mean()


def test_a_loss_of_one_s_own() -> None:
    assert trainer.register_loss(Quartic, "regression") is Quartic
    try:
        assert result_of(REGRESSION, "loss=Quartic", "optimizer.lr=1e-12").exit_code == 0
        with pytest.raises(ValueError, match="expected 'regression' or 'classification', got 'x'"):
            trainer.register_loss(Quartic, "x")  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="exists already"):
            trainer.register_loss(Quartic, "regression")
    finally:
        del LOSSES.registered["Quartic"]
        del LOSS_FACTS["Quartic"]


class Counting(trainer.Callback):
    """Counts steps."""

    made: ClassVar[list["Counting"]] = []

    def __init__(self, start: int = 0) -> None:
        if start < 0:
            raise ValueError("start must not be negative")
        self.steps = start
        self.made.append(self)

    def on_step(self, loop: trainer.Loop) -> None:
        self.steps += 1


@pytest.mark.parametrize(("text", "steps"), [(CLASSIFICATION, 5), (MINIMIZATION, 3)])
def test_a_callback_of_one_s_own(text: str, steps: int) -> None:
    trainer.register_callback(Counting)
    try:
        write_example(Path(), text)
        command = "train --config x.yaml"
        assert said(command, "callbacks=[{name: Counting, start: 100}]")[0] == 0
        assert Counting.made[-1].steps == 100 + steps
        told = mistake(command, "callbacks=[{name: Counting, start: -1}]")
        assert "callbacks[0].start: start must not be negative" in told
    finally:
        del CALLBACKS.registered["Counting"]
    assert "'Counting' is not known" in mistake(command, "callbacks=[Counting]")
