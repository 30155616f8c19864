"""Function minimization: the same iterates as PyTorch's, which are stored."""

import json
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import nanotorch as torch
from nanotorch.train.config.components import FUNCTIONS, register_function
from nanotorch.train.config.sections import ConfigError
from nanotorch.train.training.experiment import Recorder
from nanotorch.train.training.loop import Loop
from nanotorch.train.training.minimization import Minimization
from tests.tolerances import rounding
from tests.train.examples import MINIMIZATION, Kept, loaded

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "minimization.json").read_text("utf-8"))
EXPRESSIONS = {
    "shipped": "expression: x[0]**2 + (x[1] - 1)**2",
    "rosenbrock": "name: rosenbrock",
    "himmelblau": "name: himmelblau",
    **{name: f"name: {name}" for name in ("sphere", "rastrigin", "ackley", "ellipsoid")},
    "styblinski_tang": "name: styblinski_tang",
    "waves": "expression: sin(x[0])*cos(x[1]) + exp(-x[0]) + log(x[1] + 4) + sqrt(x[0] + 9)"
    " + tanh(x[1]) + tan(x[0]/9) + abs(x[1]) + mean(x)",
}


def experiment(text: str = MINIMIZATION, *overrides: str) -> Minimization:
    read = loaded(text, *overrides)
    with read.told():
        return Minimization(read.config)


def run(minimization: Minimization, kept: Kept) -> None:
    Loop(minimization, minimization.steps, minimization.callbacks(cast(Recorder, kept))).run()


@pytest.mark.parametrize("descent", GOLDEN["descents"], ids=lambda d: d["function"])
def test_the_iterates_are_pytorch_s(descent: dict[str, Any]) -> None:
    text = MINIMIZATION.replace(
        "expression: x[0]**2 + (x[1] - 1)**2", EXPRESSIONS[descent["function"]]
    )
    minimization = experiment(
        text,
        f"function.start={json.dumps(descent['start'])}",
        f"optimizer={json.dumps(descent['optimizer'])}",
        "function.iterations=20",
    )
    kept = Kept()
    run(minimization, kept)
    found = [list(values.values())[:-2] for _, _, values in kept.records]
    limit = rounding("float32", len(found) ** 0.5, terms=4)  # of a function of two numbers
    np.testing.assert_allclose(found, descent["lines"], rtol=limit, atol=limit)


def test_a_line_is_a_point_with_its_value_and_the_norm_of_its_gradient(capsys) -> None:
    run(experiment(), Kept())
    assert capsys.readouterr().out.splitlines() == [
        "iteration       value  gradient norm  point",
        "        0           2          2.828  (1, 2)",
        "        1           2          2.828  (-1, 0)",
        "        2           0              0  (0, 1)",
    ]


def test_lines_are_few_or_none_and_fit_the_screen(capsys: pytest.CaptureFixture[str]) -> None:
    def lines_of(*overrides: str) -> list[str]:
        run(experiment(MINIMIZATION, *overrides), Kept())
        return capsys.readouterr().out.splitlines()[1:]

    shown = [line.split()[0] for line in lines_of("function.iterations=1000")]
    assert shown == [str(50 * k) for k in range(20)]
    assert lines_of("log.progress=false") == []
    start = f"function.start={[k / 7 for k in range(30)]}"
    lines = lines_of("function.expression=mean(x**2)", start)
    assert all(len(line) <= 80 and line.endswith(", ...)") for line in lines)
    # Of several points the least value is shown.
    first, *_ = lines_of("function.start=[[3, 1], [0, 2]]")
    assert first.split() == ["0", "1", "2", "(0,", "2)"]


SEVERAL = ("function.name=himmelblau", "function.expression=", "optimizer={name: SGD, lr: 0.01}")
CORNERS = [[4.0, 4.0], [-4.0, 4.0], [-4.0, -4.0], [4.0, -4.0]]


