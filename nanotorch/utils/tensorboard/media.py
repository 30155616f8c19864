"""What is to be looked at and listened to: images, figures, videos, sounds, meshes."""

import io
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nanotorch._core.tensor import Tensor
from nanotorch._core.warned import warn
from nanotorch.utils.tensorboard import pictures
from nanotorch.utils.tensorboard.output import Output, array_of, metadata, shape_proto
from nanotorch.utils.tensorboard.protos import protos
from nanotorch.utils.tensorboard.run_metadata import field

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

COMPONENTS = 7  # the field of `MeshPluginData` that tensorboardX does not know
KINDS = {"VERTEX": 1, "FACE": 2, "COLOR": 3}


class Media(Output):
    """The part of a writer that writes pictures and sounds."""

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

    def add_video(
        self,
        tag: str,
        vid_tensor: "Tensor | ArrayLike",
        global_step: int | None = None,
        fps: float = 4,
        walltime: float | None = None,
    ) -> None:
        """Add a video, shown among the images; several are shown side by side.

        Args:
            tag: the video's name.
            vid_tensor: (N, T, C, H, W), bytes or floating-point values from 0 to 1.
            global_step: where the video stands on the time axis.
            fps: frames per second.
            walltime: seconds since the epoch, now if not given.

        Raises:
            ValueError: for another number of dimensions.
        """
        videos = array_of(vid_tensor)
        if videos.ndim != 5:
            raise ValueError(f"a video has the shape (N, T, C, H, W), got {videos.shape}")
        frames = pictures.film(pictures.colours(videos))
        content = pictures.gif(frames, fps)
        self._add_picture(tag, frames[0], content, global_step, walltime)

    def _add_picture(
        self, tag: str, pixels: Any, content: bytes, step: int | None, walltime: float | None
    ) -> None:
        p = protos()
        height, width, channels = pixels.shape
        image = p.Summary.Image(
            height=height, width=width, colorspace=channels, encoded_image_string=content
        )
        self._add_values([p.Summary.Value(tag=tag, image=image)], step, walltime)

    def add_audio(
        self,
        tag: str,
        snd_tensor: "Tensor | ArrayLike",
        global_step: int | None = None,
        sample_rate: int = 44100,
        walltime: float | None = None,
    ) -> None:
        """Add a sound.

        Args:
            tag: the sound's name.
            snd_tensor: the amplitudes, from -1 to 1; dimensions of size 1 do not count.
            global_step: where the sound stands on the time axis.
            sample_rate: amplitudes per second.
            walltime: seconds since the epoch, now if not given.

        Raises:
            AssertionError: for more than one dimension.

        Warns:
            UserWarning: if amplitudes are out of range; they are clipped.
        """
        import wave

        sound = array_of(snd_tensor).squeeze()
        if sound.ndim != 1:
            raise AssertionError("input tensor should be 1 dimensional.")
        if sound.size and abs(sound).max() > 1:
            warn("audio amplitude out of range, auto clipped.")
            sound = sound.clip(-1, 1)
        content = io.BytesIO()
        with wave.open(content, "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(sample_rate)
            file.writeframes((sound * np.iinfo(np.int16).max).astype("<i2").tobytes())
        p = protos()
        audio = p.Summary.Audio(
            sample_rate=sample_rate,
            num_channels=1,
            length_frames=len(sound),
            encoded_audio_string=content.getvalue(),
            content_type="audio/wav",
        )
        self._add_values([p.Summary.Value(tag=tag, audio=audio)], global_step, walltime)

    def add_mesh(
        self,
        tag: str,
        vertices: "Tensor | ArrayLike",
        colors: "Tensor | ArrayLike | None" = None,
        faces: "Tensor | ArrayLike | None" = None,
        config_dict: dict[str, Any] | None = None,
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Add a mesh, or without faces a cloud of points, in three dimensions.

        Args:
            tag: its name.
            vertices: (B, N, 3), the coordinates.
            colors: (B, N, 3), from 0 to 255.
            faces: (B, M, 3), the numbers of each triangle's corners.
            config_dict: settings of three.js: its classes and their arguments.
            global_step: where the mesh stands on the time axis.
            walltime: seconds since the epoch, now if not given.

        Raises:
            ValueError: for another number of dimensions.
        """
        given = {"VERTEX": vertices, "FACE": faces, "COLOR": colors}
        parts = {kind: array_of(part) for kind, part in given.items() if part is not None}
        components = sum(1 << KINDS[kind] for kind in parts)
        config = json.dumps(config_dict or {}, sort_keys=True)
        p, values = protos(), []
        for kind, part in parts.items():
            if part.ndim != 3:
                raise ValueError(f"Tensor shape should be of shape BxNx3, but got {part.shape}.")
            plugin = p.MeshPluginData(
                name=tag, content_type=KINDS[kind], shape=part.shape, json_config=config
            )
            content = plugin.SerializeToString() + field(COMPONENTS, components)
            tensor = p.TensorProto(
                dtype="DT_FLOAT",
                float_val=part.ravel().tolist(),
                tensor_shape=shape_proto(part.shape),
            )
            name = f"{tag}_{kind}"
            values.append(
                p.Summary.Value(tag=name, tensor=tensor, metadata=metadata("mesh", content))
            )
        self._add_values(values, global_step, walltime)
