"""Damaged configurations and files: one clear answer each, and nothing is written."""

import copy
import faulthandler
import itertools
import json
import os
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
import yaml
from hypothesis import given, settings

from nanotorch.train import load_config, train
from tests.several import places, posix
from tests.train.examples import (
    CLASSIFICATION,
    MINIMIZATION,
    REGRESSION,
    TABLE,
    mistake,
    record_of,
    said,
    write_example,
)


@settings(max_examples=60)
@given(st.binary(max_size=60))
def test_any_bytes_are_a_message(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "x.yaml"
        path.write_bytes(data)
        errors = mistake("train --check --config", str(path))
        assert errors.startswith(f"{path}:")


IMAGES = """\
experiment: classification
data: {npz: d.npz, inputs: x, target: y, shape: [1, 4, 4], standardize: together}
model:
  layers:
    - {name: Conv2d, out_channels: 2, kernel_size: 3, padding: 1}
    - {name: BatchNorm2d}
    - ReLU
    - {name: MaxPool2d, kernel_size: 2}
    - Flatten
    - {name: Linear, out_features: 3}
loss: {name: CrossEntropyLoss, label_smoothing: 0.1}
optimizer: {name: AdamW, lr: 0.01, groups: [{parameters: "*.bias", weight_decay: 0}]}
scheduler: {name: StepLR, step_size: 2}
train: {epochs: 2, batch_size: 8, clip_norm: 1}
early_stopping: {patience: 3}
"""
TEXT = """\
experiment: text
data: {file: t.txt, context: 6, split: {train: 0.8, validation: 0.2, test: 0}}
model:
  layers:
    - {name: Embedding, embedding_dim: 4}
    - {name: Positions, length: 6}
    - name: Causal
      layer:
        name: TransformerEncoder
        num_layers: 1
        enable_nested_tensor: false
        encoder_layer:
          {name: TransformerEncoderLayer, nhead: 2, dim_feedforward: 8, batch_first: true}
    - {name: Linear, out_features: 3}
loss: CrossEntropyLoss
optimizer: {name: Adam}
train: {steps: 3}
averaging: {method: ema}
"""
BASES = [
    *(yaml.safe_load(text) for text in (REGRESSION, CLASSIFICATION, MINIMIZATION, IMAGES, TEXT)),
    {"inherit": "base.yaml", "seed": 1, "optimizer": {"lr": 0.5}},
]
VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 3, 7, 1000, 10**6, 10**9, 10**30, 0.5, 1e-30, 1e30, -0.0),
    *(float("nan"), float("inf"), "", "x", "y", "ReLU", "Linear", "Adam", "line", "moons", "a b"),
    *(
        [], [1], [1, 2], [[1, 2], [3, 4]], ["x"], {}, {"name": "x"}, {"name": "Dropout"},
        "é\u2028🙂",
    ),
    *("table.csv", "d.npz", "t.txt", ".", "..", "/", "/dev/null", "x.yaml", "base.yaml", "none"),
]  # fmt: skip
WORDS = [
    "", "~", "on", "-1", "1.5", "1e400", ".nan", "'", "[", "}", "{a: 1}", ": ", "#", "&a *a", "|",
    "!!python/name:os", "<<: ", "\t", "\n  ", "\0", "\x1b", "🙂", "Linear", "x[0]", "9**9**9",
]  # fmt: skip
KEYS = ["name", "lr", "p", "layers", "epochs", "steps", "split", "seed", "inherit", "stop", "shape"]
BYTES = [
    b"\0", b"\xff", b"\t", b"\n", b":", b"- ", b"*a", b"&a ", b"{", b"]", b"!!set ", b"|", b"%",
]  # fmt: skip


