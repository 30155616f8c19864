"""`SummaryWriter`, with PyTorch's interface."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from nanotorch._core.tensor import Tensor
from nanotorch._core.warned import warn
from nanotorch.names.lookup import missing_attribute
from nanotorch.utils.tensorboard.curves import Curves, scalar
from nanotorch.utils.tensorboard.graph import BackwardGraph, ForwardGraph
from nanotorch.utils.tensorboard.hparams import hparams
from nanotorch.utils.tensorboard.media import Media
from nanotorch.utils.tensorboard.nodes import Nodes
from nanotorch.utils.tensorboard.output import metadata, number_of
from nanotorch.utils.tensorboard.protos import protos
from nanotorch.utils.tensorboard.trace import trace, watched_step

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from nanotorch.nn.module import Module

# TensorBoard's plugin for graphs that come with the time and memory of their nodes.
PROFILED, VERSION = "graph_run_metadata", b"1"


class SummaryWriter(Curves, Media):
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

    def add_graph(
        self,
        model: "Module",
        input_to_model: "Tensor | Sequence[Any] | None" = None,
        verbose: bool = False,
        use_strict_trace: bool = True,
    ) -> None:
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
        `step_<n>/backward`. What belongs to no module of the model, as the loss, is in the box
        `step`.

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
                self._add_values([value], step, None)

    def add_hparams(
        self,
        hparam_dict: Mapping[str, Any],
        metric_dict: "Mapping[str, Tensor | ArrayLike]",
        hparam_domain_discrete: Mapping[str, Sequence[Any]] | None = None,
        run_name: str | None = None,
        global_step: int | None = None,
    ) -> None:
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
