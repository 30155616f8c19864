"""`SummaryWriter`, with PyTorch's interface."""

import functools
import os
import socket
from collections.abc import Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from nanotorch._core.tensor import Tensor
from nanotorch.utils.tensorboard.events import EventFile
from nanotorch.utils.tensorboard.graph import GraphBuilder
from nanotorch.utils.tensorboard.protos import protos
from nanotorch.utils.tensorboard.trace import trace

if TYPE_CHECKING:
    from typing import Self

    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

    from nanotorch.nn.module import Module


class SummaryWriter:
    """Writes events for TensorBoard to files in a run's directory.

    Values may be tensors, arrays or numbers. Writing happens in the caller's thread: after
    `flush` everything added is on the disk, and nothing has to be stopped at exit.

    Args:
        log_dir: the run's directory, `runs/<date>_<time>_<host><comment>` if not given. A
            relative path with several parts groups runs in TensorBoard.
        comment: the end of the directory's name if `log_dir` is not given.
        purge_step: the step from which a resumed run goes on in the same directory; what was
            written for it and for later steps is hidden.
        max_queue: accepted for compatibility; there is no queue.
        flush_secs: the longest time an event stays in memory while others follow it.
        filename_suffix: the end of the event files' names.

    Example:
        >>> with SummaryWriter("runs/line") as writer:
        ...     for step in range(100):
        ...         writer.add_scalar("loss/train", 1 / (1 + step), step)
    """

    def __init__(
        self,
        log_dir: str | os.PathLike[str] | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
    ) -> None:
        if not log_dir:
            now = datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")  # noqa: PTH118 - PyTorch's `log_dir` is a string
        self.log_dir = os.fspath(log_dir)
        self._flush_secs = flush_secs
        self._suffix = filename_suffix
        self._files: dict[str, EventFile] = {}
        self._scalar_tags: set[str] = set()
        file = self._file()
        if purge_step is not None:
            log = protos().SessionLog(status=protos().SessionLog.START)
            file.add(protos().Event(file_version="brain.Event:2"), purge_step)
            file.add(protos().Event(session_log=log), purge_step)

    def get_logdir(self) -> str:
        """Return the run's directory."""
        return self.log_dir

    def add_scalar(
        self,
        tag: str,
        scalar_value: "Tensor | ArrayLike",
        global_step: int | None = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """Add a point to the curve `tag`.

        Args:
            tag: the curve's name; what stands before a `/` groups curves.
            scalar_value: a number, or a tensor or array of one element.
            global_step: the point's abscissa.
            walltime: seconds since the epoch, now if not given.
            new_style: store the value as a tensor instead of a plain number.
            double_precision: with `new_style`, store 64 bits instead of 32.
        """
        value = _number(scalar_value)
        self._scalar_tags.add(tag)
        self._add_summary(_scalar(tag, value, new_style, double_precision), global_step, walltime)

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: "Mapping[str, Tensor | ArrayLike]",
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Add a point to each of several curves that are drawn in one chart.

        TensorBoard overlays curves of equal tags from different runs. So each key becomes a run
        in a subdirectory, as in PyTorch.
        """
        for tag, value in tag_scalar_dict.items():
            file = self._file(f"{main_tag.replace('/', '_')}_{tag}")
            event = protos().Event(summary=_scalar(main_tag, _number(value)))
            file.add(event, global_step, walltime)

    def add_histogram(
        self,
        tag: str,
        values: "Tensor | ArrayLike",
        global_step: int | None = None,
        bins: str | Sequence[float] = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """Add a histogram of all elements of `values`.

        Args:
            tag: the histogram's name.
            values: a tensor or array of any shape.
            global_step: where the histogram stands on the time axis.
            bins: `"tensorflow"` for exponential bins on both sides of zero; else what
                `numpy.histogram` accepts.
            walltime: seconds since the epoch, now if not given.
            max_bins: join neighbouring bins down to about this number.

        Raises:
            ValueError: if no value is finite.
        """
        array = _array(values).astype(np.float64).ravel()
        finite = array[np.isfinite(array)]  # a diverging run is still to be seen
        if finite.size == 0:
            raise ValueError(f"add_histogram({tag!r}): none of the {array.size} values is finite")
        edges = _exponential_bins() if bins == "tensorflow" else bins
        self._add_summary(
            protos().summary.histogram(tag, finite, edges, max_bins), global_step, walltime, tag
        )

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
        """
        image = protos().summary.image(tag, _array(img_tensor), dataformats=dataformats)
        self._add_summary(image, global_step, walltime, tag)

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

    def add_figure(
        self,
        tag: str,
        figure: "Figure | list[Figure]",
        global_step: int | None = None,
        close: bool = True,
        walltime: float | None = None,
    ) -> None:
        """Add a matplotlib figure, or several of one size as a grid, and `close` it."""
        pixels = protos().figure_to_image(figure, close)
        dataformats = "NCHW" if isinstance(figure, list) else "CHW"
        self.add_image(tag, pixels, global_step, walltime, dataformats)

    def add_text(
        self,
        tag: str,
        text_string: str,
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Add a text, shown as Markdown."""
        self._add_summary(protos().summary.text(tag, text_string), global_step, walltime)

    def add_pr_curve(
        self,
        tag: str,
        labels: "Tensor | ArrayLike",
        predictions: "Tensor | ArrayLike",
        global_step: int | None = None,
        num_thresholds: int = 127,
        weights: "Tensor | ArrayLike | None" = None,
        walltime: float | None = None,
    ) -> None:
        """Add a precision-recall curve of binary `labels` and predicted probabilities."""
        curve = protos().summary.pr_curve(
            tag,
            _array(labels),
            _array(predictions),
            num_thresholds,
            None if weights is None else _array(weights),
        )
        self._add_summary(curve, global_step, walltime)

    def add_graph(
        self,
        model: "Module",
        input_to_model: "Tensor | Sequence[Any] | None" = None,
        verbose: bool = False,
        use_strict_trace: bool = True,
    ) -> None:
        """Add the graph of a model, with a box for each of its modules.

        The model runs twice, in evaluation mode, and is left as it was. The time and memory of its
        operations are stored too: on the page, choose the tag `forward`, then *Profile*.

        Args:
            model: the model; a run shows one graph, the last.
            input_to_model: the argument of its `forward`, or a sequence of several.
            verbose: also print the graph, a line for each node.
            use_strict_trace: accepted for compatibility; any container may be returned.
        """
        arguments = () if input_to_model is None else input_to_model
        arguments = (arguments,) if isinstance(arguments, Tensor) else tuple(arguments)
        builder = GraphBuilder(model, trace(model, arguments))
        p, file, graph = protos(), self._file(), builder.graph_def()
        file.add(p.Event(graph_def=graph.SerializeToString()))
        run = p.TaggedRunMetadata(tag="forward", run_metadata=builder.profile())
        file.add(p.Event(tagged_run_metadata=run))
        if verbose:
            for node in graph.node:
                print(f"{node.name} = {node.op}({', '.join(node.input)})")

    def add_hparams(
        self,
        hparam_dict: Mapping[str, Any],
        metric_dict: "Mapping[str, Tensor | ArrayLike]",
        hparam_domain_discrete: Mapping[str, Sequence[Any]] | None = None,
        run_name: str | None = None,
        global_step: int | None = None,
    ) -> None:
        """Add a row to the table of hyperparameters and final metrics.

        PyTorch makes a run of its own out of the row, away from the curves it belongs to. Here
        the row is the run itself unless `run_name` is given; a metric named like a curve shows
        the curve's last value, any other metric becomes a curve of one point.

        Args:
            hparam_dict: numbers, booleans and strings; other values are shown as their `str`.
            metric_dict: the metrics' values.
            hparam_domain_discrete: accepted for compatibility; the table offers the values that
                occur.
            run_name: the subdirectory of a separate run.
            global_step: the abscissa of metrics that have no curve.
        """
        hparams = {
            name: value if isinstance(value, bool | int | float | str) else str(value)
            for name, value in hparam_dict.items()
        }
        metrics = {tag: _number(value) for tag, value in metric_dict.items()}
        file = self._file(run_name or "")
        for summary in protos().summary.hparams(hparams, metrics):
            file.add(protos().Event(summary=summary), global_step)
        known = set() if run_name else self._scalar_tags
        for tag in metrics.keys() - known:
            file.add(protos().Event(summary=_scalar(tag, metrics[tag])), global_step)

    def flush(self) -> None:
        """Return when everything added is on the disk."""
        for file in self._files.values():
            file.flush()

    def close(self) -> None:
        """Flush and close the files; adding afterwards opens new ones."""
        for file in self._files.values():
            file.close()
        self._files.clear()

    def __enter__(self) -> "Self":
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _file(self, subdirectory: str = "") -> EventFile:
        if subdirectory not in self._files:
            path = f"{self.log_dir}/{subdirectory}" if subdirectory else self.log_dir
            self._files[subdirectory] = EventFile(path, self._suffix, self._flush_secs)
        return self._files[subdirectory]

    def _add_summary(
        self, summary: Any, step: int | None, walltime: float | None, tag: str | None = None
    ) -> None:
        if tag is not None:  # tensorboardX replaces characters that TensorBoard shows well
            summary.value[0].tag = tag
        self._file().add(protos().Event(summary=summary), step, walltime)


def _array(value: "Tensor | ArrayLike") -> np.ndarray[Any, np.dtype[Any]]:
    # tensorboardX takes any type with "torch" in its name for PyTorch's, nanotorch's included.
    return value.detach().numpy() if isinstance(value, Tensor) else np.asarray(value)


def _number(value: "Tensor | ArrayLike") -> float:
    array = _array(value)
    if array.size != 1:
        raise ValueError(f"a scalar has one element, got shape {array.shape}")
    return float(array.item())


def _scalar(tag: str, value: float, new_style: bool = False, double: bool = False) -> Any:
    p = protos()
    if not new_style:
        return p.Summary(value=[p.Summary.Value(tag=tag, simple_value=value)])
    if double:
        tensor = p.TensorProto(double_val=[value], dtype="DT_DOUBLE")
    else:
        tensor = p.TensorProto(float_val=[value], dtype="DT_FLOAT")
    plugin = p.SummaryMetadata.PluginData(plugin_name="scalars")
    metadata = p.SummaryMetadata(plugin_data=plugin)
    return p.Summary(value=[p.Summary.Value(tag=tag, tensor=tensor, metadata=metadata)])


@functools.cache
def _exponential_bins() -> tuple[float, ...]:
    """Return edges that grow by a tenth from 1e-12 to 1e20, both ways from zero."""
    positive, edge = [], 1e-12
    while edge < 1e20:
        positive.append(edge)
        edge *= 1.1
    return (*(-edge for edge in reversed(positive)), 0.0, *positive)
