"""Function minimization: the same iterates as PyTorch's, which are stored."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nanotorch.train.callbacks import Sink
from nanotorch.train.load import load_config
from nanotorch.train.loop import Loop
from nanotorch.train.minimization import Minimization
from nanotorch.train.schema import MinimizationConfig
from tests.train.examples import MINIMIZATION, write_example

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "minimization.json").read_text("utf-8"))
EXPRESSIONS = {
    "shipped": "expression: x[0]**2 + (x[1] - 1)**2",
    "rosenbrock": "name: rosenbrock",
    "himmelblau": "name: himmelblau",
    "sphere": "name: sphere",
    "waves": "expression: sin(x[0])*cos(x[1]) + exp(-x[0]) + log(x[1] + 4) + sqrt(x[0] + 9)"
    " + tanh(x[1]) + tan(x[0]/9) + abs(x[1]) + mean(x)",
}


class Kept:
    """A sink that keeps everything."""

    def __init__(self) -> None:
        self.records: list[tuple[int, int, dict[str, float]]] = []

    def write(self, step: int, epoch: int, values: Any) -> None:
        self.records.append((step, epoch, dict(values)))


def experiment(text: str = MINIMIZATION, *overrides: str) -> Minimization:
    write_example(Path(), text)
    loaded = load_config("x.yaml", overrides)
    assert isinstance(loaded.config, MinimizationConfig)
    return Minimization(loaded.config, loaded.origins)


def run(minimization: Minimization, sink: Sink) -> None:
    Loop(minimization, minimization.steps, minimization.callbacks(sink)).run()


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
    found = [list(values.values()) for _, _, values in kept.records]
    np.testing.assert_allclose(found, descent["lines"], rtol=2e-6, atol=1e-7)


def test_the_lines_are_those_of_the_script(capsys: pytest.CaptureFixture[str]) -> None:
    run(experiment(), Kept())
    assert capsys.readouterr().out == "2.0 [-1.  0.]\n2.0 [0. 1.]\n0.0 [0.5 1.5]\n"


def test_lines_can_be_fewer_or_none(capsys: pytest.CaptureFixture[str]) -> None:
    run(experiment(MINIMIZATION, "log.every=2"), Kept())
    assert capsys.readouterr().out == "2.0 [0. 1.]\n0.0 [0.5 1.5]\n"
    run(experiment(MINIMIZATION, "log.progress=false"), Kept())
    assert capsys.readouterr().out == ""


def test_points_are_recorded() -> None:
    kept = Kept()
    run(experiment(), kept)
    assert kept.records[1] == (2, 1, {"function/value": 2.0, "x/0": 0.0, "x/1": 1.0})


def test_the_report_is_the_value_at_the_last_point() -> None:
    minimization = experiment()
    run(minimization, Kept())
    report = minimization.report()
    assert report.results == {"function/value": 0.5}
    assert report.text == "f = 0.5 at [0.5 1.5]"
    np.testing.assert_array_equal(minimization.state()["x"].detach().numpy(), [0.5, 1.5])


def test_the_graph_is_the_function_at_the_start() -> None:
    module, x = experiment().graph()
    assert module(x).item() == 2
