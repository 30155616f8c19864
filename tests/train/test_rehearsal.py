"""--check tries one forward and backward pass, and writes nothing."""

from pathlib import Path

import pytest

from nanotorch.train.cli import main
from tests.train.examples import CLASSIFICATION, MINIMIZATION, REGRESSION, write_example


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (REGRESSION, "a batch of 4 samples: loss "),
        (CLASSIFICATION, "a batch of 8 samples: loss "),
        (MINIMIZATION, "at the start: loss 2, all gradients are finite"),
    ],
)
def test_a_pass_is_tried(text: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    write_example(Path(), text)
    assert main(["--config", "x.yaml", "--check"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith(said)
    assert sorted(path.name for path in Path().iterdir()) == ["table.csv", "x.yaml"]


@pytest.mark.parametrize(
    ("text", "override", "message"),
    [
        (
            MINIMIZATION,
            "function.expression=sqrt(x[0] - 1) + x[1]",
            "function: at the start: the gradient of x is ",
        ),
        (REGRESSION, "data.standardize_target=false", "a batch of 4 samples: the loss is inf"),
    ],
)
def test_what_would_end_a_training_at_once_is_told(
    text: str, override: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write_example(Path(), text, "a,y\n" + "1,1e30\n" * 20)
    assert main(["--config", "x.yaml", "--check", override]) == 2
    assert message in capsys.readouterr().err
    assert sorted(path.name for path in Path().iterdir()) == ["table.csv", "x.yaml"]
