"""Numbers over time: curves, histograms, texts, tensors, precision and recall, charts of curves."""

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nanotorch._core.tensor import Tensor
from nanotorch.utils.tensorboard.nodes import data_type
from nanotorch.utils.tensorboard.output import Output, array_of, metadata, number_of, shape_proto
from nanotorch.utils.tensorboard.protos import protos

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Layout = Mapping[str, Mapping[str, Sequence[Any]]]


class Curves(Output):
    """The part of a writer that writes numbers."""

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
        value = number_of(scalar_value)
        self._scalar_tags.add(tag)
        self._add_summary(scalar(tag, value, new_style, double_precision), global_step, walltime)

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
            event = protos().Event(summary=scalar(main_tag, number_of(value)))
            file.add(event, global_step, walltime)

    def add_tensor(
        self,
        tag: str,
        tensor: "Tensor | ArrayLike",
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Add a whole tensor, for other programs to read: TensorBoard shows none.

        Raises:
            ValueError: for a dtype that TensorBoard has not, or 2 GB and more.
        """
        array = array_of(tensor)
        if array.nbytes >= 1 << 31:
            raise ValueError("tensor is bigger than protocol buffer's hard limit of 2GB in size")
        try:
            kind = data_type(array.dtype)
        except ValueError:
            raise ValueError(f"{tag} has unsupported tensor dtype {array.dtype}") from None
        content = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
        held = protos().TensorProto(
            dtype=kind, tensor_shape=shape_proto(array.shape), tensor_content=content
        )
        value = protos().Summary.Value(tag=tag, metadata=metadata("tensor"), tensor=held)
        self._add_values([value], global_step, walltime)

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
        array = array_of(values).astype(np.float64).ravel()
        finite = array[np.isfinite(array)]  # a diverging run is still to be seen
        if finite.size == 0:
            raise ValueError(f"add_histogram({tag!r}): none of the {array.size} values is finite")
        edges = _exponential_bins() if bins == "tensorflow" else bins
        self._add_summary(
            protos().summary.histogram(tag, finite, edges, max_bins), global_step, walltime, tag
        )

    def add_histogram_raw(
        self,
        tag: str,
        min: float,
        max: float,
        num: int,
        sum: float,
        sum_squares: float,
        bucket_limits: "Tensor | ArrayLike",
        bucket_counts: "Tensor | ArrayLike",
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Add a histogram that is counted already.

        Args:
            tag: the histogram's name.
            min, max, num, sum, sum_squares: of the values.
            bucket_limits: the upper end of each bucket.
            bucket_counts: how many values are in each.
            global_step: where the histogram stands on the time axis.
            walltime: seconds since the epoch, now if not given.

        Raises:
            ValueError: if there are not as many limits as counts.
        """
        limits, counts = (array_of(x).tolist() for x in (bucket_limits, bucket_counts))
        if len(limits) != len(counts):
            raise ValueError("len(bucket_limits) != len(bucket_counts), see the document.")
        raw = protos().summary.histogram_raw(tag, min, max, num, sum, sum_squares, limits, counts)
        self._add_summary(raw, global_step, walltime, tag)

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
            array_of(labels),
            array_of(predictions),
            min(num_thresholds, 127),
            None if weights is None else array_of(weights),
        )
        self._add_summary(curve, global_step, walltime, tag)

    def add_pr_curve_raw(
        self,
        tag: str,
        true_positive_counts: "Tensor | ArrayLike",
        false_positive_counts: "Tensor | ArrayLike",
        true_negative_counts: "Tensor | ArrayLike",
        false_negative_counts: "Tensor | ArrayLike",
        precision: "Tensor | ArrayLike",
        recall: "Tensor | ArrayLike",
        global_step: int | None = None,
        num_thresholds: int = 127,
        weights: "Tensor | ArrayLike | None" = None,
        walltime: float | None = None,
    ) -> None:
        """Add a precision-recall curve that is counted already, at thresholds that rise.

        Args:
            tag: the curve's name.
            true_positive_counts, false_positive_counts, true_negative_counts,
                false_negative_counts, precision, recall: at each threshold.
            global_step: where the curve stands on the time axis.
            num_thresholds: how many thresholds there are.
            weights: accepted for PyTorch's sake.
            walltime: seconds since the epoch, now if not given.
        """
        rows = (true_positive_counts, false_positive_counts, true_negative_counts,
                false_negative_counts, precision, recall)  # fmt: skip
        curve = protos().summary.pr_curve_raw(
            tag, *(array_of(row) for row in rows), num_thresholds=num_thresholds
        )
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

    def add_custom_scalars_multilinechart(
        self, tags: Sequence[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Draw several curves in one chart on the page *Custom scalars*.

        Args:
            tags: of the curves.
            category, title: of the chart.
        """
        self.add_custom_scalars({category: {title: ["Multiline", list(tags)]}})

    def add_custom_scalars_marginchart(
        self, tags: Sequence[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Draw a curve with a margin on the page *Custom scalars*.

        Args:
            tags: of the curve, of the lower and of the upper end of the margin.
            category, title: of the chart.

        Raises:
            AssertionError: for another number of tags.
        """
        if len(tags) != 3:
            raise AssertionError(f"Expected 3 tags, got {len(tags)}.")
        self.add_custom_scalars({category: {title: ["Margin", list(tags)]}})


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
