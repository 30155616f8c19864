"""What the writer writes, read back from the file's bytes and by TensorBoard's own reader."""

import contextlib
import gc
import os
import textwrap
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

import nanotorch as torch
from nanotorch.utils.tensorboard import SummaryWriter
from tests.several import PYTHON, ended, posix
from tests.utils.tensorboard.records import Own, event_files, events

KEEP_ALL = {"scalars": 0, "histograms": 0, "images": 0, "tensors": 0}


def load(directory: Path) -> Any:
    accumulator = EventAccumulator(str(directory), size_guidance=KEEP_ALL)
    return accumulator.Reload()


def test_scalars_of_every_kind(tmp_path: Path) -> None:
    values = [1, 2.5, True, np.float32(3), np.array([4.0]), torch.tensor(5.0), torch.ones(1, 1)]
    values += [torch.tensor(7.0, requires_grad=True) * 1, float("inf"), float("nan")]
    with SummaryWriter(tmp_path) as writer:
        for step, value in enumerate(values):
            writer.add_scalar("loss/train set", value, step, walltime=100.0 + step)
    assert events(tmp_path)[0].file_version == "brain.Event:2"
    *points, last = load(tmp_path).Scalars("loss/train set")
    assert [point.value for point in points] == [1, 2.5, 1, 3, 4, 5, 1, 7, float("inf")]
    assert np.isnan(last.value)
    assert [point.step for point in points] == list(range(9))
    assert [point.wall_time for point in points] == [100.0 + step for step in range(9)]


@pytest.mark.parametrize(
    ("method", "arguments", "argument", "wanted"),
    [
        ("add_scalar", (3, 1.0), "tag", "str, not int"),
        ("add_scalar", ("a", torch.zeros(2)), "scalar_value", r"a number .* shape \(2,\)"),
        ("add_scalar", ("a", "b"), "scalar_value", "a number or a tensor of one element, not str"),
        ("add_scalar", ("a", 1.0, "b"), "global_step", "a number .*, not str"),
        ("add_scalars", ("a", {"b": 1, "c": "d"}), "tag_scalar_dict", ".* not dict: 'c' is 'd'$"),
        ("add_histogram", ("a", [[1], [2, 3]]), "values", "numbers, not list"),
        ("add_text", ("a", None), "text_string", "str, not NoneType"),
        ("add_pr_curve", ("a", [1, 0], ["x", "y"]), "predictions", "numbers, not list"),
        (
            "add_custom_scalars",
            ({"a": {"b": 3}},),
            "layout",
            r"\{category: \{chart: ",
        ),
        ("add_image", ("a", "x"), "img_tensor", "numbers, not str"),
        ("add_figure", ("a", 3), "figure", "a figure of matplotlib, or a list of them, not int"),
        ("add_graph", (3, torch.zeros(1)), "model", "Module, not int"),
        ("add_graph", (torch.nn.Identity(), 3), "input_to_model", "Tensor or a sequence of them"),
        ("add_hparams", ({3: 1}, {}), "hparam_dict", "a dict from names to values, not dict"),
        ("add_hparams", ({}, {}, 3), "hparam_domain_discrete", "a dict from names to lists"),
        ("trace_step", (3,), "model", "Module, not int"),
    ],
)
def test_the_argument_that_is_wrong_is_named(
    method: str, arguments: Any, argument: str, wanted: str, tmp_path: Path
) -> None:
    text = rf"^{method}\(\): argument '{argument}' \(position \d\) must be {wanted}"
    with SummaryWriter(tmp_path) as writer, contextlib.ExitStack() as stack:
        stack.enter_context(pytest.raises((TypeError, ValueError), match=text))
        stack.enter_context(getattr(writer, method)(*arguments))


def scores(model: Any, x: torch.Tensor) -> torch.Tensor:
    raise ValueError("the model's own")


