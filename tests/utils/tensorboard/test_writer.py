"""What the writer writes, read back from the file's bytes and by TensorBoard's own reader."""

import gc
import os
import subprocess
import sys
import textwrap
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import nanotorch as torch
from nanotorch.utils.tensorboard import SummaryWriter
from tests.utils.tensorboard.records import event_files, events, masked_crc32c

KEEP_ALL = {"scalars": 0, "histograms": 0, "images": 0, "tensors": 0}


def load(directory: Path) -> Any:
    accumulator = EventAccumulator(str(directory), size_guidance=KEEP_ALL)
    return accumulator.Reload()


def test_the_checksum_is_crc32c() -> None:
    # The check value of the algorithm's catalogue entry, under TensorFlow's mask.
    assert (
        masked_crc32c(b"123456789") == ((0xE3069283 >> 15 | 0xE3069283 << 17) + 0xA282EAD8) % 2**32
    )


def test_first_record_names_the_format(tmp_path: Path) -> None:
    SummaryWriter(tmp_path).close()
    (event,) = events(tmp_path)
    assert event.file_version == "brain.Event:2"


def test_scalars_of_every_kind(tmp_path: Path) -> None:
    values = [1, 2.5, True, np.float32(3), np.array([4.0]), torch.tensor(5.0), torch.ones(1, 1)]
    values.append(torch.tensor(7.0, requires_grad=True) * 1)
    with SummaryWriter(tmp_path) as writer:
        for step, value in enumerate(values):
            writer.add_scalar("loss/train set", value, step, walltime=100.0 + step)
    points = load(tmp_path).Scalars("loss/train set")
    assert [point.value for point in points] == [1, 2.5, 1, 3, 4, 5, 1, 7]
    assert [point.step for point in points] == list(range(8))
    assert [point.wall_time for point in points] == [100.0 + step for step in range(8)]


