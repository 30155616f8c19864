"""A run in TensorBoard, also a killed one."""

import re
import shlex
import signal
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.custom_scalar.metadata import CONFIG_SUMMARY_TAG
from tensorboard.plugins.hparams import plugin_data_pb2

import nanotorch as torch
from nanotorch.train import resume
from nanotorch.train.runs.run_directory import step_of
from nanotorch.train.training.experiment import Recorder, TensorBoardEvents, sizes
from tests.patience import wait_until
from tests.several import posix
from tests.train.config.test_build import TEXT
from tests.train.examples import (
    CLASSIFICATION,
    MANY,
    MINIMIZATION,
    REGRESSION,
    recorded,
    result_of,
    write_example,
)
from tests.train.test_cli import ENVIRONMENT, SCRIPT, start


def accumulated(directory: Path) -> EventAccumulator:
    return EventAccumulator(
        str(directory), size_guidance={"scalars": 0, "histograms": 0, "tensors": 0}
    ).Reload()


def curves(directory: Path) -> dict[str, list[tuple[int, float]]]:
    """The points of each curve, but for those of times."""
    events = accumulated(directory)
    tags = set(events.Tags()["scalars"]) - {"train/samples_per_second"}
    return {tag: [(event.step, event.value) for event in events.Scalars(tag)] for tag in tags}


def shown(text: str, *overrides: str) -> EventAccumulator:
    run = result_of(text, "log.tensorboard=true", *overrides)
    return accumulated(run.directory)


def test_each_record_of_steps_has_rate_norm_and_speed() -> None:
    more = ("log.every=2", "train={steps: 6, batch_size: 8}", "log.histograms=0")
    events = shown(CLASSIFICATION, *more)
    for tag in ("loss/train", "lr", "model/gradient_norm", "train/samples_per_second"):
        assert [event.step for event in events.Scalars(tag)] == [2, 4, 6]
        assert all(event.value > 0 for event in events.Scalars(tag))
    assert events.Tags()["histograms"] == []
    assert {"pr/train", "pr/validation", "pr/test"} <= set(events.Tags()["tensors"])


def charts(events: EventAccumulator) -> list[str]:
    """The charts of the page Custom Scalars; the run has all their curves."""
    (event,) = events.Tensors(CONFIG_SUMMARY_TAG)
    layout = layout_pb2.Layout.FromString(event.tensor_proto.string_val[0])
    ((*found,),) = [category.chart for category in layout.category]
    tags = events.Tags()["scalars"]
    assert all(any(map(re.compile(t).match, tags)) for chart in found for t in chart.multiline.tag)
    return [f"{chart.title}: {' '.join(chart.multiline.tag)}" for chart in found]


LOSSES = ["loss: loss/train loss/validation"]


@pytest.mark.parametrize(
    ("text", "more"),
    [
        (CLASSIFICATION, [*LOSSES, "accuracy: accuracy/validation"]),
        (MANY, [*LOSSES, "accuracy: accuracy/validation"]),
        (REGRESSION, LOSSES),
        (MINIMIZATION, ["value: objective/value", "coordinates: objective/x",
                        "gradient norm: objective/gradient_norm"]),
    ],
)  # fmt: skip
def test_no_curve_is_a_point_and_losses_are_drawn_in_one_chart(text: str, more: list[str]) -> None:
    train = [] if text == MINIMIZATION else ["train={epochs: 2, batch_size: 8}"]
    events = shown(text, *train)
    assert charts(events) == [*more, "learning rate: lr"]
    assert all(len(events.Scalars(tag)) > 1 for tag in events.Tags()["scalars"])
    assert not [tag for tag in events.Tags()["scalars"] if "test" in tag or "final" in tag]
    if text == MANY:  # a curve of precision over recall for each class
        assert {f"pr/test/{k}" for k in range(3)} <= set(events.Tags()["tensors"])
    (event,) = events.Tensors("results/text_summary")
    result = "f = 0.5 at (0.5, 1.5)" if text == MINIMIZATION else "test"
    assert result in event.tensor_proto.string_val[0].decode()


