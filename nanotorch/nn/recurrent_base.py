"""What recurrent layers share: parameters, checks, and the way through layers and directions."""

import math
from typing import Any

from nanotorch import ops
from nanotorch._core.dtypes import float32
from nanotorch._core.tensor import Tensor
from nanotorch._core.warned import warn, warn_once
from nanotorch.nn import init
from nanotorch.nn.functional.dropout import dropout
from nanotorch.nn.module import Module
from nanotorch.nn.own_names import OwnNames
from nanotorch.nn.parameter import Parameter
from nanotorch.nn.utils.rnn import PackedSequence
from nanotorch.ops.recurrence import Sizes

GATES = {"RNN_TANH": 1, "RNN_RELU": 1, "LSTM": 4, "GRU": 3}
DROPOUT_RANGE = (
    "dropout should be a number in range [0, 1] representing the probability of an element being "
    "zeroed"
)
PROJECTED = "LSTM with projections is not supported with oneDNN. Using default implementation."
Hidden = tuple[Tensor, ...]  # h, and of an LSTM c


class RNNBase(OwnNames, Module):
    """What recurrent layers share: parameters, checks, and the way through the layers.

    Args:
        mode: "RNN_TANH", "RNN_RELU", "LSTM" or "GRU".
        input_size: the size I of each step's input.
        hidden_size: the size H of the state.
        num_layers: each layer after the first takes the output of the one before. Default: 1.
        bias: whether there are biases. Default: True.
        batch_first: input and output are (N, T, ...) in place of (T, N, ...). Default: False.
        dropout: the probability with which elements of the output of each layer but the last are
            zeroed in training. Default: 0.
        bidirectional: also go through the steps from the last to the first; outputs are joined.
            Default: False.
        proj_size: of an LSTM, the size P to which h is projected; 0 for none. Default: 0.
        device: accepted for PyTorch's sake.
        dtype: of the parameters. Default: the default dtype.

    Raises:
        ValueError, TypeError: for arguments out of range or of another type.

    Warns:
        UserWarning: for a dropout of one layer, which has no effect.
    """

    own_names = ("forward",)
    mode: str
    bias: bool

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.mode, self.input_size, self.hidden_size = mode, input_size, hidden_size
        self.num_layers, self.bias, self.batch_first = num_layers, bias, batch_first
        self.dropout, self.bidirectional = float(dropout), bidirectional
        self.proj_size = proj_size
        self._check_arguments(dropout)
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            for suffix in self._suffixes(layer):
                self._all_weights.append(self._add_direction(layer, suffix, device, dtype))
        self.reset_parameters()

    def _check_arguments(self, dropout: Any) -> None:
        if isinstance(dropout, bool) or not 0 <= self.dropout <= 1:
            raise ValueError(DROPOUT_RANGE)
        if dropout and self.num_layers == 1:
            warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero "
                "dropout expects num_layers greater than 1, but got "
                f"dropout={dropout} and num_layers={self.num_layers}"
            )
        kinds = {"input_size": int, "hidden_size": int, "bias": bool}
        for name, kind in kinds.items():
            value = getattr(self, name)
            if not isinstance(value, kind):
                raise TypeError(
                    f"{name} should be of type {kind.__name__}, got: {type(value).__name__}"
                )
        for name in ("input_size", "hidden_size", "num_layers"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if self.proj_size < 0:
            raise ValueError(
                "proj_size should be a positive integer or zero to disable projections"
            )
        if self.proj_size >= self.hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")

    def _suffixes(self, layer: int) -> list[str]:
        """How the names of the parameters of each direction end."""
        return [f"_l{layer}", f"_l{layer}_reverse"][: 1 + self.bidirectional]

    def _add_direction(self, layer: int, suffix: str, device: Any, dtype: Any) -> list[str]:
        rows, out = GATES[self.mode] * self.hidden_size, self.proj_size or self.hidden_size
        size = out * (1 + self.bidirectional) if layer else self.input_size
        shapes: dict[str, tuple[int, ...]] = {"weight_ih": (rows, size), "weight_hh": (rows, out)}
        if self.bias:
            shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
        if self.proj_size:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        for name, shape in shapes.items():
            setattr(self, name + suffix, Parameter(ops.empty(shape, dtype=dtype, device=device)))
        return [name + suffix for name in shapes]

    def reset_parameters(self) -> None:
        """Draw all parameters uniformly from ±1/√H."""
        bound = 1.0 / math.sqrt(self.hidden_size)
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def flatten_parameters(self) -> None:
        """Nothing: this is for graphics cards."""

    @property
    def all_weights(self) -> list[list[Tensor]]:
        """The parameters of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self) -> list[Tensor]:
        return [getattr(self, name) for name in self._flat_weights_names]

    def extra_repr(self) -> str:
        usual = {
            "proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0,
            "bidirectional": False,
        }  # fmt: skip
        told = [str(self.input_size), str(self.hidden_size)]
        for name, value in usual.items():
            if getattr(self, name) != value:
                told.append(f"{name}={getattr(self, name)}")
        return ", ".join(told)

    # Checks

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Refuse an input of another dtype, number of dimensions or size."""
        kind = self._flat_weights[0].dtype
        if input.dtype != kind:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({kind}). Convert "
                f"input: input.to({kind}), or convert model: model.to({input.dtype})"
            )
        expected = 2 if batch_sizes is not None else 3
        if input.ndim != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.ndim}")
        if self.input_size != input.size(-1):
            raise RuntimeError(
                "input.size(-1) must be equal to input_size. Expected "
                f"{self.input_size}, got {input.size(-1)}"
            )

    def get_expected_hidden_size(
        self, input: Tensor, batch_sizes: Tensor | None
    ) -> tuple[int, int, int]:
        """The size of h: (layers * directions, N, P or H)."""
        if batch_sizes is not None:
            count = int(batch_sizes[0])
        else:
            count = input.size(0 if self.batch_first else 1)
        layers = self.num_layers * (1 + self.bidirectional)
        return layers, count, self.proj_size or self.hidden_size

    def check_hidden_size(
        self,
        hx: Tensor,
        expected_hidden_size: tuple[int, int, int],
        msg: str = "Expected hidden size {}, got {}",
    ) -> None:
        """Refuse a state of another size."""
        if tuple(hx.shape) != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.shape)))

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Refuse an input or a state that does not fit."""
        self.check_input(input, batch_sizes)
        expected = self.get_expected_hidden_size(input, batch_sizes)
        self.check_hidden_size(hidden, expected)

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """The state with its sequences in another order."""
        return hx if permutation is None else hx.index_select(1, permutation)

    def _refuse_state(self, hx: Any, batched: bool) -> None:
        if hx.dim() != (3 if batched else 2):
            what, count = ("batched 3-D", 3) if batched else ("unbatched 2-D", 2)
            raise RuntimeError(
                f"For {what} input, hx should also be {count}-D but got {hx.dim()}-D tensor"
            )

    # The way through the layers

    def _zeros(self, count: int, like: Tensor) -> Any:
        """The state to begin with, where none is given."""
        layers = self.num_layers * (1 + self.bidirectional)
        return ops.zeros(layers, count, self.proj_size or self.hidden_size, dtype=like.dtype)

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The outputs of the last layer for every step, and the state after the last step.

        Args:
            input: (T, N, I), (T, I) for a single sequence, or a `PackedSequence`.
            hx: the state to begin with, (layers * directions, N, H); of an LSTM a pair (h, c).
                Default: zeros.
        """
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        if input.dim() not in (2, 3):
            name = self._get_name()
            tensor = " tensor" if name == "RNN" else ""
            raise ValueError(
                f"{name}: Expected input to be 2D or 3D, got {input.dim()}D{tensor} instead"
            )
        batched, along = input.dim() == 3, 0 if self.batch_first else 1
        if not batched:
            input = input.unsqueeze(along)
        if hx is None:
            hx = self._zeros(input.size(along), input)
        else:
            self._refuse_state(hx, batched)
            if not batched:
                hx = self._each(hx, lambda state: state.unsqueeze(1))
        self.check_forward_args(input, hx, None)
        if not input.size(1 - along):
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
        if self.proj_size and input.dtype == float32:
            warn_once(PROJECTED)
        steps = input.transpose(0, 1) if self.batch_first else input
        output, state = self._through(steps, hx, (steps.size(1),) * steps.size(0))
        if self.batch_first:
            output = output.transpose(0, 1)
        if not batched:
            return output.squeeze(along), self._each(state, lambda part: part.squeeze(1))
        return output, state

    def _forward_packed(self, input: PackedSequence, hx: Any) -> tuple[PackedSequence, Any]:
        data, batch_sizes, sorted_indices, unsorted_indices = input
        sizes = tuple(batch_sizes.tolist())
        if hx is None:
            hx = self._zeros(sizes[0], data)
        else:
            hx = self.permute_hidden(hx, sorted_indices)
        self.check_forward_args(data, hx, batch_sizes)
        output, state = self._through(data, hx, sizes)
        packed = PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices)
        return packed, self.permute_hidden(state, unsorted_indices)

    def _each(self, hx: Any, function: Any) -> Any:
        """A function of the state, or of both parts of it."""
        return function(hx)

    def _through(self, x: Tensor, hx: Any, sizes: Sizes) -> tuple[Tensor, Any]:
        """All layers, one after the other."""
        finals: list[Hidden] = []
        states = tuple(hx) if isinstance(hx, (tuple, list)) else (hx,)
        position = 0
        for layer in range(self.num_layers):
            outputs = []
            for reverse in (False, True)[: 1 + self.bidirectional]:
                initial = tuple(state[position] for state in states)
                weights = [getattr(self, name) for name in self._all_weights[position]]
                output, final = self._direction(x, initial, weights, sizes, reverse)
                outputs.append(output)
                finals.append(final)
                position += 1
            x = outputs[0] if len(outputs) == 1 else ops.cat(outputs, -1)
            if self.dropout and layer < self.num_layers - 1:
                x = dropout(x, self.dropout, self.training)
        joined = tuple(ops.stack(parts, 0) for parts in zip(*finals, strict=True))
        return x, joined if isinstance(hx, (tuple, list)) else joined[0]

    def _direction(
        self, x: Tensor, initial: Hidden, weights: list[Tensor], sizes: Sizes, reverse: bool
    ) -> tuple[Tensor, Hidden]:
        """One layer in one direction: its output and its state in the end.

        Args:
            weights: weight_ih, weight_hh and, as far as there are any, bias_ih, bias_hh, weight_hr.
        """
        raise NotImplementedError
