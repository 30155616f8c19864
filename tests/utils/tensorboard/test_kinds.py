"""Every kind of thing that can be written, as PyTorch's writer writes it, and read back."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData
from tensorboard.plugins.mesh.plugin_data_pb2 import MeshPluginData
from tensorboard.plugins.projector.projector_plugin import ProjectorConfig
from tensorboard.util.tensor_util import make_ndarray

import nanotorch as torch
from nanotorch.utils.tensorboard import SummaryWriter
from tests.asking import as_pytorch
from tests.utils.tensorboard.records import events

test_kinds = as_pytorch("tensorboard")
KEEP_ALL = {"images": 0, "audio": 0, "tensors": 0, "scalars": 0}


def load(directory: Path) -> Any:
    return EventAccumulator(str(directory), size_guidance=KEEP_ALL).Reload()


def test_video(tmp_path: Path) -> None:
    video = torch.zeros(3, 5, 3, 8, 6)
    for number in range(5):
        video[0, number, 0, number] = 1.0
    with SummaryWriter(tmp_path) as writer:
        writer.add_video("film", video, 2, fps=10)
        writer.add_video("grey", (video[:, :, :1] * 255).to(torch.uint8))
        with pytest.raises(ValueError, match=r"\(N, T, C, H, W\), got \(5, 3, 8, 6\)"):
            writer.add_video("film", video[0])
    accumulator = load(tmp_path)
    for tag in ("film", "grey"):
        (image,) = accumulator.Images(tag)
        frames = Image.open(io.BytesIO(image.encoded_image_string))
        assert (frames.format, frames.n_frames) == ("GIF", 5)
        assert (image.width, image.height) == frames.size == (24, 8)
    frames.seek(3)
    pixels = np.array(frames.convert("L"))
    assert (pixels[3, :6] > 200).all()
    assert pixels[:3].max() < 50
    assert frames.info["duration"] in (100, 250)


def test_audio_can_be_played(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_audio("tone", torch.sin(torch.arange(800.0)), 1, sample_rate=8000)
        with pytest.warns(UserWarning, match="audio amplitude out of range"):
            writer.add_audio("loud", torch.ones(10) * 2)
    (tone,) = load(tmp_path).Audio("tone")
    assert (tone.sample_rate, tone.length_frames, tone.content_type) == (8000, 800, "audio/wav")


def test_mesh(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_mesh("cube", torch.rand(1, 8, 3), torch.rand(1, 8, 3) * 255)
        with pytest.raises(ValueError, match=r"BxNx3, but got \(8, 3\)"):
            writer.add_mesh("cube", torch.rand(8, 3))
    accumulator = load(tmp_path)
    assert set(accumulator.Tags()["tensors"]) == {"cube_VERTEX", "cube_COLOR"}
    content = accumulator.summary_metadata["cube_COLOR"].plugin_data.content
    told = MeshPluginData.FromString(content)
    assert (told.name, list(told.shape)) == ("cube", [1, 8, 3])
    assert told.components == 1 << MeshPluginData.VERTEX | 1 << MeshPluginData.COLOR


@pytest.mark.parametrize("dtype", ["float16", "uint8", "int8", "float64", "bool"])
def test_tensor(tmp_path: Path, dtype: str) -> None:
    given = torch.arange(6).reshape(2, 3).to(getattr(torch, dtype))
    with SummaryWriter(tmp_path) as writer:
        writer.add_tensor("t", given.t(), 1)
    (point,) = load(tmp_path).Tensors("t")
    found = make_ndarray(point.tensor_proto)
    assert found.dtype == dtype
    assert np.array_equal(found, given.t().numpy())


def test_tensor_of_texts_is_refused(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer, pytest.raises(ValueError, match="t has unsupported"):
        writer.add_tensor("t", np.array(["a"]))


def test_images_that_cannot_be(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        with pytest.raises(ValueError, match="dataformats='CXY' is not an order of"):
            writer.add_image("x", torch.rand(3, 3, 3), dataformats="CXY")
        with pytest.raises(AssertionError, match=r"3 channels, got shape \(2, 5, 4, 4\)"):
            writer.add_images("x", torch.rand(2, 5, 4, 4))


def test_labels_of_boxes_are_drawn(tmp_path: Path) -> None:
    black, boxes = torch.zeros(3, 60, 80), torch.tensor([[5.0, 5, 30, 40], [20, 10, 70, 50]])
    with SummaryWriter(tmp_path) as writer:
        for tag, labels in (("plain", None), ("named", ["cat", "dog"]), ("too few", ["cat"])):
            writer.add_image_with_boxes(tag, black, boxes, labels=labels)
    accumulator = load(tmp_path)
    plain, named, too_few = (
        np.array(Image.open(io.BytesIO(accumulator.Images(tag)[0].encoded_image_string)))
        for tag in ("plain", "named", "too few")
    )
    assert (plain[20, 5] == [255, 0, 0]).all()
    assert (named != plain).any()
    assert (too_few == plain).all()


def test_embeddings_of_equal_names_replace_each_other(tmp_path: Path) -> None:
    from google.protobuf import text_format

    points = torch.rand(4, 3)
    for rows in (points, points * 2):
        with SummaryWriter(tmp_path) as writer:
            writer.add_embedding(rows, ["a", "b", "c", "d"], torch.rand(4, 1, 5, 5), 3, 'my "set"')
    with SummaryWriter(tmp_path) as writer:
        writer.add_embedding(points.numpy())
    config = text_format.Parse(
        (tmp_path / "projector_config.pbtxt").read_text("utf-8"), ProjectorConfig()
    )
    assert [e.tensor_name for e in config.embeddings] == ['my "set":00003', "default:00000"]
    first = config.embeddings[0]
    assert np.allclose(np.loadtxt(tmp_path / first.tensor_path), (points * 2).numpy())
    assert list(first.sprite.single_image_dim) == [5, 5]
    with Image.open(tmp_path / first.sprite.image_path) as sprite:
        assert sprite.size == (10, 10)


def test_too_many_pictures_of_points(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer, pytest.raises(ValueError, match="more than TensorB"):
        writer.add_embedding(torch.rand(4, 2), label_img=np.zeros((4, 1, 5000, 5000), np.uint8))


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
