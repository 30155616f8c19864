"""Pictures, figures, hyperparameters and text for TensorBoard."""

import io
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nanotorch._core.tensor import Tensor
from nanotorch.utils.tensorboard.files import Output, array_of, metadata, number_of, protos

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from nanotorch.utils.tensorboard.files import Values


# Arrays as pictures: PNG and GIF files in memory, by Pillow.


Array = np.ndarray[Any, np.dtype[Any]]
COLOUR, THICKNESS = "Red", 2  # of the boxes that are drawn into pictures


def colours(pixels: Array) -> Array:
    """Pixels as bytes: what are no bytes are numbers from 0 to 1; others are clipped."""
    if pixels.dtype == np.uint8:
        return pixels
    return (pixels.astype(np.float32) * 255).clip(0, 255).astype(np.uint8)


def arranged(pixels: Array, dataformats: str) -> Array:
    """Pixels in the order (height, width, channels), a batch of pictures as a grid.

    Args:
        dataformats: the meaning of the dimensions: letters of `NCHW` or of a part of it.
    """
    letters = dataformats.upper()
    if len(set(letters)) != len(letters):
        raise AssertionError(
            f"You can not use the same dimension shorthand twice. input_format: {dataformats}"
        )
    if pixels.ndim != len(letters):
        raise AssertionError(
            "size of input tensor and input format are different. tensor shape: "
            f"{pixels.shape}, input_format: {dataformats}"
        )
    wanted = {"NCHW": "NCHW", "CHW": "HWC", "HW": "HW"}
    order = next((to for given, to in wanted.items() if set(given) == set(letters)), None)
    if order is None:
        raise ValueError(f"dataformats={dataformats!r} is not an order of NCHW, CHW or HW")
    pixels = pixels.transpose([letters.index(letter) for letter in order])
    if order == "NCHW":
        return grid(pixels, 8)
    if order == "HW":
        pixels = pixels[:, :, np.newaxis]
    return np.repeat(pixels, 3, axis=2) if pixels.shape[2] == 1 else pixels


def grid(pictures: Array, columns: int) -> Array:
    """Several pictures, (N, C, H, W), as one, (height, width, C), row by row."""
    if pictures.ndim != 4 or pictures.shape[1] not in (1, 3, 4):
        raise AssertionError(
            f"Input should be a 4D numpy array with 3 channels, got shape {pictures.shape}"
        )
    if pictures.shape[1] == 1:
        pictures = np.repeat(pictures, 3, axis=1)
    count, channels, height, width = pictures.shape
    columns = max(1, min(count, columns))
    rows = math.ceil(count / columns)
    places = np.zeros((rows * columns, channels, height, width), pictures.dtype)
    places[:count] = pictures
    parted = places.reshape(rows, columns, channels, height, width)
    return parted.transpose(0, 3, 1, 4, 2).reshape(rows * height, columns * width, channels)


def png(
    pixels: Array, rescale: float = 1, boxes: Array | None = None, labels: Sequence[str] = ()
) -> bytes:
    """Pixels, (height, width, channels), as a PNG file.

    Args:
        rescale: the factor by which the picture is enlarged.
        boxes: corners (left, top, right, bottom) of rectangles to be drawn, (N, 4).
        labels: a text for each of them, or none.
    """
    from PIL import Image

    picture = Image.fromarray(pixels)
    for number, box in enumerate([] if boxes is None else boxes):
        draw_box(picture, box, labels[number] if labels else "")
    if rescale != 1:
        height, width = pixels.shape[:2]
        size = (int(width * rescale), int(height * rescale))
        picture = picture.resize(size, Image.Resampling.LANCZOS)
    content = io.BytesIO()
    picture.save(content, format="PNG")
    return content.getvalue()


def draw_box(picture: Any, box: Array, text: str) -> None:
    """Draw a rectangle into a picture, with a text at its foot."""
    from PIL import ImageDraw, ImageFont

    draw, font = ImageDraw.Draw(picture), ImageFont.load_default()
    left, top, right, bottom = (float(edge) for edge in box)
    corners = [(left, top), (left, bottom), (right, bottom), (right, top), (left, top)]
    draw.line(corners, width=THICKNESS, fill=COLOUR)
    if text:
        start, above, end, below = font.getbbox(text)
        width, height = end - start, below - above
        margin = math.ceil(0.05 * height)
        draw.rectangle([(left, bottom - height - 2 * margin), (left + width, bottom)], fill=COLOUR)
        draw.text((left + margin, bottom - height - margin), text, fill="black", font=font)


def figure_pixels(figures: Any, close: bool) -> Array:
    """Matplotlib figures, drawn: (height, width, 3), or of a list of them (N, height, width, 3).

    Args:
        close: whether to close them.
    """
    from matplotlib import pyplot
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    drawn = []
    for figure in figures if isinstance(figures, list) else [figures]:
        canvas = FigureCanvasAgg(figure)
        canvas.draw()  # type: ignore[no-untyped-call]
        drawn.append(np.array(canvas.buffer_rgba())[:, :, :3])  # type: ignore[no-untyped-call]
        if close:
            pyplot.close(figure)
    return np.stack(drawn) if isinstance(figures, list) else drawn[0]


# What is to be looked at: images and figures.