def test_weights_and_gradients_have_histograms() -> None:
    events = shown(CLASSIFICATION, "log.histograms=3", "train={epochs: 6, batch_size: 8}")
    weights = {"weights/0.weight", "weights/0.bias", "weights/2.weight"}  # 2.bias is one number
    assert set(events.Tags()["histograms"]) == weights | {f"{name}.grad" for name in weights}
    found = events.Histograms("weights/0.weight")
    assert [event.step for event in found] == [8, 16, 24]
    assert found[0].histogram_value.num == 8


def test_events_that_are_odd_or_taken_back() -> None:
    directory = Path("events")
    events = TensorBoardEvents(directory)
    constant, nothing = torch.ones(3), torch.tensor([float("nan"), float("inf")])
    events.histograms(1, [("constant", constant), ("nothing", nothing)])
    events.write(1, {"a": 1.0})
    events.flush()
    before = sizes(directory)
    events.write(2, {"a": 2.0})
    events.close()
    TensorBoardEvents(directory).close()  # another file, of which nothing was known
    recorder = Recorder(directory, False, ({"metrics": 0, "events": before}, 1))
    recorder.begin()  # what came after is cut off
    recorder.close()
    assert sizes(directory) == before
    found = accumulated(directory)
    assert [event.step for event in found.Scalars("a")] == [1]
    assert found.Tags()["histograms"] == ["constant"]
    assert found.Histograms("constant")[0].histogram_value.num == 3
    Path("nothing").mkdir()
    TensorBoardEvents(Path("nothing")).close()  # without anything to write there is no file
    assert list(Path("nothing").iterdir()) == []


def row_of(run: EventAccumulator) -> Any:
    """The run's row in the table of hyperparameters."""
    rows = run.summary_metadata
    # The columns are TensorBoard's to find: those in which runs differ come first.
    assert {name for name in rows if name.startswith("_hparams_")} == {
        "_hparams_/session_start_info", "_hparams_/session_end_info"
    }  # fmt: skip
    content = rows["_hparams_/session_start_info"].plugin_data.content
    return plugin_data_pb2.HParamsPluginData.FromString(content).session_start_info.hparams


def test_the_row_of_hyperparameters_is_the_run_s_own() -> None:
    run = result_of(CLASSIFICATION, "log.tensorboard=true", "optimizer.lr=0.25")
    assert not [path for path in run.directory.iterdir() if path.is_dir() and "checkp" not in
                path.name]  # fmt: skip
    events = accumulated(run.directory)
    values = row_of(events)
    assert values["optimizer.lr"].number_value == 0.25
    assert values["Model"].string_value == "Linear(4) ReLU Linear(1)"
    assert values["Parameters"].number_value == 17
    assert values["→ test/accuracy"].number_value == pytest.approx(run.results["test/accuracy"])
    assert [event.step for event in events.Scalars("loss/validation")] == [4, 5]


def test_the_first_columns_of_all_runs_are_the_same() -> None:
    """Of other runs TensorBoard draws no parallel coordinates."""
    for text in (CLASSIFICATION, MANY, REGRESSION):
        events = shown(text, "train={epochs: 2, batch_size: 8}")
        names = sorted(row_of(events))
        assert names[:5] == ["Data", "Experiment", "Loss", "Model", "Optimizer"]
        assert names[-1].startswith("→ ")
    for function in ("x[0]**2 + x[1]**2", "sum(x)"):
        names = sorted(row_of(shown(MINIMIZATION, f"function.expression={function}")))
        assert names[:3] == ["Experiment", "Model", "Optimizer"]
    curves_ = sorted(shown(CLASSIFICATION, "train={epochs: 2, batch_size: 8}").Tags()["scalars"])
    losses = ["loss/train", "loss/validation"]
    assert curves_[:5] == ["accuracy/validation", *losses, "lr", "model/gradient_norm"]