def test_several_starts_move_as_each_would_alone() -> None:
    more = ("function.iterations=25", f"function.start={CORNERS}")
    together = experiment(MINIMIZATION, *SEVERAL, *more)
    kept = Kept()
    run(together, kept)
    alone = []
    for corner in CORNERS:
        one = experiment(MINIMIZATION, *SEVERAL, more[0], f"function.start={corner}")
        run(one, Kept())
        alone.append(one.points()[0])
    np.testing.assert_array_equal(together.points(), alone)
    values = kept.records[0][2]
    assert values["function/value"] == min(values[f"function/start{k}"] for k in range(4))
    assert together.x.shape == (2, 4)


def test_the_report_of_several_starts_has_a_line_for_each_and_finds_all_minima() -> None:
    more = ("function.iterations=200", f"function.start={CORNERS}", "log.progress=false")
    minimization = experiment(MINIMIZATION, *SEVERAL, *more)
    run(minimization, Kept())
    report = minimization.report()
    assert report.results["function/distance"] < 1e-3
    assert abs(report.results["function/excess"]) < 1e-6
    table = report.text.partition("\n\n")[2].splitlines()
    assert len(table) == 5
    assert all(float(line.split()[-1]) < 1e-3 for line in table[1:])
    ends = [[3, 2], [-2.81, 3.13], [-3.78, -3.28], [3.58, -1.85]]
    np.testing.assert_allclose(minimization.points(), ends, atol=0.01)


@pytest.mark.parametrize(
    ("stop", "reason", "steps"),
    [
        ("{value: 0.1}", "the value is below 0.1", 25),
        ("{gradient_norm: 0.1}", "the norm of the gradient is below 0.1", 35),
        ("{step: 0.01}", "steps are shorter than 0.01", 35),
    ],
)
def test_the_search_ends_when_the_point_is_good_enough(stop: str, reason: str, steps: int) -> None:
    minimization, kept, loop = stopped(f"function.stop={stop}")
    assert loop.stop_reason == reason
    assert steps - 20 < loop.step < steps + 10
    assert kept.records[-1][0] == loop.step
    if "value" in stop:  # each of several starts has to be good enough
        starts = "function.start=[[0, 1], [9, 9]]"
        minimization, _, loop = stopped(starts, f"function.stop={stop}")
        assert loop.step > 20
        assert (minimization.values <= 0.1).all()


def stopped(*overrides: str) -> tuple[Minimization, Kept, Loop]:
    """A search that has ended, what it has recorded, and its loop."""
    more = ("optimizer={name: SGD, lr: 0.05}", "function.iterations=500", "log.progress=false")
    minimization, kept = experiment(MINIMIZATION, *more, *overrides), Kept()
    loop = Loop(minimization, minimization.steps, minimization.callbacks(cast(Recorder, kept)))
    loop.run()
    return minimization, kept, loop


def bowl(x: torch.Tensor) -> torch.Tensor:
    """Round."""
    return ((x - 2) ** 2).sum()


def test_users_register_functions_of_their_own() -> None:
    register_function("bowl", bowl, minima=[[2, 2]])
    try:
        with pytest.raises(ValueError, match="a function called 'bowl' exists already"):
            register_function("bowl", bowl)
        overrides = ("function={name: bowl, start: [[0, 1], [3, 3]], iterations: 9}",)
        minimization = experiment(MINIMIZATION, *overrides, "optimizer={name: SGD, lr: 0.25}")
        run(minimization, Kept())
        assert minimization.report().results["function/distance"] < 0.01
    finally:
        del FUNCTIONS["bowl"]


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (("function.start=[[1, 2], [1]]",), "needs points of equal length"),
        (("function.start=[[1, 2], []]",), "needs at least one coordinate"),
        (("function.start=[[1, x]]",), "function.start[0][1]: expected a number, got 'x' (text)"),
        (
            (*SEVERAL, "function.start=[[1, 2, 3]]"),
            "function.start[0]: needs x of length 2, but the start has 3",
        ),
        (("function.stop={}",), "needs 'gradient_norm', 'value' or 'step'"),
    ],
)
def test_starts_and_ends_that_cannot_be(overrides: tuple[str, ...], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        experiment(MINIMIZATION, *overrides)
    assert message in str(caught.value)
