"""A configuration says what differs from another one, and every value knows its file."""

import os
import re
from pathlib import Path

import pytest

from nanotorch.train import load as inherit
from nanotorch.train.load import dump_config, load_config
from nanotorch.train.schema import SupervisedConfig
from tests.train.examples import CLASSIFICATION, refusal_of, write_example


def load(text: str, *overrides: str, base: str = CLASSIFICATION) -> tuple[SupervisedConfig, str]:
    write_example(Path(), text)
    Path("base.yaml").write_text(base, "utf-8")
    loaded = load_config("x.yaml", overrides)
    return loaded.config, dump_config(loaded)


refusal = refusal_of(load)


def test_what_is_not_said_comes_from_the_base() -> None:
    config, text = load(
        "inherit: base.yaml\nseed: 7\noptimizer: {lr: 0.5}\ntrain: {epochs: 2, steps: }\n"
    )
    assert (config.seed, config.train.epochs, config.train.steps) == (7, 2, None)
    assert config.optimizer.name == "Adam"
    assert config.optimizer.arguments["lr"] == 0.5
    assert "lr: 0.5                               # x.yaml:3:17" in text
    assert "samples: 40                         # base.yaml:3:37" in text
    assert "inherit" not in text
    assert config.log.name == "x"


@pytest.mark.parametrize(
    ("section", "name", "lr"),
    [
        ("{name: Adam, eps: 1e-6}", "Adam", 0.01),
        ("{name: SGD, momentum: 0.5}", "SGD", 0.01),  # what both have stays
        ("SGD", "SGD", 0.01),
        ("LBFGS", "LBFGS", 1.0),
        ("{lr: 1}", "Adam", 1.0),
    ],
)
def test_what_another_optimizer_takes_over(section: str, name: str, lr: float) -> None:
    base = CLASSIFICATION.replace("lr: 0.01", "lr: 0.01, betas: [0.8, 0.9]")
    config, _ = load(f"inherit: base.yaml\noptimizer: {section}\n", base=base)
    assert (config.optimizer.name, config.optimizer.arguments["lr"]) == (name, lr)


def test_a_short_base_is_one_in_full() -> None:
    base = CLASSIFICATION.replace("{name: Adam, lr: 0.01}", "Adam")
    config, _ = load("inherit: base.yaml\noptimizer: {lr: 0.5}\n", base=base)
    assert (config.optimizer.name, config.optimizer.arguments["lr"]) == ("Adam", 0.5)


def test_steps_replace_epochs() -> None:
    config, _ = load("inherit: base.yaml\ntrain: {epochs: 2}\n")
    assert (config.train.epochs, config.train.steps) == (2, None)


def test_lists_are_replaced() -> None:
    config, _ = load("inherit: base.yaml\nmodel: {layers: [{name: Linear, out_features: 1}]}\n")
    assert len(config.model.layers) == 1


def test_bases_have_bases_and_the_later_one_wins() -> None:
    Path("sub").mkdir()
    Path("sub/a.yaml").write_text("inherit: ../base.yaml\nseed: 1\ntrain: {steps: 8}\n", "utf-8")
    Path("sub/b.yaml").write_text("seed: 2\n", "utf-8")
    config, _ = load("inherit: [sub/a.yaml, sub/b.yaml]\n", "train.batch_size=4")
    assert (config.seed, config.train.steps, config.train.batch_size) == (2, 8, 4)


