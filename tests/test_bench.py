"""What is compared in `scripts/bench.py` computes the same, and what is reported is what was found.

Chains of 100,000 operations are left out: a shorter one is the same but for its length.
"""

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nanotorch
from tests.several import PYTHON, ended

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
anatomy, fresh, measuring, table, targets, workloads = (
    importlib.import_module(f"benchmarks.{name}")
    for name in ("anatomy", "fresh", "measuring", "table", "targets", "workloads")
)
Parts = importlib.import_module("benchmarks.libraries").Parts

SHORT = [w for w in workloads.WORKLOADS if w.operations <= 1000]
OWN = (workloads.NUMPY, workloads.NANOTORCH, workloads.COMPILED)


def named(name: str) -> Any:
    (workload,) = [w for w in workloads.WORKLOADS if w.name == name]
    return workload


def own_candidates(workload: Any) -> list[Any]:
    """NumPy's and nanotorch's; those that other libraries add are not for tests."""
    return [c for c in workloads.Field(1, []).candidates(workload) if c.name in OWN]


def row(name: str, group: str = "steps", **figures: float) -> dict[str, Any]:
    return measuring.row(name, group, "us", {who: [us, 2 * us] for who, us in figures.items()})


LONG = ("chain of 1,000", "MLP 784-256-128-10", "MLP 1024-1024-1024-10")


@pytest.mark.parametrize(
    "workload",
    [pytest.param(w, marks=[pytest.mark.slow] * (w.name in LONG)) for w in SHORT],
    ids=lambda w: w.name,
)
def test_all_candidates_have_the_same_losses_which_fall(workload: Any) -> None:
    candidates = own_candidates(workload)
    made, notes = measuring.ready(workload, candidates)
    assert [entry.candidate for entry in made] == candidates
    assert notes == []
    if workload.group == "steps":
        losses, _ = measuring.losses(workload.by_hand(), workload.steps)
        assert losses[-1] < losses[0]


def fails() -> Any:
    raise RecursionError("too deep")


def test_nobody_wins_by_computing_something_else() -> None:
    """PyTorch and nanotorch end the run; a rival is left out with a note."""
    workload, other = named("funcmin"), named("rosenbrock").by_hand
    right = workloads.Candidate(workloads.NUMPY, workload.by_hand)
    with pytest.raises(SystemExit, match="funcmin: cheat computes"):
        measuring.ready(workload, [right, workloads.Candidate("cheat", other)])
    for name, step, told in (
        ("cheat", other, "funcmin: cheat computes"), ("deep", fails, "funcmin: deep fails: 'too d"),
    ):  # fmt: skip
        rival = workloads.Candidate(name, step, rival=True)
        made, (note,) = measuring.ready(workload, [right, rival])
        assert [entry.candidate for entry in made] == [right]
        assert note.startswith(told)
    nan = [np.array(np.nan)]
    assert not measuring.agree(nan, nan)
    assert not measuring.agree([np.zeros(1)], [np.zeros(())])


def test_a_measured_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "SECONDS_PER_TURN", 1e-4)
    found = measuring.measure(named("mul"), own_candidates(named("mul")))
    assert set(found["figures"]) == {workloads.NUMPY, workloads.NANOTORCH}
    for figures in found["figures"].values():
        assert 0 < figures["min"] <= figures["median"]
        assert figures["rounds"] == measuring.ROUNDS[1]


ROWS = row("funcmin", nanotorch=20, NumPy=2, torch=150), row("mul", "ops", nanotorch=1.0)


def in_markdown(rows: Any, names: Any) -> str:
    about = {"command": "python bench.py", "machine": "1 x abacus", "versions": "Python 3"}
    text: str = table.markdown(rows, names, about)
    assert "| mul" not in text  # few operations stand there
    assert "On 1 x abacus, with Python 3" in text
    return text


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (table.ratios, "funcmin 30.0 µs 0.10 7.50"),  # of medians to nanotorch
        (table.times, "funcmin 30.0 µs / 20.0 µs 3.00 µs / 2.00 µs 225 µs / 150 µs"),
        (in_markdown, "| funcmin | 30.0 µs | 0.10 | 7.50 |"),
    ],
)
def test_tables(shown: Any, expected: str) -> None:
    text = shown(ROWS, (workloads.NANOTORCH, workloads.COMPILED, workloads.NUMPY, workloads.TORCH))
    (line,) = [line for line in text.splitlines() if "funcmin" in line]
    assert " ".join(line.split()) == expected
    assert "compiled" not in text  # which has no figures