class Media(Output):
    """The part of a writer that writes pictures."""

    def add_image(
        self, tag: str, img_tensor: "Values", global_step: int | None = None,
        walltime: float | None = None, dataformats: str = "CHW",
    ) -> None:  # fmt: skip
        """Add an image: bytes from 0 to 255, or floating-point values from 0 to 1.

        Args:
            tag: the image's name.
            img_tensor: the pixels; 1, 3 or 4 channels.
            global_step: where the image stands on the time axis.
            walltime: seconds since the epoch, now if not given.
            dataformats: the meaning of the dimensions: `CHW`, `HWC`, `HW`, or with `N` a batch,
                drawn as a grid.

        Raises:
            AssertionError: if `dataformats` does not fit the shape.
        """
        pixels = colours(arranged(array_of(img_tensor), dataformats))
        self._add_picture(tag, pixels, png(pixels), global_step, walltime)

    def add_images(
        self, tag: str, img_tensor: "Values", global_step: int | None = None,
        walltime: float | None = None, dataformats: str = "NCHW",
    ) -> None:  # fmt: skip
        """Add a batch of images, drawn as a grid."""
        self.add_image(tag, img_tensor, global_step, walltime, dataformats)

    def add_image_with_boxes(
        self, tag: str, img_tensor: "Values", box_tensor: "Values", global_step: int | None = None,
        walltime: float | None = None, rescale: float = 1, dataformats: str = "CHW",
        labels: str | Sequence[str] | None = None,
    ) -> None:  # fmt: skip
        """Add an image with rectangles drawn into it.

        Args:
            tag: the image's name.
            img_tensor: the pixels, as for `add_image`.
            box_tensor: (N, 4): the left, top, right and bottom edge of each rectangle.
            global_step: where the image stands on the time axis.
            walltime: seconds since the epoch, now if not given.
            rescale: the factor by which the image is enlarged.
            dataformats: the meaning of the dimensions, as for `add_image`.
            labels: a text for each rectangle; another number of them is ignored.
        """
        boxes = array_of(box_tensor)
        texts = [labels] if isinstance(labels, str) else list(labels or ())
        texts = texts if len(texts) == len(boxes) else []
        pixels = colours(arranged(array_of(img_tensor), dataformats))
        content = png(pixels, rescale, boxes, texts)
        self._add_picture(tag, pixels, content, global_step, walltime)

    def add_figure(
        self, tag: str, figure: "Figure | list[Figure]", global_step: int | None = None,
        close: bool = True, walltime: float | None = None,
    ) -> None:  # fmt: skip
        """Add a matplotlib figure, or several of one size as a grid, and `close` it."""
        drawn = figure_pixels(figure, close)
        dataformats = "NHWC" if isinstance(figure, list) else "HWC"
        self.add_image(tag, drawn, global_step, walltime, dataformats)

    def _add_picture(
        self, tag: str, pixels: Any, content: bytes, step: int | None, walltime: float | None
    ) -> None:
        p = protos()
        height, width, channels = pixels.shape
        image = p.Summary.Image(
            height=height, width=width, colorspace=channels, encoded_image_string=content
        )
        self._add_values([p.Summary.Value(tag=tag, image=image)], step, walltime)


# Summaries for TensorBoard's table of hyperparameters and metrics.


Value = bool | float | str
TYPES = {bool: "BOOL", float: "FLOAT64", str: "STRING"}
FIELDS = {bool: "bool_value", float: "number_value", str: "string_value"}


def plain(value: Any) -> Value:
    """A hyperparameter as the table can hold it: a bool, a number, or else a text."""
    if isinstance(value, bool | str):
        return value
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, Tensor) and value.numel() == 1:
        return number_of(value)
    return str(value)


def hparams(
    values: Mapping[str, Any], metrics: Iterable[str], domains: Mapping[str, Any] | None = None
) -> list[Any]:
    """The summaries of a row: of the experiment, of its start and of its end.

    Args:
        values: the hyperparameters; None is left out.
        metrics: the tags of the curves whose last values are shown.
        domains: all values that a hyperparameter may take, for the page's filters.
    """
    p = protos()
    start, infos = p.SessionStartInfo(), []
    for name, domain in (domains or {}).items():
        if not (
            name in values
            and isinstance(domain, list)
            and all(isinstance(value, type(values[name])) for value in domain)
        ):
            raise TypeError(
                f"parameter: hparam_domain_discrete[{name}] should be a list of same type as "
                f"hparam_dict[{name}]."
            )
    for name, given in values.items():
        if given is None:
            continue
        value = plain(given)
        kind = type(value)
        setattr(start.hparams[name], FIELDS[kind], value)
        info = p.HParamInfo(name=name, type=p.HParamType.Value(f"DATA_TYPE_{TYPES[kind]}"))
        for other in (domains or {}).get(name, ()):
            setattr(info.domain_discrete.values.add(), FIELDS[kind], plain(other))
        infos.append(info)
    told = [p.MetricInfo(name=p.MetricName(tag=tag)) for tag in metrics]
    experiment = p.Experiment(hparam_infos=infos, metric_infos=told)
    end = p.SessionEndInfo(status=p.SessionStatus.Value("STATUS_SUCCESS"))
    parts = {"experiment": experiment, "session_start_info": start, "session_end_info": end}
    return [summary(name, p.HParamsPluginData(**{name: part})) for name, part in parts.items()]


def summary(name: str, content: Any) -> Any:
    """One of the summaries of a row."""
    p = protos()
    data = metadata("hparams", content.SerializeToString())
    return p.Summary(value=[p.Summary.Value(tag=f"_hparams_/{name}", metadata=data)])
