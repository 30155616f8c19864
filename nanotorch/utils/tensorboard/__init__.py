"""Files for TensorBoard: curves, histograms, images, text, and the model's graph."""

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

    Values may be tensors, arrays or numbers. The caller's thread writes: after `flush` everything
    added is on the disk, and there is no thread to stop at exit.

    Args:
        log_dir: the run's directory. Default: `runs/<date>_<time>_<host><comment>`. A path with
            several parts groups runs in TensorBoard.
        comment: the end of the default directory's name.
        purge_step: the step from which a resumed run continues in the same directory. TensorBoard
            hides earlier events of this step and later ones.
        max_queue: accepted for PyTorch's sake; there is no queue.
        flush_secs: the longest time in seconds that an event stays in memory while others follow.
            Default: 120.
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
        self.log_dir = str(log_dir)
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
        """Write everything added to the disk."""
        for file in self._files.values():
            file.flush()

    def close(self) -> None:
        """Flush and close the files; a later `add_...` opens new ones."""
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
            tag: the curve's name; the part before a `/` groups curves.
            scalar_value: a number, or a tensor or array of one element.
            global_step: the point's abscissa.
            walltime: seconds since the epoch. Default: now.
            new_style: store the value as a tensor instead of a plain number. Default: False.
            double_precision: with `new_style`, store 64 bits instead of 32. Default: False.

        Raises:
            ValueError: for a tensor or array of several elements.
        """
        value = number_of(scalar_value)
        self._scalar_tags.add(tag)
        self._add_summary(scalar(tag, value, new_style, double_precision), global_step, walltime)

    def add_scalars(
        self, main_tag: str, tag_scalar_dict: "Mapping[str, Values]",
        global_step: int | None = None, walltime: float | None = None,
    ) -> None:  # fmt: skip
        """Add a point to each of several curves in one chart.

        TensorBoard overlays curves of equal tags from different runs, so each key becomes a run in
        a subdirectory, as in PyTorch.

        Args:
            main_tag: the chart's name.
            tag_scalar_dict: the values by the curves' names.
            global_step, walltime: as of `add_scalar`.
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
            global_step: the histogram's place on the step axis.
            bins: `"tensorflow"`, the default, for exponential bins on both sides of zero; others
                are for `numpy.histogram`.
            walltime: seconds since the epoch. Default: now.
            max_bins: join neighbouring bins down to about this number. Default: no limit.

        Raises:
            ValueError: if no value is finite.
        """
        array = array_of(values).astype(np.float64).ravel()
        finite = array[np.isfinite(array)]  # a diverging run has infinite values too
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
        """Add a text, which TensorBoard shows as Markdown."""
        self._add_summary(protos().summary.text(tag, text_string), global_step, walltime)

    def add_pr_curve(
        self, tag: str, labels: "Values", predictions: "Values", global_step: int | None = None,
        num_thresholds: int = 127, weights: "Values | None" = None, walltime: float | None = None,
    ) -> None:  # fmt: skip
        """Add a precision-recall curve of binary `labels` and predicted probabilities.

        Raises:
            ValueError: if `labels`, `predictions` and `weights` have different sizes.
        """
        rows = (array_of(labels), array_of(predictions))
        factors = None if weights is None else array_of(weights)
        sizes = [array.size for array in (*rows, factors) if array is not None]
        if len(set(sizes)) > 1:
            raise ValueError(f"add_pr_curve() takes as many predictions as labels, got {sizes}")
        curve = protos().summary.pr_curve(tag, *rows, min(num_thresholds, 127), factors)
        self._add_summary(curve, global_step, walltime, tag)

    def add_custom_scalars(self, layout: Layout) -> None:
        """Define charts of several curves for the page *Custom scalars*; call it once for a run.

        Args:
            layout: `{category: {chart: ["Multiline", tags]}}`; with `"Margin"` there are three
                tags: a curve's, and those of the lower and upper end of its margin.

        Raises:
            AssertionError: for a `"Margin"` without exactly three tags.
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
            global_step: the image's place on the step axis.
            walltime: seconds since the epoch. Default: now.
            dataformats: the order of the dimensions: `CHW`, `HWC`, `HW`, or, with `N`, a batch,
                drawn as a grid. Default: `CHW`.

        Raises:
            AssertionError: if `dataformats` does not fit the shape.
            ValueError: for an unknown order, or more than 4 channels.
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
        """Add a matplotlib figure, or several of one size as a grid; `close` them by default."""
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

        The model runs twice, and its backward pass once, in evaluation mode; the model is left
        unchanged. The time and memory of the operations are stored too: on the page *Graphs*,
        choose the tag `forward` or `backward`, then *Profile*. `trace_step` shows real training
        steps.

        Args:
            model: the model. TensorBoard shows the last graph of a run.
            input_to_model: the argument of its `forward`, or a sequence of several.
            verbose: also print the graph, one line for each node. Default: False.
            use_strict_trace: accepted for PyTorch's sake; any container may be returned.

        Warns:
            UserWarning: if the backward pass fails; then there is no tag `backward`.
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
        """Add the graph without time and memory, and return it."""
        graph = forward.graph_def()
        self._file().add(protos().Event(graph_def=graph.SerializeToString()))
        return graph

    @contextmanager
    def trace_step(self, model: "Module", global_step: int | None = None) -> Iterator[None]:
        """Run a training step as a `with` block, and add the graphs of its two passes.

        The results are unchanged, but the step takes longer, as each operation is measured. The
        operations' time and memory appear under the tags `step_<n>/forward` and
        `step_<n>/backward`. Operations outside of the model, such as the loss, appear next to it
        under their own names.

        Args:
            model: the model; its modules are shown as boxes.
            global_step: the number of the step; without it, the tags have no `step_<n>/`.

        Raises:
            RuntimeError: if no operation was recorded in the block: a compiled step records none.

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
        """Add the graphs of both passes, each with the time and memory of its nodes."""
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

        As in PyTorch, the row is a run of its own in a subdirectory, apart from this run's curves.
        With `run_name="."` the row belongs to this run, and a metric with the name of a curve shows
        the curve's last value.

        Args:
            hparam_dict: numbers, bools and strings; other values are shown as their `str`.
            metric_dict: the metrics' values. Each becomes a curve of one point, unless the run has
                a curve of that name.
            hparam_domain_discrete: by hyperparameter, the list of all its possible values.
            run_name: the subdirectory, or `"."` for this run. Default: the time.
            global_step: the abscissa of the metrics.

        Raises:
            TypeError: if an argument is not a dict, or a value of a domain has another type than
                its hyperparameter.
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
    """The summary message of one point of a curve."""
    p = protos()
    if not new_style:
        return p.Summary(value=[p.Summary.Value(tag=tag, simple_value=value)])
    kind = "double" if double else "float"
    tensor = p.TensorProto(**{f"{kind}_val": [value]}, dtype=f"DT_{kind.upper()}")
    return p.Summary(value=[p.Summary.Value(tag=tag, tensor=tensor, metadata=metadata("scalars"))])


@functools.cache
def _exponential_bins() -> tuple[float, ...]:
    """The edges of bins that grow by a tenth from 1e-12 to 1e20, on both sides of zero."""
    positive, edge = [], 1e-12
    while edge < 1e20:
        positive.append(edge)
        edge *= 1.1
    return (*(-edge for edge in reversed(positive)), 0.0, *positive)
