"""What a sweep varies."""

import math

import numpy as np
import pytest

from nanotorch.train.config import ConfigError
from nanotorch.train.sweep import combinations, parse_axis


@pytest.mark.parametrize(
    ("argument", "values"),
    [
        ("optimizer.lr=1e-1,1e-2", ["1e-1", "1e-2"]),
        ("seed=0:3", ["0", "1", "2"]),
        ("seed=10:0", None),
        ("train.batch_size=8:33:8", ["8", "16", "24", "32"]),
        ("seed=7", ["7"]),
        (
            "optimizer={name: SGD, lr: 0.1},{name: Adam, betas: [0.9, 0.99]},Adam",
            ["{name: SGD, lr: 0.1}", "{name: Adam, betas: [0.9, 0.99]}", "Adam"],
        ),
        ("data.target='a,b',c", ["'a,b'", "c"]),
        ("seed", None),
        ("seed=", None),
        ("seed=0:3:0", None),
        ("seed=0:99999999", None),
        ("optimizer.lr=log(0, 1)", None),
        ("optimizer.lr=log(2, 1)", None),
        ("optimizer.lr=log(a, 1)", None),
        ("optimizer.lr=uniform(0, inf)", None),
        ("optimizer.lr=normal(0, 1)", None),
        ("seed=1,2,1", None),
    ],
)
def test_values(argument: str, values: list[str] | None) -> None:
    if values is None:
        with pytest.raises(ConfigError, match=r"^command line: "):
            parse_axis(argument)
    else:
        assert parse_axis(argument).values == values


def test_all_combinations() -> None:
    axes = [parse_axis("a=1,2"), parse_axis("b=0:2")]
    assert combinations(axes, None, 0) == [
        ["a=1", "b=0"],
        ["a=1", "b=1"],
        ["a=2", "b=0"],
        ["a=2", "b=1"],
    ]


def test_random_ones_are_drawn_and_fixed_by_the_seed() -> None:
    arguments = ["lr=log(1e-4, 1e-1)", "p=uniform(0, 0.5)", "n=integers(2, 4)", "seed=0:9"]
    axes = [parse_axis(argument) for argument in arguments]
    first, again, other = (combinations(axes, 400, seed) for seed in (0, 0, 1))
    assert first == again != other
    numbers = np.array([[float(part.split("=")[1]) for part in run] for run in first])
    low, high = numbers.min(axis=0), numbers.max(axis=0)
    assert (low >= [1e-4, 0, 2, 0]).all()
    assert (high <= [1e-1, 0.5, 4, 8]).all()
    assert set(numbers[:, 2]) == {2, 3, 4}
    middle = math.log10(float(np.median(numbers[:, 0])))
    assert -3 < middle < -2


def test_what_is_drawn_needs_a_number_of_runs() -> None:
    with pytest.raises(ConfigError, match="say how many runs by --random N"):
        combinations([parse_axis("lr=log(1e-4, 1e-1)")], None, 0)
    many = [parse_axis("a=0:1000"), parse_axis("b=0:1000")]
    with pytest.raises(ConfigError, match="makes 1,000,000 runs"):
        combinations(many, None, 0)


def test_no_run_is_made_twice() -> None:
    axes = [parse_axis("a=0:3"), parse_axis("b=integers(0, 1)")]
    assert len({tuple(run) for run in combinations(axes, 6, 0)}) == 6
    with pytest.raises(ConfigError, match="there seem to be only 6 different runs"):
        combinations(axes, 7, 0)
    with pytest.raises(ConfigError, match=r"command line: a=...: is given twice"):
        combinations([parse_axis("a=1"), parse_axis("b=1"), parse_axis("a=2")], None, 0)
    with pytest.raises(ConfigError, match="nothing is drawn by 'unifrm'; did you mean 'uniform'"):
        parse_axis("a=unifrm(0, 1)")
