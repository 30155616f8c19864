"""A softmax over many classes, of which the rare ones are computed only where they are needed."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from nanotorch import ops
from nanotorch._core.dtypes import dtype as DType
from nanotorch._core.tensor import Tensor
from nanotorch.nn.container import ModuleList, Sequential
from nanotorch.nn.functional.activation import log_softmax
from nanotorch.nn.linear import Linear
from nanotorch.nn.module import Module


class _ASMoutput(NamedTuple):
    """What `AdaptiveLogSoftmaxWithLoss` gives: log-probabilities of the targets, and the loss."""

    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """The log-probability of each target among many classes, ordered by their frequency.

    The frequent classes and one number for each cluster of rare ones are computed for all samples,
    the classes of a cluster only for the samples whose target is in it, from fewer features.

    Args:
        in_features: the size of each input.
        n_classes: the number of classes; 0 is the most frequent.
        cutoffs: where the clusters begin, increasing, from 1 to ``n_classes - 1``.
        div_value: by which the number of features is divided from cluster to cluster. Default: 4.
        head_bias: whether there is one for the frequent classes. Default: False.
        device: accepted for PyTorch's sake.
        dtype: of the parameters. Default: the default dtype.

    Shape:
        Input (N, in_features), target (N,); or (in_features,) and a number.

    Raises:
        ValueError: for cutoffs that are none.
        RuntimeError: for targets that do not fit.

    Reference:
        Grave et al., Efficient softmax approximation for GPUs, ICML 2017.
    """

    head: Any
    tail: Any

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        ends = list(cutoffs)
        if not ends:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if (
            ends != sorted(ends)
            or min(ends) <= 0
            or max(ends) > n_classes - 1
            or len(set(ends)) != len(ends)
            or any(int(end) != end for end in ends)
        ):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing "
                "order, where each value is between 1 and n_classes-1"
            )
        self.in_features, self.n_classes, self.cutoffs = in_features, n_classes, [*ends, n_classes]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size, self.n_clusters = ends[0], len(ends)
        self.head_size = self.shortlist_size + self.n_clusters
        made: dict[str, Any] = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **made)
        self.tail = ModuleList()
        for number in range(self.n_clusters):
            hidden = int(in_features // div_value ** (number + 1))
            size = self.cutoffs[number + 1] - self.cutoffs[number]
            self.tail.append(
                Sequential(
                    Linear(in_features, hidden, bias=False, **made),
                    Linear(hidden, size, bias=False, **made),
                )
            )

    def reset_parameters(self) -> None:
        """Draw new values for the parameters."""
        self.head.reset_parameters()
        for projection, out in self.tail:
            projection.reset_parameters()
            out.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        """The log-probabilities of the targets, and minus their mean."""
        dim = target_.dim()
        if dim > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if dim == 1 and input_.size(0) != target_.size(0):
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        if dim == 0 and input_.dim() != 1:
            raise RuntimeError("0D target tensor expects 1D input tensors")
        x, target = (input_, target_) if dim else (input_.unsqueeze(0), target_.unsqueeze(0))
        chosen, used = target._array, 0
        output: Any = x.new_zeros(target.size(0))
        place: Any = ops.zeros_like(target)  # of each target in the head
        for number, end in enumerate(self.cutoffs):
            start = self.cutoffs[number - 1] if number else 0
            mask = (chosen >= start) & (chosen < end)
            rows = ops.from_numpy(mask).nonzero().squeeze(1)
            if not rows.numel():
                continue
            used += rows.numel()
            if number == 0:
                place.index_copy_(0, rows, target[rows])
                continue
            scores = self.tail[number - 1](x.index_select(0, rows))
            place.index_fill_(0, rows, self.shortlist_size + number - 1)
            logs = log_softmax(scores, dim=1)
            here = logs.gather(1, (target[rows] - start).unsqueeze(1))
            output = output.index_copy(0, rows, here.squeeze(1))
        if used != target.numel():
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{chosen.min()}, {chosen.max()}] were found. "
            )
        logs = log_softmax(self.head(x), dim=1)
        output = output + logs.gather(1, place.unsqueeze(1)).squeeze()
        loss = (-output).mean()
        return _ASMoutput(output if dim else output.squeeze(0), loss)

    def _full(self, input: Tensor, scores: Tensor) -> Tensor:
        """The log-probabilities of all classes, from the scores of the head."""
        logs = log_softmax(scores, dim=1)
        parts: list[Any] = [logs[:, : self.shortlist_size]]
        for number in range(self.n_clusters):
            inside = log_softmax(self.tail[number](input), dim=1)
            parts.append(inside + logs[:, self.shortlist_size + number].unsqueeze(1))
        whole: Tensor = ops.cat(parts, 1)
        return whole

    def log_prob(self, input: Tensor) -> Tensor:
        """The log-probabilities of all classes, (N, n_classes)."""
        return self._full(input, self.head(input))

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class of each sample, (N,)."""
        scores = self.head(input)
        best = scores.argmax(1)
        rare = best >= self.shortlist_size
        if not rare.any():
            result: Tensor = best
        elif rare.all():
            result = self._full(input, scores).argmax(1)
        else:
            result = best.clone()
            result[rare] = self._full(input[rare], scores[rare]).argmax(1)
        return result
