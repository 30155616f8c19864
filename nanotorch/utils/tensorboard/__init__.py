"""Write what TensorBoard shows: curves, histograms, images, text, and the model's graph."""

import functools
import os
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from nanotorch._core.arguments import wrong_type
from nanotorch._core.call_site import warn
from nanotorch._core.tensor import Tensor
from nanotorch.names.lookup import missing_attribute, on_demand
from nanotorch.utils.tensorboard.files import (
    EventFile,
    array_of,
    hparams,
    metadata,
    naming_arguments,
    number_of,
    pixels_of,
    protos,
)
from nanotorch.utils.tensorboard.graph import (
    BackwardGraph,
    ForwardGraph,
    Nodes,
    trace,
    watched_step,
)

if TYPE_CHECKING:
    from typing import Self

    from matplotlib.figure import Figure

    from nanotorch.nn.module import Module
    from nanotorch.utils.tensorboard.files import Values


on_demand(__name__)

__all__ = ["SummaryWriter"]

Layout = Mapping[str, Mapping[str, Sequence[Any]]]

# TensorBoard's plugin for graphs that come with the time and memory of their nodes.
PROFILED, VERSION = "graph_run_metadata", b"1"


class SummaryWriter:
    """Writes events for TensorBoard to files in a run's directory.

    Values may be tensors, arrays or numbers. Writing happens in the caller's thread: after
    `flush` everything added is on the disk, and nothing has to be stopped at exit.

    Args:
        log_dir: the run's directory, `runs/<date>_<time>_<host><comment>` if not given. A
            relative path with several parts groups runs in TensorBoard.
        comment: the end of the directory's name if `log_dir` is not given.
        purge_step: the step from which a resumed run continues in the same directory; what was
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
        self, log_dir: str | os.PathLike[str] | None = None, comment: str = "",
        purge_step: int | None = None, max_queue: int = 10, flush_secs: float = 120,
        filename_suffix: str = "",
    ) -> None:  # fmt: skip
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

    def __exit__(self, *exc: object) -> None:
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

    def add_scalar(
        self, tag: str, scalar_value: "Values", global_step: int | None = None,
        walltime: float | None = None, new_style: bool = False, double_precision: bool = False,
    ) -> None:  # fmt: skip
        """Add a point to the curve `tag`.

        Args:
            tag: the curve's name; what stands before a `/` groups curves.
            scalar_value: a number, or a tensor or array of one element.
            global_step: the point's abscissa.
            walltime: seconds since the epoch, now if not given.
            new_style: store the value as a tensor instead of a plain number.
            double_precision: with `new_style`, store 64 bits instead of 32.
        """
        value = number_of(scalar_value)
        self._scalar_tags.add(tag)
        self._add_summary(scalar(tag, value, new_style, double_precision), global_step, walltime)

    def add_scalars(
        self, main_tag: str, tag_scalar_dict: "Mapping[str, Values]",
        global_step: int | None = None, walltime: float | None = None,
    ) -> None:  # fmt: skip
        """Add a point to each of several curves that are drawn in one chart.

        TensorBoard overlays curves of equal tags from different runs. So each key becomes a run
        in a subdirectory, as in PyTorch.
        """
        for tag, value in tag_scalar_dict.items():
            file = self._file(f"{main_tag.replace('/', '_')}_{tag}")
            event = protos().Event(summary=scalar(main_tag, number_of(value)))
            file.add(event, global_step, walltime)

    def add_histogram(
        self, tag: str, values: "Values", global_step: int | None = None,
        bins: str | Sequence[float] = "tensorflow", walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:  # fmt: skip
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
        array = array_of(values).astype(np.float64).ravel()
        finite = array[np.isfinite(array)]  # a diverging run is still to be seen
        if finite.size == 0:
            raise ValueError(f"add_histogram({tag!r}): none of the {array.size} values is finite")
        edges = _exponential_bins() if bins == "tensorflow" else bins
        self._add_summary(
            protos().summary.histogram(tag, finite, edges, max_bins), global_step, walltime, tag
        )

    def add_text(
        self, tag: str, text_string: str, global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:  # fmt: skip
        """Add a text, shown as Markdown."""
        self._add_summary(protos().summary.text(tag, text_string), global_step, walltime)

    def add_pr_curve(
        self, tag: str, labels: "Values", predictions: "Values", global_step: int | None = None,
        num_thresholds: int = 127, weights: "Values | None" = None, walltime: float | None = None,
    ) -> None:  # fmt: skip
        """Add a precision-recall curve of binary `labels` and predicted probabilities."""
        rows = (array_of(labels), array_of(predictions))
        factors = None if weights is None else array_of(weights)
        sizes = [array.size for array in (*rows, factors) if array is not None]
        if len(set(sizes)) > 1:
            raise ValueError(f"add_pr_curve() takes as many predictions as labels, got {sizes}")
        curve = protos().summary.pr_curve(tag, *rows, min(num_thresholds, 127), factors)
        self._add_summary(curve, global_step, walltime, tag)

    def add_custom_scalars(self, layout: Layout) -> None:
        """Say which curves are drawn together on the page *Custom scalars*; once for a run.

        Args:
            layout: `{category: {chart: ["Multiline", tags]}}`; with `"Margin"` the three tags are
                of a curve and of the lower and upper end of its margin.

        Raises:
            AssertionError: for a margin that has not three tags.
        """
        for charts in layout.values():
            for kind, tags in charts.values():
                if kind == "Margin" and len(tags) != 3:
                    raise AssertionError("len(tags) != 3")
        self._add_summary(protos().summary.custom_scalars(layout), None, None)

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
        pixels = pixels_of(img_tensor, dataformats)
        image = protos().summary.image(tag, pixels, dataformats=dataformats)
        self._add_summary(image, global_step, walltime, tag)

    def add_images(
        self, tag: str, img_tensor: "Values", global_step: int | None = None,
        walltime: float | None = None, dataformats: str = "NCHW",
    ) -> None:  # fmt: skip
        """Add a batch of images, drawn as a grid."""
        self.add_image(tag, img_tensor, global_step, walltime, dataformats)

    def add_figure(
        self, tag: str, figure: "Figure | list[Figure]", global_step: int | None = None,
        close: bool = True, walltime: float | None = None,
    ) -> None:  # fmt: skip
        """Add a matplotlib figure, or several of one size as a grid, and `close` it."""
        from matplotlib import pyplot
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        drawn = []
        for each in figure if isinstance(figure, list) else [figure]:
            canvas = FigureCanvasAgg(each)
            canvas.draw()  # type: ignore[no-untyped-call]
            drawn.append(np.array(canvas.buffer_rgba())[:, :, :3])  # type: ignore[no-untyped-call]
            if close:
                pyplot.close(each)
        dataformats = "NHWC" if isinstance(figure, list) else "HWC"
        pixels = np.stack(drawn) if isinstance(figure, list) else drawn[0]
        self.add_image(tag, pixels, global_step, walltime, dataformats)

    def add_graph(
        self, model: "Module", input_to_model: "Tensor | Sequence[Any] | None" = None,
        verbose: bool = False, use_strict_trace: bool = True,
    ) -> None:  # fmt: skip
        """Add the graph of a model, with a box for each of its modules.

        The model and its derivative run twice, in evaluation mode, and the model is left as it
        was. The time and memory of the operations are stored too: on the page, choose the tag
        `forward` or `backward`, then *Profile*. `trace_step` shows real training steps.

        Args:
            model: the model; a run shows one graph, the last.
            input_to_model: the argument of its `forward`, or a sequence of several.
            verbose: also print the graph, a line for each node.
            use_strict_trace: accepted for compatibility; any container may be returned.

        Warns:
            UserWarning: if the derivative cannot be computed; then there is no `backward`.
        """
        arguments = () if input_to_model is None else input_to_model
        arguments = (arguments,) if isinstance(arguments, Tensor) else tuple(arguments)
        traced = trace(model, arguments)
        if traced.trouble is not None:
            warn(f"add_graph shows no backward pass: {traced.trouble}")
        forward = ForwardGraph(model, traced)
        graph = self._add_structure(forward)
        self._add_profiles(forward)
        if verbose:
            for node in graph.node:
                print(f"{node.name} = {node.op}({', '.join(node.input)})")

    def _add_structure(self, forward: ForwardGraph) -> Any:
        """Add the graph without time and memory, and return it: a run shows one, the last."""
        graph = forward.graph_def()
        self._file().add(protos().Event(graph_def=graph.SerializeToString()))
        return graph

    @contextmanager
    def trace_step(self, model: "Module", global_step: int | None = None) -> Iterator[None]:
        """Add the graphs of a training step, the block: forward and backward, as they really ran.

        The step computes what it would compute without this, in more time: its operations are
        watched one by one. Their time and memory are shown under the tags `step_<n>/forward` and
        `step_<n>/backward`. What belongs to no module of the model, as the loss, stands beside it
        under its own name.

        Args:
            model: whose modules are shown as boxes.
            global_step: the number of the step; without it, the tags have none.

        Raises:
            RuntimeError: if no operation was recorded in the block: a compiled step has none.

        Example:
            >>> with writer.trace_step(model, step):
            ...     loss = criterion(model(x), y)
            ...     loss.backward()
        """
        if not hasattr(model, "named_modules"):
            raise wrong_type(model, "Module", ("trace_step", "model", 1))
        with watched_step(model) as traced:
            yield
        if not traced.outputs:
            raise RuntimeError(
                "trace_step: no operation was recorded in the block; run the step in it, not "
                "compiled, and with gradients enabled"
            )
        prefix = "" if global_step is None else f"step_{global_step}/"
        self._add_profiles(ForwardGraph(model, traced), prefix, global_step)

    def _add_profiles(
        self, forward: ForwardGraph, prefix: str = "", step: int | None = None
    ) -> None:
        """Add the graphs of both directions, each with the time and memory of its nodes."""
        backward = BackwardGraph(forward)
        graphs: dict[str, Nodes] = {"forward": forward, "backward": backward}
        for name, graph in graphs.items():
            if graph.nodes:
                p = protos()
                content = p.TensorProto(dtype="DT_STRING", string_val=[graph.profile()])
                value = p.Summary.Value(
                    tag=prefix + name, metadata=metadata(PROFILED, VERSION), tensor=content
                )
                self._add_summary(protos().Summary(value=[value]), step, None)

    def add_hparams(
        self, hparam_dict: Mapping[str, Any], metric_dict: "Mapping[str, Values]",
        hparam_domain_discrete: Mapping[str, Sequence[Any]] | None = None,
        run_name: str | None = None, global_step: int | None = None,
    ) -> None:  # fmt: skip
        """Add a row to the table of hyperparameters and final metrics.

        As in PyTorch, the row is a run of its own, in a subdirectory, away from the curves it
        belongs to, unless `run_name` is `"."`: then it is this run, and a metric named like a
        curve shows the curve's last value.

        Args:
            hparam_dict: numbers, booleans and strings; other values are shown as their `str`.
            metric_dict: the metrics' values; each becomes a curve of one point, unless there is a
                curve of that name in the run.
            hparam_domain_discrete: for a hyperparameter, the list of all values it may take.
            run_name: the subdirectory; the time if not given, `"."` for this run itself.
            global_step: the abscissa of the metrics.

        Raises:
            TypeError: for what are no dicts, or a domain of another type than its hyperparameter.
        """
        if not isinstance(hparam_dict, dict) or not isinstance(metric_dict, dict):
            raise TypeError("hparam_dict and metric_dict should be dictionary.")
        metrics = {tag: number_of(value) for tag, value in metric_dict.items()}
        rows = hparams(hparam_dict, metrics, hparam_domain_discrete)
        own = run_name == "."
        subdirectory = "" if own else run_name or str(time.time())
        file = self._file(subdirectory)
        for row in rows:
            file.add(protos().Event(summary=row), global_step)
        for tag, value in metrics.items():
            if not own or tag not in self._scalar_tags:
                file.add(protos().Event(summary=scalar(tag, value)), global_step)
        if subdirectory:
            self._files.pop(subdirectory).close()

    def __getattr__(self, name: str) -> Any:
        raise missing_attribute(self, "utils.tensorboard", name)


for _name, _method in [*vars(SummaryWriter).items()]:
    if _name.startswith("add_"):
        setattr(SummaryWriter, _name, naming_arguments(_method))


def scalar(tag: str, value: float, new_style: bool = False, double: bool = False) -> Any:
    """The summary of a point of a curve."""
    p = protos()
    if not new_style:
        return p.Summary(value=[p.Summary.Value(tag=tag, simple_value=value)])
    if double:
        tensor = p.TensorProto(double_val=[value], dtype="DT_DOUBLE")
    else:
        tensor = p.TensorProto(float_val=[value], dtype="DT_FLOAT")
    return p.Summary(value=[p.Summary.Value(tag=tag, tensor=tensor, metadata=metadata("scalars"))])


@functools.cache
def _exponential_bins() -> tuple[float, ...]:
    """Return edges that grow by a tenth from 1e-12 to 1e20, both ways from zero."""
    positive, edge = [], 1e-12
    while edge < 1e20:
        positive.append(edge)
        edge *= 1.1
    return (*(-edge for edge in reversed(positive)), 0.0, *positive)