def test_paths_are_relative_to_the_file_that_says_them() -> None:
    Path("sub").mkdir()
    base = "experiment: regression\ndata: {csv: t.csv, target: y}\n"
    Path("sub/a.yaml").write_text(base, "utf-8")
    rest = "model: {layers: [{name: Linear, out_features: 1}]}\nloss: MSELoss\noptimizer: SGD\n"
    config, _ = load(f"inherit: sub/a.yaml\n{rest}train: {{epochs: 1}}\n")
    assert config.data.csv == Path("sub/t.csv").resolve()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("inherit: none.yaml\n", "x.yaml:1:10: inherit: cannot read 'none.yaml': No such file or "
         "directory"),
        ("inherit: .\n", "x.yaml:1:10: inherit: cannot read '.': Is a directory"),
        ("inherit: x.yaml\n", "x.yaml:1:10: inherit: 'x.yaml' inherits from itself"),
        ("inherit: 3\n", "x.yaml:1:10: inherit: expected a file name, got 3 (an integer)"),
        ("inherit: [base.yaml, [a]]\n", "x.yaml:1:22: inherit: expected a file name, got a list"),
        ("inherit: base.yaml\nseed: x\noptimizer: {lr: y}\n",
         "x.yaml:2:7: seed: expected an integer, got 'x' (text)\n"
         "x.yaml:3:17: optimizer.lr: expected a number, got 'y' (text)"),
    ],
)  # fmt: skip
def test_mistakes_are_placed(text: str, message: str) -> None:
    assert refusal(text) == message


def test_mistakes_of_all_files_are_told_each_in_its_own() -> None:
    message = refusal("inherit: base.yaml\nsed: 1\n", base=CLASSIFICATION.replace("lr:", "epss:"))
    assert message == (
        "x.yaml:2:1: sed: unknown key; did you mean 'seed'?\n"
        "base.yaml:7:25: optimizer.epss: unknown key of Adam; did you mean 'eps'?"
    )


def test_files_that_inherit_in_a_circle() -> None:
    Path("a.yaml").write_text("inherit: x.yaml\n", "utf-8")
    message = refusal("inherit: a.yaml\n")
    assert message == "a.yaml:1:10: inherit: 'x.yaml' inherits from itself"


def test_too_many_files() -> None:
    for number in range(12):
        Path(f"{number}.yaml").write_text(f"inherit: {number + 1}.yaml\n", "utf-8")
    assert refusal("inherit: 0.yaml\n").endswith("more than 10 files inherit from one another")


def test_only_sections_can_be_inherited() -> None:
    message = "base.yaml:1:1: expected sections to inherit, got a list"
    assert refusal(f"inherit: base.yaml\n{CLASSIFICATION}", base="- 1\n") == message


def test_a_section_that_is_taken_back_is_one_of_defaults() -> None:
    config, _ = load("inherit: base.yaml\nlog: ~\n")
    assert config.log.plots


def test_a_file_that_many_inherit_from_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    reads = inherit.read_config_text
    monkeypatch.setattr(
        inherit,
        "read_config_text",
        lambda path, source: (read.append(source), reads(path, source))[1],
    )
    for level in range(8):
        below = (
            [f"{level + 1}-{number}.yaml" for number in range(20)] if level < 7 else ["base.yaml"]
        )
        for number in range(20):
            Path(f"{level}-{number}.yaml").write_text(f"inherit: {[*below, *below]}\n", "utf-8")
    config, _ = load("inherit: 0-0.yaml\nseed: 3\n")
    assert config.seed == 3
    assert len(read) == 1 + 1 + 7 * 20 + 1
    assert len(set(read)) == len(read)


@pytest.mark.skipif(os.name != "posix", reason="pipes and devices are POSIX's")
def test_what_is_no_file_cannot_be_inherited() -> None:
    os.mkfifo("pipe")
    Path("zero").symlink_to("/dev/zero")
    Path("loop").symlink_to("loop")
    for name, reason in (
        ("pipe", "is a device or a pipe, not a file"),
        ("zero", "is a device or a pipe, not a file"),
        ("loop", "Too many levels of symbolic links"),
        ("x" * 5000, "File name too long"),
        ("x.yaml/y", "Not a directory"),
    ):
        message = refusal(f"inherit: {name}\n")
        assert re.fullmatch(rf"x\.yaml:1:10: inherit: cannot read '.*: {reason}", message)
        assert len(message) < 400
