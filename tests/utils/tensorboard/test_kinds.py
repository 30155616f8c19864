"""Every kind of thing that can be written, as PyTorch's writer writes it, and read back."""

from pathlib import Path
from typing import Any

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

import nanotorch as torch
from nanotorch.utils.tensorboard import SummaryWriter
from tests.utils.tensorboard.records import events

KEEP_ALL = {"images": 0, "tensors": 0, "scalars": 0}


def load(directory: Path) -> Any:
    return EventAccumulator(str(directory), size_guidance=KEEP_ALL).Reload()


def test_images_that_cannot_be(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        with pytest.raises(ValueError, match="dataformats='CXY' is not an order of"):
            writer.add_image("x", torch.rand(3, 3, 3), dataformats="CXY")
        with pytest.raises(AssertionError, match=r"3 channels, got shape \(2, 5, 4, 4\)"):
            writer.add_images("x", torch.rand(2, 5, 4, 4))


def test_hparams_are_a_run_of_their_own_as_in_pytorch(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_hparams({"lr": 0.1}, {"loss": 0.5})
    (below,) = (path for path in tmp_path.iterdir() if path.is_dir())
    assert float(below.name) > 1e9
    (point,) = load(below).Scalars("loss")
    assert point.value == 0.5


def test_hyperparameters_of_all_kinds(tmp_path: Path) -> None:
    given = {"tensor": torch.tensor(2.5), "flag": True, "many": [1, 2], "kind": int, "n": 3}
    with SummaryWriter(tmp_path) as writer:
        writer.add_hparams(given, {}, {"flag": [True, False]}, ".")
    values = [value for event in events(tmp_path) for value in event.summary.value]
    parsed = [HParamsPluginData.FromString(v.metadata.plugin_data.content) for v in values]
    row = parsed[1].session_start_info.hparams
    assert row["tensor"].number_value == 2.5
    assert row["flag"].bool_value is True
    assert row["many"].string_value == "[1, 2]"
    assert row["kind"].string_value == "<class 'int'>"
    domains = {info.name: info.domain_discrete for info in parsed[0].experiment.hparam_infos}
    assert [value.bool_value for value in domains["flag"].values] == [True, False]


def test_figures_are_drawn_and_closed(tmp_path: Path) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figures = [plt.figure(figsize=(2, 1), dpi=50) for _ in range(3)]
    with SummaryWriter(tmp_path) as writer:
        writer.add_figure("kept", figures[0], close=False)
        assert len(plt.get_fignums()) == 3
        writer.add_figure("several", figures)
    assert plt.get_fignums() == []
    (image,) = load(tmp_path).Images("several")
    assert (image.width, image.height) == (300, 50)


def test_what_is_out_of_scope_is_told(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        with pytest.raises(AttributeError, match="no attribute 'add_video': out of scope"):
            _ = writer.add_video
        assert not hasattr(writer, "add_nothing")
