"""Points in many dimensions, for TensorBoard's projector, which reads them from files."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nanotorch._core.tensor import Tensor
from nanotorch.utils.tensorboard.output import Output, array_of
from nanotorch.utils.tensorboard.pictures import sprite

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

CONFIG = "projector_config.pbtxt"
LARGEST = 8192  # pixels of a sprite's side that TensorBoard shows


class Projector(Output):
    """The part of a writer that writes embeddings."""

    def add_embedding(
        self,
        mat: "Tensor | ArrayLike",
        metadata: Sequence[Any] | None = None,
        label_img: "Tensor | ArrayLike | None" = None,
        global_step: int | None = None,
        tag: str = "default",
        metadata_header: Sequence[Any] | None = None,
    ) -> None:
        """Add points to the projector.

        Args:
            mat: (N, D), a row for each point.
            metadata: a label for each point, or several, with `metadata_header`.
            label_img: (N, C, H, W), a picture for each point, square for TensorBoard.
            global_step: the number of the directory that holds the files; 0 if not given.
            tag: the points' name; those of equal tags and steps replace each other.
            metadata_header: the names of several labels.

        Raises:
            AssertionError: if `mat` is no matrix, or there are not as many labels, pictures or
                names as there should be.
            ValueError: if the pictures are too many or too large.
        """
        rows = array_of(mat)
        if metadata is not None and len(rows) != len(metadata):
            raise AssertionError("#labels should equal with #data points")
        pictures = None if label_img is None else array_of(label_img)
        if pictures is not None and len(rows) != len(pictures):
            raise AssertionError("#images should equal with #data points")
        if rows.ndim != 2:
            raise AssertionError("mat should be 2D, where mat.size(0) is the number of data points")
        step = f"{0 if global_step is None else global_step:05}"
        place = f"{step}/{encoded(tag)}"
        directory = Path(self.log_dir, place)
        directory.mkdir(parents=True, exist_ok=True)
        entry = f'tensor_name: "{quoted(tag)}:{step}"\n  tensor_path: "{quoted(place)}/tensors.tsv"'
        write_table(directory / "tensors.tsv", rows.tolist())
        if metadata is not None:
            write_labels(directory / "metadata.tsv", metadata, metadata_header)
            entry += f'\n  metadata_path: "{quoted(place)}/metadata.tsv"'
        if pictures is not None:
            height, width = pictures.shape[2:]
            if len(pictures) ** 0.5 * max(height, width) > LARGEST:
                raise ValueError(
                    f"{len(pictures)} pictures of {height} x {width} pixels are more than "
                    f"TensorBoard shows: {LARGEST} x {LARGEST} in all"
                )
            (directory / "sprite.png").write_bytes(sprite(pictures))
            entry += (
                f'\n  sprite {{\n    image_path: "{quoted(place)}/sprite.png"\n'
                f"    single_image_dim: {width}\n    single_image_dim: {height}\n  }}"
            )
        enter(Path(self.log_dir, CONFIG), entry)


def enter(config: Path, entry: str) -> None:
    """Put an entry into the projector's configuration, in the place of one of the same name."""
    text = config.read_text("utf-8") if config.exists() else ""
    name = entry.partition("\n")[0]
    blocks = [block for block in text.split("embeddings {\n") if block]
    kept = [block for block in blocks if block.strip().partition("\n")[0] != name]
    blocks = [*kept, f"  {entry}\n}}\n"]
    config.write_text("".join("embeddings {\n" + block for block in blocks), "utf-8")


def write_table(path: Path, rows: Sequence[Sequence[Any]]) -> None:
    """Write rows of values with tabs between them."""
    lines = ["\t".join(map(str, row)) + "\n" for row in rows]
    path.write_text("".join(lines), "utf-8")


def write_labels(path: Path, labels: Sequence[Any], header: Sequence[Any] | None) -> None:
    """Write the labels of points, below the names of their columns if there are several."""
    if not header:
        write_table(path, [[label] for label in labels])
        return
    if len(header) != len(labels[0]):
        raise AssertionError("len of header must be equal to the number of columns in metadata")
    write_table(path, [header, *labels])


def encoded(tag: str) -> str:
    """A tag as the name of a directory."""
    for character in "%/\\":
        tag = tag.replace(character, f"%{ord(character):02x}")
    return tag


def quoted(text: str) -> str:
    """A text within quotes, as protobuf's text format wants it."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
