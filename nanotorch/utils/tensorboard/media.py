"""What is to be looked at: images and figures."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nanotorch._core.tensor import Tensor
from nanotorch.utils.tensorboard import pictures
from nanotorch.utils.tensorboard.output import Output, array_of
from nanotorch.utils.tensorboard.protos import protos

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike


class Media(Output):
    """The part of a writer that writes pictures."""

    def add_image(
        self,
        tag: str,
        img_tensor: "Tensor | ArrayLike",
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
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
        pixels = pictures.colours(pictures.arranged(array_of(img_tensor), dataformats))
        self._add_picture(tag, pixels, pictures.png(pixels), global_step, walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: "Tensor | ArrayLike",
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Add a batch of images, drawn as a grid."""
        self.add_image(tag, img_tensor, global_step, walltime, dataformats)

    def add_image_with_boxes(
        self,
        tag: str,
        img_tensor: "Tensor | ArrayLike",
        box_tensor: "Tensor | ArrayLike",
        global_step: int | None = None,
        walltime: float | None = None,
        rescale: float = 1,
        dataformats: str = "CHW",
        labels: str | Sequence[str] | None = None,
    ) -> None:
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
        pixels = pictures.colours(pictures.arranged(array_of(img_tensor), dataformats))
        content = pictures.png(pixels, rescale, boxes, texts)
        self._add_picture(tag, pixels, content, global_step, walltime)

    def add_figure(
        self,
        tag: str,
        figure: "Figure | list[Figure]",
        global_step: int | None = None,
        close: bool = True,
        walltime: float | None = None,
    ) -> None:
        """Add a matplotlib figure, or several of one size as a grid, and `close` it."""
        drawn = pictures.figure_pixels(figure, close)
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