def test_scalar_of_several_elements_is_refused(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer, pytest.raises(ValueError, match=r"one element.*\(2,\)"):
        writer.add_scalar("loss", torch.zeros(2))


def test_not_a_number_is_written(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("loss", float("nan"), 0)
        writer.add_scalar("loss", float("inf"), 1)
    nan, inf = (point.value for point in load(tmp_path).Scalars("loss"))
    assert np.isnan(nan)
    assert inf == float("inf")


@pytest.mark.parametrize(("double", "expected"), [(False, np.float32(0.1)), (True, 0.1)])
def test_new_style_scalar(tmp_path: Path, double: bool, expected: float) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("loss", 0.1, 3, new_style=True, double_precision=double)
    (point,) = load(tmp_path).Tensors("loss")
    (value,) = point.tensor_proto.double_val if double else point.tensor_proto.float_val
    assert value == expected


def test_scalars_in_one_chart_are_runs_in_subdirectories(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        for step in range(3):
            writer.add_scalars("loss/all", {"train": step, "val": torch.tensor(2.0) * step}, step)
    assert [p.value for p in load(tmp_path / "loss_all_train").Scalars("loss/all")] == [0, 1, 2]
    assert [p.value for p in load(tmp_path / "loss_all_val").Scalars("loss/all")] == [0, 2, 4]


def test_flush_leaves_nothing_in_memory(tmp_path: Path) -> None:
    writer = SummaryWriter(tmp_path)
    for step in range(500):
        writer.add_scalar("loss", step, step)
    writer.flush()
    assert len(load(tmp_path).Scalars("loss")) == 500
    writer.close()


def test_events_reach_the_disk_after_flush_secs(tmp_path: Path) -> None:
    writer = SummaryWriter(tmp_path, flush_secs=0)
    writer.add_scalar("loss", 1.0, 0)
    assert len(load(tmp_path).Scalars("loss")) == 1
    writer.close()


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
    killed = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=False)
    assert killed.returncode == -9
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
    writer.close()
    writer.close()
    writer.flush()
    writer.add_scalar("loss", 2.0, 1)
    writer.close()
    assert len(event_files(tmp_path)) == 2
    assert all(path.name.endswith(".part") for path in event_files(tmp_path))
    assert [point.value for point in load(tmp_path).Scalars("loss")] == [1, 2]


def test_a_dropped_writer_is_closed_and_freed(tmp_path: Path) -> None:
    writer = SummaryWriter(tmp_path)
    writer.add_scalar("loss", 1.0, 0)
    dropped = weakref.ref(writer)
    del writer
    gc.collect()
    assert dropped() is None
    assert len(load(tmp_path).Scalars("loss")) == 1


@pytest.mark.skipif(os.name != "posix", reason="the limit is POSIX's")
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
    command = [sys.executable, "-c", textwrap.dedent(program)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "told: File too large\n"


def test_default_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with SummaryWriter(comment="-trial") as writer:
        assert writer.get_logdir() == writer.log_dir
    (directory,) = (tmp_path / "runs").iterdir()
    assert os.fspath(directory.relative_to(tmp_path)) == writer.log_dir
    assert directory.name.endswith("-trial")


def test_histogram(tmp_path: Path) -> None:
    values = torch.cat([torch.randn(1000), torch.tensor([float("nan"), float("inf")])])
    with SummaryWriter(tmp_path) as writer:
        writer.add_histogram("fc1/weight", values, 4)
        writer.add_histogram("few bins", torch.randn(10, 10), bins="auto", max_bins=3)
        writer.add_histogram("constant", torch.zeros(8))
        with pytest.raises(ValueError, match="none of the 2 values is finite"):
            writer.add_histogram("nan", torch.tensor([float("nan")] * 2))
    accumulator = load(tmp_path)
    assert set(accumulator.Tags()["histograms"]) == {"fc1/weight", "few bins", "constant"}
    (point,) = accumulator.Histograms("fc1/weight")
    histogram = point.histogram_value
    assert point.step == 4
    assert histogram.num == sum(histogram.bucket) == 1000
    assert histogram.sum == pytest.approx(float(values[:1000].sum()), rel=1e-4)


@pytest.mark.parametrize(
    ("shape", "dataformats"), [((3, 4, 5), "CHW"), ((4, 5, 3), "HWC"), ((4, 5), "HW")]
)
def test_image(tmp_path: Path, shape: tuple[int, ...], dataformats: str) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_image("a picture", torch.rand(*shape), 1, dataformats=dataformats)
    (image,) = load(tmp_path).Images("a picture")
    assert (image.height, image.width) == (4, 5)
    assert image.encoded_image_string.startswith(b"\x89PNG")


def test_batch_of_images(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_images("batch", torch.rand(4, 3, 8, 8))
    (image,) = load(tmp_path).Images("batch")
    assert image.width * image.height == 4 * 8 * 8


def test_figure_is_drawn_and_closed(tmp_path: Path) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure = plt.figure(figsize=(2, 1), dpi=50)
    with SummaryWriter(tmp_path) as writer:
        writer.add_figure("curve", figure)
    (image,) = load(tmp_path).Images("curve")
    assert (image.width, image.height) == (100, 50)
    assert plt.get_fignums() == []


def test_text(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_text("config", "lr: `1e-3` ∂", 2)
    (text,) = load(tmp_path).Tensors("config/text_summary")
    assert text.tensor_proto.string_val[0].decode() == "lr: `1e-3` ∂"


def test_pr_curve(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        labels, scores = torch.tensor([0, 1, 1, 0]), torch.tensor([0.1, 0.9, 0.8, 0.2])
        writer.add_pr_curve("pr", labels, scores, num_thresholds=11)
        writer.add_pr_curve("weighted", labels, scores, weights=torch.ones(4))
    (curve,) = load(tmp_path).Tensors("pr")
    precision = np.array(curve.tensor_proto.float_val).reshape(6, 11)[4]
    assert precision[5] == 1.0


def test_hparams_stay_in_the_run(tmp_path: Path) -> None:
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

    with SummaryWriter(tmp_path) as writer:
        for step in range(3):
            writer.add_scalar("loss/val", 3.0 - step, step)
        settings = {"lr": 1e-3, "nesterov": True, "name": "adam", "betas": [0.9, 0.999]}
        writer.add_hparams(settings, {"loss/val": 1.0, "accuracy": torch.tensor(0.5)}, run_name=".")
    assert [path for path in tmp_path.iterdir() if path.is_dir()] == []
    assert len(load(tmp_path).Scalars("loss/val")) == 3
    assert [point.value for point in load(tmp_path).Scalars("accuracy")] == [0.5]
    values = [value for event in events(tmp_path) for value in event.summary.value]
    (start,) = (value for value in values if value.tag == "_hparams_/session_start_info")
    hparams = HParamsPluginData.FromString(start.metadata.plugin_data.content)
    names = hparams.session_start_info.hparams
    assert names["lr"].number_value == 1e-3
    assert names["betas"].string_value == "[0.9, 0.999]"
    assert names["nesterov"].bool_value is True


def test_hparams_of_a_named_run(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("loss", 1.0, 0)
        writer.add_hparams({"lr": 0.1}, {"loss": 0.5}, run_name="trial", global_step=9)
    (point,) = load(tmp_path / "trial").Scalars("loss")
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
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.stderr.strip() == "torch was imported"