def changed(tree: Any, chance: random.Random, names: list[str]) -> Any:
    """A tree in which one thing is another one, missing, renamed, new or there twice."""
    if not isinstance(tree, dict | list) or not (found := places(tree)):
        return copy.deepcopy(chance.choice(VALUES))
    node, key = chance.choice(found)
    what = chance.random()
    if what < 0.55:
        node[key] = copy.deepcopy(chance.choice(VALUES))
    elif what < 0.7:
        del node[key]
    elif not isinstance(node, dict):
        node.append(copy.deepcopy(node[key]))
    elif what < 0.85:
        node[chance.choice([*names, f"{key}x"])] = node.pop(key)
    else:
        node[chance.choice(names)] = copy.deepcopy(chance.choice(VALUES))
    return tree


def damaged(random_: random.Random) -> bytes:
    """Return a configuration with a few mistakes, or none by chance."""
    tree = copy.deepcopy(random_.choice(BASES))
    for _ in range(random_.choice([1, 1, 1, 2, 3])):
        tree = changed(tree, random_, KEYS)
    data = yaml.safe_dump(tree, sort_keys=False, allow_unicode=True).encode()
    for _ in range(random_.choice([0, 0, 0, 0, 0, 0, 1, 2])):
        position = random_.randrange(len(data) + 1)
        data = data[:position] + random_.choice(BYTES) + data[position + random_.randint(0, 3) :]
    return data


def overrides(random_: random.Random) -> list[str]:
    """Return none, one or two overrides, most of which mean nothing."""
    sections = ["seed", "data", "model", "loss", "optimizer", "train", "log", "function", "x"]
    return [
        f"{random_.choice(sections)}{random_.choice(['', '.name', '.layers[0].p', '.lr', '.csv'])}"
        f"={random_.choice(WORDS)}{random_.choice(WORDS)}"
        for _ in range(random_.choice([0, 0, 0, 1]))
    ]


@pytest.mark.filterwarnings("ignore:Initializing zero-element tensors")
@pytest.mark.parametrize(
    ("seed", "files"),
    [(0, 100), *(pytest.param(seed, 500, marks=pytest.mark.slow) for seed in range(1, 11))],
)
def test_damaged_files(seed: int, files: int) -> None:
    x = np.random.default_rng(0).normal(size=(40, 16))
    np.savez("d.npz", x=x, y=np.arange(40) % 3)
    Path("t.txt").write_text("abc" * 40, "utf-8")
    Path("table.csv").write_text(TABLE, "utf-8")
    Path("base.yaml").write_text(CLASSIFICATION, "utf-8")
    before = sorted(Path().iterdir())
    random_, codes = random.Random(seed), []
    for number in range(files):
        data = damaged(random_)
        Path("x.yaml").write_bytes(data)
        try:
            code, _, errors = said("train --config x.yaml --check", *overrides(random_))
        except BaseException as error:
            raise AssertionError(
                f"file {number}: {error!r}\n{data.decode(errors='replace')}"
            ) from error
        assert code in (0, 2), data
        assert code == 0 or errors, data
        assert "Traceback" not in errors, data
        Path("x.yaml").unlink()
        assert sorted(Path().iterdir()) == before, data
        codes.append(code)
    assert 0 < codes.count(0) / files < 0.6  # neither all are refused, nor none


JSON = ("run.json", "preprocessing.json", "metrics.jsonl")
NEWEST = "checkpoints/step-00000007.safetensors"
OTHERS = ("config.yaml", "weights.safetensors", "events")
NAMES = ["id", "data", "mean", "shape", "status", "steps", "results", "columns", "classes", "x"]
PIECES = [b"\0", b"\xff", b"{", b"}", b"[", b"]", b'"', b",", b"\n", b"NaN", b"1e999"]
WITH_STATES = (
    "checkpoint={seconds: 0, last: 3}",
    "optimizer={name: Adam, lr: 0.1}",
    "scheduler={name: CosineAnnealingLR, warmup: 1}",
    "early_stopping={patience: 5}",
)
SECONDS = 600
"""More than any answer takes on a busy machine."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was killed after its seventh step, as far as anybody can see."""
    before, place = Path.cwd(), tmp_path_factory.mktemp("whole")
    os.chdir(place)
    try:
        path = write_example(place, REGRESSION.replace("tensorboard: false", "tensorboard: true"))
        run = place / train(load_config(path, WITH_STATES)).directory
    finally:
        os.chdir(before)
    record = record_of(run)
    (run / "run.json").write_text(json.dumps(record | {"status": "running"}), "utf-8")
    (run / "checkpoints/step-00000008.safetensors").unlink()
    return run