LAYER_AND_LOSS = [b"Sequential/0_Linear/", b"BCEWithLogitsLoss/"]
NAMED = "function={name: himmelblau, start: [1, 2], iterations: 3}"


@pytest.mark.parametrize(
    ("text", "overrides", "boxes"),
    [
        (CLASSIFICATION, ["train={steps: 3, batch_size: 8}"], LAYER_AND_LOSS),
        (CLASSIFICATION, ["train={steps: 1, accumulate: 2, clip_norm: 1}"], LAYER_AND_LOSS),
        (MINIMIZATION, [], [b"function/"]),
        (MINIMIZATION, ["function.start=[[1, 2], [3, 4]]"], [b"function/"]),
        (MINIMIZATION, ["optimizer={name: LBFGS}"], [b"function/"]),
        (MINIMIZATION, [NAMED, "optimizer.lr=1e-3"], [b"himmelblau/"]),
    ],
)
def test_the_graph_has_the_time_of_a_real_step(text: str, overrides: Any, boxes: Any) -> None:
    events = shown(text, *overrides)
    assert events.Graph()
    for name in ("forward", "backward"):
        (event,) = events.Tensors(name)
        content = event.tensor_proto.string_val[0]
        assert all(box in content for box in [b"/device:CPU:0", *boxes])


@posix
def test_a_killed_run_is_readable_to_its_last_checkpoint() -> None:
    write_example(Path(), CLASSIFICATION.replace("steps: 5", "steps: 100000"))
    more = ["log.tensorboard=true", "log.progress=false", "checkpoint.seconds=0.05"]
    process = start([*SCRIPT, "--config", "x.yaml", *more], stdout=subprocess.DEVNULL)
    wait_until(lambda: len(list(Path("runs").glob("x/*/checkpoints/step-*"))) >= 2)
    process.send_signal(signal.SIGKILL)
    process.wait()
    (directory,) = Path("runs/x").iterdir()
    newest = max(step_of(path) for path in (directory / "checkpoints").glob("step-*"))
    steps = [event.step for event in accumulated(directory).Scalars("loss/train")]
    assert steps[: newest - 1] == list(range(1, newest))
    assert max(steps) >= newest - 1
    resume(directory, f"train.steps={newest + 50}")
    events = accumulated(directory)
    assert [event.step for event in events.Scalars("loss/train")] == list(range(1, newest + 51))
    values = [event.value for event in events.Scalars("loss/train")]
    np.testing.assert_allclose(values, recorded(directory, "train/loss"), rtol=1e-6)


@posix
def test_a_run_that_ends_with_its_input_needs_one() -> None:
    write_example(Path())
    command = f"{shlex.join(SCRIPT)} --config x.yaml --end-with-input <&-"
    done = subprocess.run(command, shell=True, env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 2
    assert "error: --end-with-input needs an open standard input; " in done.stderr


def test_a_model_of_text_shows_samples(capsys: pytest.CaptureFixture[str]) -> None:
    Path("t.txt").write_text("abc" * 100, "utf-8")
    layers = "model.layers=[{name: Embedding, embedding_dim: 4}, {name: Linear, out_features: 3}]"
    events = shown(TEXT, layers, "train={epochs: 3, batch_size: 8, validate_every: 2}")
    samples = events.Tensors("sample/text_summary")
    printed = capsys.readouterr().out
    assert [event.step for event in samples][-1] == events.Scalars("loss/train")[-1].step
    assert len(samples) == 2  # after the second epoch, and after the last
    for event in samples:
        text = event.tensor_proto.string_val[0].decode().strip("`\n")
        assert text.startswith("abcabc")  # as much as the model looks back
        assert len(text) == 6 + 120
        assert f"sample after step {event.step}:\n  {text}\n" in printed
