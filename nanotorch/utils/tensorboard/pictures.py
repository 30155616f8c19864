"""Arrays as pictures: PNG and GIF files in memory, by Pillow."""

import io
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

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

    Raises:
        AssertionError: if a letter comes twice, or there are more or fewer of them than dimensions.
        ValueError: for other letters.
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
    """Several pictures, (N, C, H, W), as one, (height, width, C), row by row.

    Raises:
        AssertionError: for other shapes than of 1, 3 or 4 channels.
    """
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