@pytest.fixture(autouse=True)
def _no_hanging() -> Iterator[None]:
    """End the tests, with a traceback, if one goes on and on."""
    faulthandler.dump_traceback_later(SECONDS, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


def content(run: Path) -> dict[str, bytes | str]:
    """What is in a directory, without what never ends."""
    found: dict[str, bytes | str] = {}
    for path in run.rglob("*"):
        small = path.is_file() and path.stat().st_size < 10**6 and os.access(path, os.R_OK)
        name = str(path.relative_to(run))
        found[name] = path.read_bytes() if small else str(path.lstat().st_mtime_ns)
    return found


COMMANDS = {
    "resume": "train --resume {}",
    "predict": "predict {} table.csv",
    "compare": "compare {}",
    "plot": "compare {} --plot c.png",
}
TURNS = ["resume", "predict", "compare"] * 4 + ["plot"]
"""The commands of a campaign: a drawing takes as long as ten of the others."""


def answer(command: str, run: Path) -> int:
    """The exit code of a command, of which nothing is wrong."""
    before = content(run)
    code, _, errors = said(COMMANDS[command].format(run))
    assert code in (0, 2) or (code == 1 and not errors), errors  # may have diverged
    assert "Traceback" not in errors
    assert len(errors) < 5000
    if code == 2:
        assert errors
        assert content(run) == before
    return code


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_not_damaged_is_used(command: str, whole: Path) -> None:
    write_example(Path())
    run = Path(shutil.copytree(whole, "run"))
    assert answer(command, run) == 0


def pipe(path: Path) -> None:
    os.mkfifo(path)


def sparse(path: Path) -> None:
    path.touch()
    os.truncate(path, 2**40)


KINDS: dict[str, Callable[[Path], Any]] = {
    "a pipe": pipe,
    "an endless file": lambda path: path.symlink_to("/dev/zero"),
    "a directory": lambda path: (path / "inner").mkdir(parents=True),
    "a dangling link": lambda path: path.symlink_to("none"),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "an empty file": lambda path: path.touch(),
    "a terabyte of nothing": sparse,
    "no text": lambda path: path.write_bytes(b"\xff\xfe\x00"),
    "not readable": lambda path: (path.write_bytes(b"["), path.chmod(0)),
}


def replace(run: Path, name: str, kind: str) -> None:
    """Put something else in the place of a file of a run."""
    path = next(run.glob("events.*")) if name == "events" else run / name
    path.unlink()
    KINDS[kind](path)


@posix
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "name", [NEWEST, *(pytest.param(n, marks=pytest.mark.slow) for n in [*JSON, *OTHERS])]
)
def test_something_else_in_place_of_a_file(name: str, kind: str, whole: Path) -> None:
    write_example(Path())
    codes = []
    for command in COMMANDS if name != NEWEST else ("resume", "predict", "compare"):
        run = Path(shutil.copytree(whole, command))
        replace(run, name, kind)
        codes.append(answer(command, run))
    if name == NEWEST:  # there is another one
        assert codes == [0, 0, 0]
    assert codes[2] == 0 or name in ("run.json", "metrics.jsonl")


