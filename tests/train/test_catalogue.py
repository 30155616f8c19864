"""What a configuration may say, in words: nothing is left out, and everything has a sentence."""

from dataclasses import fields
from typing import get_args

import pytest

from nanotorch.train.cli import main
from nanotorch.train.components import FUNCTIONS, REGISTRIES
from nanotorch.train.config import Section
from nanotorch.train.load import (
    catalogue,
    field_sentences,
    kinds,
    sections_within,
    unknown,
)
from nanotorch.train.schema import GENERATORS, Config

SECTIONS = [
    *(inner for config in get_args(Config) for _, inner in sections_within(config, "")),
    *GENERATORS.sections.values(),
]


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.__name__)
def test_every_field_has_a_sentence(section: type[Section]) -> None:
    sentences = field_sentences(section)
    for field in fields(section):  # type: ignore[arg-type]
        assert sentences[field.name].endswith("."), field.name
    assert (section.__doc__ or "").strip()


@pytest.mark.slow  # every component is made
def test_every_name_is_told_with_all_its_fields() -> None:
    text = catalogue("all")
    assert text is not None
    for registry in REGISTRIES:
        for name in registry.names:
            about = catalogue(name)
            assert about is not None
            assert about in text
            lines = "\n".join(about.splitlines()).replace("\n    ", " ").splitlines()
            named = [line.split(":")[0].strip() for line in lines if line.startswith("  ")]
            assert [word for word in named if " " not in word] == list(registry.keys(name))
    for name in (*FUNCTIONS, *GENERATORS.sections):
        assert f"\n{name}: " in text


def test_it_begins_with_an_index(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    starts = [line.split()[0] for line in lines[2:] if line[:1].strip()]
    assert starts == [*kinds(), "--list", "--list"]
    words = {word.strip(",") for line in lines for word in line.split()}
    assert words >= {"regression", "train", "Linear", "Adam", "StepLR", "moons", "rosenbrock"}
    for word in ("regression", "train", "minimization", "layers", "Linear"):
        assert main(["--list", word]) == 0


def test_of_one_kind() -> None:
    assert set(kinds()) >= {"sections", "layers", "losses", "optimizers", "functions"}
    text = catalogue("losses")
    assert text.startswith("# losses\n\nMSELoss: ")
    assert "Adam" not in text


def test_of_one_section() -> None:
    text = catalogue("early_stopping")
    assert text.startswith("early_stopping:\n  monitor: ")
    data = catalogue("data")
    assert "  csv: " in data.partition("\nor\n")[0]
    assert "  context: " in data.partition("\nor\n")[2]


def test_what_is_not_known() -> None:
    assert catalogue("Adm") is None
    assert unknown("Adm") == "--list 'Adm': is not known; did you mean 'Adam'?"
    assert "there are sections, layers" in unknown("zzzzzz")


def test_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list", "Linear"]) == 0
    out = capsys.readouterr().out
    assert "\n  in_features: an integer; follows from what comes in\n" in out
    assert all(len(line) <= 80 for line in out.splitlines())
    assert "\n  bias: true or false; default true\n" in out
    assert main(["--list", "Linar"]) == 2
    assert "did you mean 'Linear'?" in capsys.readouterr().err
    assert main(["--schema"]) == 0
    assert capsys.readouterr().out.startswith("{")
