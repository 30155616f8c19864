"""What a writer writes of each kind, as TensorBoard's messages, and what it refuses."""

import importlib
import inspect
import io
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.answers import raised
from tests.utils.tensorboard.records import events


def _writer(torch: Any, directory: str) -> Any:
    module = importlib.import_module(f"{torch.__name__}.utils.tensorboard")
    return module.SummaryWriter(directory)


def _written(torch: Any, add: Callable[[Any], None], below: str = "") -> list[str]:
    """The summaries of the events, in protobuf's text format, pictures as their pixels."""
    with tempfile.TemporaryDirectory() as directory, warnings.catch_warnings(action="ignore"):
        writer = _writer(torch, directory)
        add(writer)
        writer.close()
        found = [event for event in events(Path(directory, below)) if event.summary.value]
    return [
        f"step: {event.step}\n{_told(value)}" for event in found for value in event.summary.value
    ]


def _told(value: Any) -> str:
    if value.HasField("image"):
        from PIL import Image

        pixels = np.array(Image.open(io.BytesIO(value.image.encoded_image_string)))
        sums = [pixels.astype(int).sum(axis).ravel().tolist() for axis in ((0, 1), (1, 2), (0, 2))]
        value.image.encoded_image_string = f"{pixels.shape} {sums}".encode()
    return str(value)


def curves(torch: Any) -> Any:
    def add(writer: Any) -> None:
        writer.add_scalar("a", 1.5, 3)
        writer.add_scalar("b/c d", torch.tensor(2.5), 3, new_style=True)
        writer.add_scalar("c", 0.1, 3, new_style=True, double_precision=True)
        writer.add_text("text", "hi ∂", 1)

    return _written(torch, add)


def histograms(torch: Any) -> Any:
    values = torch.arange(40.0).sub(17).pow(3) / 1000

    def add(writer: Any) -> None:
        writer.add_histogram("usual", values, 1)
        writer.add_histogram("auto", values, bins="auto")
        writer.add_histogram("joined", values, max_bins=7, bins=list(range(-10, 30)))
        writer.add_histogram("integers", torch.arange(5))

    return _written(torch, add)


def precision_and_recall(torch: Any) -> Any:
    truth, scores = torch.arange(20) % 3 == 0, torch.arange(20.0) * 7 % 20 / 20
    weights = (torch.arange(20.0) % 5).numpy()

    def add(writer: Any) -> None:
        writer.add_pr_curve("usual", truth.long(), scores, 2, num_thresholds=11)
        writer.add_pr_curve("fine", truth.long(), scores, 2, num_thresholds=500, weights=weights)

    return _written(torch, add)


def pictures(torch: Any) -> Any:
    picture = torch.arange(3 * 7 * 9).reshape(3, 7, 9) / 150 - 0.1
    several = torch.arange(11 * 4 * 5).reshape(11, 1, 4, 5) / 220

    def add(writer: Any) -> None:
        writer.add_image("colour", picture, 1)
        writer.add_image("grey", picture[:1])
        writer.add_image("bytes", (picture * 100).clamp(0).to(torch.uint8))
        writer.add_image("HWC", picture.permute(1, 2, 0), dataformats="HWC")
        writer.add_image("HW", picture[0], dataformats="HW")
        writer.add_image("WH", picture[0], dataformats="WH")
        writer.add_images("grid", several)
        writer.add_images("NHWC", several.permute(0, 2, 3, 1), dataformats="NHWC")

    return _written(torch, add)


def charts(torch: Any) -> Any:
    def add(writer: Any) -> None:
        kinds = {"x": ["Multiline", ["a", "b"]], "y": ["Margin", ["a", "b", "c"]]}
        writer.add_custom_scalars({"A": kinds})

    return _written(torch, add)


def hyperparameters(torch: Any) -> Any:
    def add(writer: Any) -> None:
        values = {"lr": 0.1, "name": "x", "none": None}
        domains = {"lr": [0.1, 0.2], "name": ["x", "y"]}
        writer.add_hparams(values, {"m": 1.0, "n": 2}, domains, "trial", 4)

    # The order in which a message of several hyperparameters is written is not defined.
    found = _written(torch, add, "trial")
    return [text for text in found if "session_start_info" not in text]


def signatures(torch: Any) -> Any:
    writer = importlib.import_module(f"{torch.__name__}.utils.tensorboard").SummaryWriter
    names = ["__init__", "flush", "close", "get_logdir"]
    names += ["add_" + kind for kind in (
        "scalar", "scalars", "histogram", "image", "images", "figure", "text", "graph", "pr_curve",
        "custom_scalars", "hparams",
    )]  # fmt: skip
    return {
        name: [[p.name, p.default if p.default is not p.empty else ""] for p in parameters]
        for name in names
        if (parameters := inspect.signature(getattr(writer, name)).parameters.values())
    }


def refusals(torch: Any) -> Any:
    picture = torch.rand(3, 3, 3)
    with tempfile.TemporaryDirectory() as directory, warnings.catch_warnings(action="ignore"):
        w = _writer(torch, directory)
        answers = [
            raised(w.add_custom_scalars, {"c": {"d": ["Margin", ["a"]]}}),
            raised(w.add_hparams, 1, {}), raised(w.add_hparams, {"a": 1}, {}, {"a": ["x"]}),
            raised(w.add_hparams, {"a": 1}, {}, {"b": [1]}),
            " ".join(raised(w.add_image, "x", picture[0]).split()),
            " ".join(raised(w.add_image, "x", picture, dataformats="CCH").split()),
        ]  # fmt: skip
        w.close()
    return answers