def rewritten(data: bytes, name: str, chance: random.Random) -> bytes:
    """JSON that says something else."""
    if name != "metrics.jsonl":
        return json.dumps(changed(json.loads(data), chance, NAMES)).encode()
    lines = data.splitlines(keepends=True)
    number = chance.randrange(len(lines))
    lines[number] = json.dumps(changed(json.loads(lines[number]), chance, NAMES)).encode() + b"\n"
    return b"".join(lines)


MISSING = object()


def keys_of(tree: Any) -> list[tuple[Any, ...]]:
    """The way to each place in a tree."""
    inner = tree if isinstance(tree, dict) else dict(enumerate(tree))
    return [
        (key, *rest)
        for key, value in inner.items()
        for rest in [(), *(keys_of(value) if isinstance(value, dict | list | tuple) else ())]
    ]


def replaced(tree: Any, keys: tuple[Any, ...], value: Any) -> Any:
    """The tree with something else in a place, or nothing."""
    inner = dict(tree) if isinstance(tree, dict) else dict(enumerate(tree))
    key, *rest = keys
    inner[key] = replaced(inner[key], tuple(rest), value) if rest else value
    if inner[key] is MISSING:
        del inner[key]
    return inner if isinstance(tree, dict) else type(tree)(inner.values())


LONG = "x" * 100_000


@pytest.mark.parametrize("columns", [{}, {"columns": []}])  # none as for arrays without names
def test_a_table_for_a_model_whose_features_have_no_names(columns: Any, whole: Path) -> None:
    write_example(Path())
    record = json.loads((whole / "preprocessing.json").read_bytes())
    run = Path(shutil.copytree(whole, "run"))
    (run / "preprocessing.json").write_text(json.dumps(record | columns | {"features": []}))
    assert answer("predict", run) == 2


@pytest.mark.slow
@pytest.mark.parametrize("name", JSON[:2])
def test_whatever_is_in_a_place_of_a_record_there_is_an_answer(name: str, whole: Path) -> None:
    write_example(Path())
    tree = json.loads((whole / name).read_bytes())
    values = [MISSING, None, -1, 0.5, "", {"y": [1]}, [], [[]], ["a", "b"], 2**63, LONG, [LONG]]
    for keys, value in itertools.product(keys_of(tree), values):
        run = Path(shutil.copytree(whole, "run"))
        (run / name).write_text(json.dumps(replaced(tree, keys, value)))
        for command in ("predict", "compare", "resume"):  # resuming writes the records again
            answer(command, run)
        shutil.rmtree(run)


def damage(run: Path, chance: random.Random) -> None:
    """Damage a run in some way."""
    name = chance.choice([*JSON, *JSON, *OTHERS, NEWEST])
    what = chance.random()
    path = next(run.glob("events.*")) if name == "events" else run / name
    if what < 0.05 and os.name == "posix":
        replace(run, name, chance.choice(list(KINDS)))
    elif what < 0.6 and name in JSON:
        path.write_bytes(rewritten(path.read_bytes(), name, chance))
    else:
        data = path.read_bytes()
        place = chance.randrange(len(data))
        if what < 0.75:
            data = data[:place]
        elif what < 0.9 or name == "config.yaml":
            data = (
                data[:place] + bytes([data[place] ^ 1 << chance.randrange(8)]) + data[place + 1 :]
            )
        else:
            data = data[:place] + chance.choice(PIECES) + data[place + chance.randrange(3) :]
        path.write_bytes(data)


@pytest.mark.parametrize(
    ("seed", "runs"),
    [(0, 40), *(pytest.param(seed, 200, marks=pytest.mark.slow) for seed in range(1, 7))],
)
def test_damaged_runs_of_all_kinds(seed: int, runs: int, whole: Path) -> None:
    write_example(Path())
    chance, codes = random.Random(seed), []
    for number in range(runs):
        run = Path(shutil.copytree(whole, "run"))
        damage(run, chance)
        command = TURNS[number % len(TURNS)]
        try:
            codes.append(answer(command, run))
        except BaseException as error:
            kept = Path(shutil.copytree(run, f"damaged-{number}", symlinks=True)).resolve()
            raise AssertionError(f"{command} {kept}: {error!r}") from error
        shutil.rmtree(run)
    assert 0.1 < codes.count(0) / runs < 0.9


