"""Damaged configurations: a check or a message for each, and nothing left behind."""

import copy
import os
import random
import tempfile
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
import yaml
from hypothesis import given, settings

from tests.several import places
from tests.train.examples import (
    CLASSIFICATION,
    MINIMIZATION,
    REGRESSION,
    TABLE,
    outcome,
    write_example,
)

EXAMPLES = st.sampled_from([REGRESSION, CLASSIFICATION, MINIMIZATION])

# What a value, a key or a piece of syntax may be replaced by.
PIECES = st.sampled_from(
    [
        *(
            "",
            "~",
            "true",
            "on",
            "0",
            "-1",
            "1",
            "1.5",
            "1e-3",
            "1e300",
            "1e400",
            ".nan",
            "-.inf",
            "010",
        ),
        *("9" * 30, "x", "'", '"', "[", "]", "{", "}", "{}", "[]", "[1, 2]", "{a: 1}", ":", ": "),
        *(
            "- ",
            "-",
            "#",
            "&a",
            "*a",
            "&a *a",
            "!!int 1",
            "!!python/name:os",
            "|",
            ">",
            "<<: ",
            "?",
        ),
        *("\t", "\n", "\n  ", "---\n", "%", "@", "`", "\0", "\x1b", "\u2028", "é", "\ud7ff", "🙂"),
        *("name", "Linear", "SGD", "x[0]", "__import__('os')", "9**9**9", "Dropout", "sphere"),
    ]
)


@st.composite
def mutated(draw: st.DrawFn) -> str:
    text = draw(EXAMPLES)
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 12)))
        text = text[:start] + draw(PIECES) + text[end:]
    return text


@st.composite
def overrides(draw: st.DrawFn) -> str:
    sections = ["seed", "data", "model", "loss", "optimizer", "train", "log", "function", "x"]
    fields = ["name", "layers", "layers[0]", "layers[0].p", "lr", "epochs", "csv", "start", "split"]
    path = f"{draw(st.sampled_from(sections))}.{draw(st.sampled_from(fields))}"
    path = draw(st.sampled_from([path, path.partition(".")[0]]))
    return f"{path}={draw(PIECES)}{draw(PIECES)}"


def check(text: str, arguments: list[str]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        before = Path.cwd()
        os.chdir(directory)
        try:
            write_example(Path(), text)
            code, errors = outcome(["--config", "x.yaml", "--check", *arguments])
            assert code in (0, 2)
            assert errors or code == 0  # what an override replaces is told as well
            assert sorted(path.name for path in Path().iterdir()) == ["table.csv", "x.yaml"]
        finally:
            os.chdir(before)


@settings(max_examples=60)
@given(mutated())
def test_a_mutated_file_is_a_run_or_a_message(text: str) -> None:
    check(text, [])


@settings(max_examples=40)
@given(EXAMPLES, st.lists(overrides(), max_size=3))
def test_mutated_overrides_are_a_run_or_a_message(text: str, arguments: list[str]) -> None:
    check(text, arguments)


@settings(max_examples=60)
@given(st.binary(max_size=60))
def test_any_bytes_are_a_message(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "x.yaml"
        path.write_bytes(data)
        code, errors = outcome(["--config", str(path), "--check"])
        assert code == 2
        assert errors.startswith(f"{path}:")


FILES = 5000
EVERY = 500
"""How many of them run in the slow test's share of one seed."""

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
KEYS = ["name", "lr", "p", "layers", "epochs", "steps", "split", "seed", "inherit", "stop", "shape"]
BYTES = [
    b"\0", b"\xff", b"\t", b"\n", b":", b"- ", b"*a", b"&a ", b"{", b"]", b"!!set ", b"|", b"%",
]  # fmt: skip


def damaged(random_: random.Random) -> bytes:
    """Return a configuration with a few mistakes, or none by chance."""
    tree = copy.deepcopy(random_.choice(BASES))
    for _ in range(random_.choice([1, 1, 1, 2, 3])):
        found = places(tree)
        if not found:
            break
        node, key = random_.choice(found)
        what = random_.random()
        if what < 0.5:
            node[key] = copy.deepcopy(random_.choice(VALUES))
        elif what < 0.65:
            del node[key]
        elif what < 0.8 and isinstance(node, dict):
            node[random_.choice([*KEYS, f"{key}x"])] = node.pop(key)
        elif isinstance(node, dict):
            node[random_.choice(KEYS)] = copy.deepcopy(random_.choice(VALUES))
        else:
            node.append(copy.deepcopy(node[key]))
    data = yaml.safe_dump(tree, sort_keys=False, allow_unicode=True).encode()
    for _ in range(random_.choice([0, 0, 0, 0, 0, 0, 1, 2])):
        position = random_.randrange(len(data) + 1)
        data = data[:position] + random_.choice(BYTES) + data[position + random_.randint(0, 3) :]
    return data


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(FILES // EVERY))
def test_thousands_of_damaged_files(seed: int, tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(40, 16))
    np.savez("d.npz", x=x, y=np.arange(40) % 3)
    Path("t.txt").write_text("abc" * 40, "utf-8")
    Path("table.csv").write_text(TABLE, "utf-8")
    Path("base.yaml").write_text(CLASSIFICATION, "utf-8")
    before = sorted(Path().iterdir())
    random_, codes = random.Random(seed), []
    for number in range(EVERY):
        data = damaged(random_)
        Path("x.yaml").write_bytes(data)
        try:
            code, errors = outcome(["--config", "x.yaml", "--check"])
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
    assert 0.01 < codes.count(0) / EVERY < 0.6  # neither all are refused, nor none