def test_each_machine_has_a_section_and_the_readme_the_ranges(tmp_path: Path) -> None:
    docs, readme = tmp_path / "benchmarks.md", tmp_path / "README.md"
    docs.write_text("# Benchmarks\n", "utf-8")
    readme.write_text("no markers", "utf-8")
    with pytest.raises(ValueError, match="has no lines <!-- bench:begin -->"):
        table.write(docs, readme, "one", "table")
    assert (docs.read_text("utf-8"), readme.read_text("utf-8")) == ("# Benchmarks\n", "no markers")
    readme.write_text(f"above\n{table.BEGIN}\nold\n{table.END}\nbelow\n", "utf-8")
    for machine, times in (("one", "4.00"), ("two", "3.00"), ("one", "2.00")):
        own = "1.00 ms" if machine == "one" else "10.0 µs"
        rows = "".join(f"| {n} | {own} | 0.10 | {times} |\n" for n in table.IN_README)
        head = "| | nanotorch | compiled | torch, 1 thread |\n| --- | ---: | ---: | ---: |\n"
        table.write(docs, readme, machine, head + rows)
    titles = [line for line in docs.read_text("utf-8").splitlines() if line[:1] == "#"]
    assert titles == ["# Benchmarks", "## one", "## two"]
    shown = readme.read_text("utf-8").splitlines()
    assert (shown[0], shown[-1], len(shown)) == ("above", "below", 11)
    assert shown[4] == (
        "| a function of two variables | 10.0 µs to 1.00 ms "
        "| 2.0 to 3.0 times as long | 20 to 30 times |"
    )


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [(0.123, "us", "0.12 µs"), (12.34, "us", "12.3 µs"), (1234, "us", "1.23 ms"),
     (2.5e6, "us", "2.50 s"), (35.67, "MB", "35.7 MB")],
)  # fmt: skip
def test_figures(value: float, unit: str, text: str) -> None:
    assert table.figure(value, unit) == text


def test_targets_say_what_is_reached() -> None:
    torch = workloads.torch_limited(1)
    fast, slow = ({torch: 300, "nanotorch": us, "NumPy": 10, "compiled": 12} for us in (10, 100))
    text, good = targets.report([row("funcmin", **fast)], torch)
    assert good
    assert [line.split()[0] for line in text.splitlines()] == ["reached", "reached"]
    text, good = targets.report([row("funcmin", **slow)], torch)
    assert not good
    assert text.splitlines()[0].startswith("MISSED")
    assert text.splitlines()[0].endswith(
        "torch, 1 thread / nanotorch = 3.00, at least 12; / compiled = 25.00"
    )


def test_every_target_is_of_a_row_there_is() -> None:
    measured = {w.name for w in workloads.WORKLOADS}
    for target in targets.targets("torch"):
        assert target.row in measured or target.row.startswith(("import", "peak", "added"))


def test_a_step_taken_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(anatomy, "SECONDS", 0.01)
    kernels = {name: op.namespace["kernel"] for name, op in anatomy.OPS.items()}
    workload = named("linreg 32x10")
    text = anatomy.describe(workload.name, workload.library(nanotorch), workload.by_hand())
    for part in anatomy.PARTS:
        assert f"\n{part}" in text
    assert "2 leaves" in text
    assert "kernel   layer" in text
    assert kernels == {name: op.namespace["kernel"] for name, op in anatomy.OPS.items()}


@pytest.mark.slow
def test_memory_of_a_fresh_process() -> None:
    found = fresh.memory("nanotorch", "funcmin", (1, 3))
    assert set(found) == {"loaded", "1", "3", "peak"}
    assert 10 < found["loaded"] <= found["peak"]


def test_the_cost_of_an_import(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fresh, "IMPORTS", 1)
    found = fresh.imports(["NumPy", "nanotorch"], [])
    assert 0 < found["figures"]["NumPy"]["median"] < found["figures"]["nanotorch"]["median"]


@pytest.mark.parametrize("wrong", [["--only", "("], ["--docs", "here", "--only", "ops"]])
def test_what_the_command_refuses(wrong: list[str]) -> None:
    code, _, error = ended(PYTHON, "scripts/bench.py", *wrong)
    assert code == 2
    assert "--only" in error.splitlines()[-1]


def test_the_command_writes_what_it_measured(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    _, shown, _ = ended(PYTHON, "scripts/bench.py", "--only", "ops exp", "--json", file)
    assert "one operation on 8 x 8\n  exp, grad" in shown
    (found,) = json.loads(file.read_text("utf-8"))["rows"]
    assert found["name"] == "exp, grad"
    assert {"NumPy", "nanotorch"} <= set(found["figures"])