# What is written into `x.yaml`, and the command, with a name in place of FILE.
WAYS = {
    "a configuration": ("", "train --config FILE --check"),
    "an override": (REGRESSION, "train --config x.yaml data.csv=FILE --check"),
    **{
        way: (text, "train --config x.yaml --check")
        for way, text in {
            "a base": f"inherit: [FILE]\n{CLASSIFICATION}",
            "a table": REGRESSION.replace("table.csv", "FILE"),
            "a table of a part": REGRESSION.replace(
                "target: y", "target: y\n  parts: {validation: FILE}"
            ),
            "an archive": REGRESSION.replace("csv: table.csv", "npz: FILE\n  inputs: x"),
            "an array": REGRESSION.replace(
                "csv: table.csv\n  target: y", "npy: {x: FILE, y: y.npy}"
            ),
            "a text": TEXT.replace("t.txt", "FILE"),
        }.items()
    },
    "a module": ("", "train --config x.yaml --check --import FILE"),
    "a run to resume": ("", "train --resume FILE"),
    "runs to compare": ("", "compare FILE"),
    "a run to predict with": ("", "predict FILE table.csv"),
    "a sweep's configuration": ("", "sweep --config FILE seed=1"),
    "samples": ("", "predict latest FILE"),
    "arrays of samples": ("", "predict latest FILE"),
}
INSIDE = ("a base", "a table", "a table of a part", "an archive", "an array", "a text")
"""Where names stand in text in UTF-8."""
WRITTEN = {
    "a directory of runs": (REGRESSION, "train --config x.yaml log.dir=FILE"),
    "a directory of a sweep": ("", "sweep --config x.yaml --dir FILE seed=1"),
    "a picture": ("", "compare latest --plot FILE"),
    "predictions": ("", "predict latest table.csv --output FILE"),
}
SUFFIXES = {
    "an archive": ".npz", "an array": ".npy", "arrays of samples": ".npz", "a module": ".py",
    "a picture": ".png",
}  # fmt: skip


def refused(way: str, *files: str) -> None:
    """Fail unless each of the files is refused where it is named in that way."""
    text, command = (WAYS | WRITTEN)[way]
    write_example(Path())
    if "latest" in command:
        assert said("train --config x.yaml")[0] == 0
    for file in files:
        if text:
            Path("x.yaml").write_text(text.replace("FILE", file))
        code, _, errors = said(*(word.replace("FILE", file) for word in command.split()))
        assert code == 2, errors
        assert "Traceback" not in errors
        assert "Errno" not in errors
        assert 0 < errors.count("\n") <= 3
        assert len(errors) < 1500


@posix
@pytest.mark.parametrize("way", WAYS)
def test_whatever_is_there(way: str) -> None:
    suffix, files = SUFFIXES.get(way, ".csv"), []
    for number, (kind, make) in enumerate(KINDS.items()):
        if way == "a module" and kind in ("an empty file", "a terabyte of nothing"):
            continue  # which are programs
        files.append(f"file{number}{suffix}")
        make(Path(files[-1]))
    refused(way, *files)


@pytest.mark.parametrize("way", [*WAYS, *WRITTEN])
def test_names_of_no_file(way: str) -> None:
    names = ["x" * 300, "x" * 5000, "d/" * 2500 + "x", "table.csv/x"]
    if way not in WRITTEN:
        names += ["none"]
    if way not in INSIDE:
        names += ["a\0b"] if way in WRITTEN else ["x\ny", "a\0b", "\udcff"]
    refused(way, *(name + SUFFIXES.get(way, ".csv") for name in names))
    assert Path("table.csv").read_text("utf-8") == TABLE