def test_what_is_written_has_sizes_that_fit(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        with pytest.raises(ValueError, match=r"as many predictions as labels, got \[2, 1\]"):
            writer.add_pr_curve("a", [0, 1], [0.5])
        with pytest.raises(ValueError, match=r"1, 3 or 4 channels, got shape \(5, 4, 4\)"):
            writer.add_image("a", np.zeros((5, 4, 4)))
        with pytest.raises(ValueError, match="dataformats='CXY' is not an order of"):
            writer.add_image("x", torch.rand(3, 3, 3), dataformats="CXY")
        with pytest.raises(AssertionError, match=r"3 channels, got shape \(2, 5, 4, 4\)"):
            writer.add_images("x", torch.rand(2, 5, 4, 4))
        with pytest.raises(ValueError, match="none of the 2 values is finite"):
            writer.add_histogram("nan", torch.tensor([float("nan")] * 2))
        with pytest.raises(AttributeError, match="no attribute 'add_video': out of scope"):
            _ = writer.add_video
        assert not hasattr(writer, "add_nothing")
        with pytest.raises(ValueError, match="the model's own"):
            writer.add_graph(Own(scores), torch.zeros(1))


def test_scalars_in_one_chart_are_runs_in_subdirectories(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        for step in range(3):
            writer.add_scalars("loss/all", {"train": step, "val": torch.tensor(2.0) * step}, step)
    assert [p.value for p in load(tmp_path / "loss_all_train").Scalars("loss/all")] == [0, 1, 2]
    assert [p.value for p in load(tmp_path / "loss_all_val").Scalars("loss/all")] == [0, 2, 4]


@posix
def test_a_killed_process_loses_nothing_that_was_flushed(tmp_path: Path) -> None:
    program = f"""
        import os, signal
        from nanotorch.utils.tensorboard import SummaryWriter
        writer = SummaryWriter({str(tmp_path)!r})
        for step in range(100):
            writer.add_scalar("loss", step, step)
        writer.flush()
        writer.add_scalar("loss", 0.0, 100)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    assert ended(PYTHON, "-c", textwrap.dedent(program))[0] == -9
    assert [point.step for point in load(tmp_path).Scalars("loss")][:100] == list(range(100))


def test_writers_of_one_second_keep_their_own_files_in_order(tmp_path: Path) -> None:
    for part in range(12):
        with SummaryWriter(tmp_path) as writer:
            writer.add_scalar("loss", part, part)
    assert len(event_files(tmp_path)) == 12
    assert [point.value for point in load(tmp_path).Scalars("loss")] == list(range(12))


def test_resuming_hides_the_steps_that_are_run_again(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        for step in range(10):
            writer.add_scalar("loss", 0, step)
    with SummaryWriter(tmp_path, purge_step=6) as writer:
        for step in range(6, 12):
            writer.add_scalar("loss", 1, step)
    points = load(tmp_path).Scalars("loss")
    assert [point.step for point in points] == list(range(12))
    assert [point.value for point in points] == [0] * 6 + [1] * 6


def test_adding_after_close_opens_a_new_file(tmp_path: Path) -> None:
    writer = SummaryWriter(tmp_path, filename_suffix=".part")
    writer.add_scalar("loss", 1.0, 0)
    writer.flush()
    assert len(load(tmp_path).Scalars("loss")) == 1
    writer.close()
    writer.close()
    writer.flush()
    writer.add_scalar("loss", 2.0, 1)
    writer.close()
    assert len(event_files(tmp_path)) == 2
    assert all(path.name.endswith(".part") for path in event_files(tmp_path))
    assert [point.value for point in load(tmp_path).Scalars("loss")] == [1, 2]


def test_events_reach_the_disk_after_flush_secs_or_when_the_writer_goes(tmp_path: Path) -> None:
    writer = SummaryWriter(tmp_path / "one", flush_secs=0)
    writer.add_scalar("loss", 1.0, 0)
    assert len(load(tmp_path / "one").Scalars("loss")) == 1
    writer.close()
    writer = SummaryWriter(tmp_path / "two")
    writer.add_scalar("loss", 1.0, 0)
    dropped = weakref.ref(writer)
    del writer
    gc.collect()
    assert dropped() is None
    assert len(load(tmp_path / "two").Scalars("loss")) == 1


@posix
@pytest.mark.parametrize("closing", ["", "writer.close()"])
def test_a_write_that_fails_is_told_once(tmp_path: Path, closing: str) -> None:
    program = f"""
        import resource, sys
        from nanotorch.utils.tensorboard import SummaryWriter
        writer = SummaryWriter({str(tmp_path)!r})
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        try:
            for step in range(1000):
                writer.add_scalar("loss", 1.0, step)
            writer.flush()
        except OSError as error:
            print("told:", error.strerror)
        try:
            {closing or "pass"}
        except OSError:
            pass
    """
    done = ended(PYTHON, "-c", textwrap.dedent(program))
    assert done == (0, "told: File too large\n", "")


def test_default_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with SummaryWriter(comment="-trial") as writer:
        assert writer.get_logdir() == writer.log_dir
    (directory,) = (tmp_path / "runs").iterdir()
    assert os.fspath(directory.relative_to(tmp_path)) == writer.log_dir
    assert directory.name.endswith("-trial")


def test_histogram_of_what_is_finite(tmp_path: Path) -> None:
    values = torch.cat([torch.randn(1000), torch.tensor([float("nan"), float("inf")])])
    with SummaryWriter(tmp_path) as writer:
        writer.add_histogram("fc1/weight", values, 4)
        writer.add_histogram("constant", torch.zeros(8))
    accumulator = load(tmp_path)
    assert set(accumulator.Tags()["histograms"]) == {"fc1/weight", "constant"}
    (point,) = accumulator.Histograms("fc1/weight")
    histogram = point.histogram_value
    assert histogram.num == sum(histogram.bucket) == 1000
    assert histogram.sum == pytest.approx(float(values[:1000].sum()), rel=1e-4)


def test_figures_are_drawn_and_closed(tmp_path: Path) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figures = [plt.figure(figsize=(2, 1), dpi=50) for _ in range(3)]
    with SummaryWriter(tmp_path) as writer:
        writer.add_figure("kept", figures[0], close=False)
        assert len(plt.get_fignums()) == 3
        writer.add_figure("several", figures)
        writer.add_figure("one", plt.figure(figsize=(2, 1), dpi=50))
    assert plt.get_fignums() == []
    sizes = [load(tmp_path).Images(tag)[0] for tag in ("several", "one")]
    assert [(image.width, image.height) for image in sizes] == [(300, 50), (100, 50)]


def test_hparams_stay_in_the_run(tmp_path: Path) -> None:
    settings = {"tensor": torch.tensor(2.5), "flag": True, "many": [1, 2], "kind": int, "n": 3}
    with SummaryWriter(tmp_path) as writer:
        for step in range(3):
            writer.add_scalar("loss/val", 3.0 - step, step)
        metrics = {"loss/val": 1.0, "accuracy": torch.tensor(0.5)}
        writer.add_hparams(settings, metrics, {"flag": [True, False]}, run_name=".")
    assert [path for path in tmp_path.iterdir() if path.is_dir()] == []
    assert len(load(tmp_path).Scalars("loss/val")) == 3
    assert [point.value for point in load(tmp_path).Scalars("accuracy")] == [0.5]
    values = [value for event in events(tmp_path) for value in event.summary.value]
    experiment, start = (
        HParamsPluginData.FromString(value.metadata.plugin_data.content)
        for tag in ("experiment", "session_start_info")
        for value in values
        if value.tag == f"_hparams_/{tag}"
    )
    row = start.session_start_info.hparams
    assert row["tensor"].number_value == 2.5
    assert row["flag"].bool_value is True
    assert row["many"].string_value == "[1, 2]"
    assert row["kind"].string_value == "<class 'int'>"
    domains = {info.name: info.domain_discrete for info in experiment.experiment.hparam_infos}
    assert [value.bool_value for value in domains["flag"].values] == [True, False]


@pytest.mark.parametrize("name", ["trial", None])
def test_hparams_of_a_run_of_their_own(tmp_path: Path, name: str | None) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_hparams({"lr": 0.1}, {"loss": 0.5}, run_name=name, global_step=9)
    (below,) = (path for path in tmp_path.iterdir() if path.is_dir())
    assert below.name == name if name else float(below.name) > 1e9
    (point,) = load(below).Scalars("loss")
    assert (point.step, point.value) == (9, 0.5)


def test_an_installed_torch_is_not_imported() -> None:
    # A module of this name stands for PyTorch: importing it ends the program.
    program = """
        import importlib.abc, importlib.machinery, sys
        class Torch(importlib.abc.MetaPathFinder, importlib.abc.Loader):
            def find_spec(self, name, path, target=None):
                return importlib.machinery.ModuleSpec(name, self) if name == "torch" else None
            def exec_module(self, module):
                raise SystemExit("torch was imported")
        sys.meta_path.insert(0, Torch())
        from nanotorch.utils.tensorboard.files import protos
        protos()
        assert "torch" not in sys.modules
        import torch
    """
    assert ended(PYTHON, "-c", textwrap.dedent(program))[2] == "torch was imported\n"
