"""Recurrent layers and their cells."""

import itertools
import math
from typing import Any

import numpy as np

from nanotorch import ops
from nanotorch._core.arguments import wrong_type
from nanotorch._core.call_site import warn, warn_once
from nanotorch._core.dtypes import float32
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.nn import init
from nanotorch.nn.functional.activation import dropout
from nanotorch.nn.layer import OwnNames, changed_options
from nanotorch.nn.module import Module
from nanotorch.nn.parameter import Parameter
from nanotorch.nn.utils.rnn import PackedSequence
from nanotorch.ops.arguments import require, require_value
from nanotorch.ops.matrix import linear
from nanotorch.ops.sequences import Sizes, elman_steps, gru_steps, lstm_steps

__all__ = ("GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNBase", "RNNCell", "RNNCellBase")

# The base of recurrent layers: parameters, checks, and the loop over layers and directions.


GATES = {"RNN_TANH": 1, "RNN_RELU": 1, "LSTM": 4, "GRU": 3}
ONLY_LSTM = "proj_size argument is only supported for LSTM, not RNN or GRU"
PROJECTED = "LSTM with projections is not supported with oneDNN. Using default implementation."
Hidden = tuple[Tensor, ...]  # h; for an LSTM, also c
Way = tuple[Sizes, bool]  # the number of sequences in each step; whether the steps run in reverse
Step = tuple[Tensor, Hidden]  # the output of a layer, and its final state


class RNNBase(OwnNames, Module):
    """The base of recurrent layers: parameters, checks, and the loop over the layers.

    Args:
        mode: "RNN_TANH", "RNN_RELU", "LSTM" or "GRU".
        input_size: the size I of each step's input.
        hidden_size: the size H of the state.
        num_layers: the number of layers; the output of each is the input of the next. Default: 1.
        bias: whether to have biases. Default: True.
        batch_first: input and output are (N, T, ...) instead of (T, N, ...). Default: False.
        dropout: the probability of zero for output elements of all layers but the last, in
            training. Default: 0.
        bidirectional: also run the steps in reverse and concatenate the outputs. Default: False.
        proj_size: for an LSTM, the size P of a projection of h; 0 for none. Default: 0.
        device: accepted for compatibility.
        dtype: the dtype of the parameters. Default: the default dtype.

    Raises:
        ValueError, TypeError: if an argument is out of range or of another type.

    Warns:
        UserWarning: for ``dropout`` with one layer, where it has no effect.
    """

    _own_names = ("forward",)

    def __init__(
        self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
        batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False,
        proj_size: int = 0, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.mode, self.input_size, self.hidden_size = mode, input_size, hidden_size
        self.num_layers, self.bias, self.batch_first = num_layers, bias, batch_first
        self.dropout, self.bidirectional = float(dropout), bidirectional
        self.proj_size = proj_size
        self._check_arguments(dropout)
        require_value(mode in GATES, "Unrecognized RNN mode: {}", mode)
        self._all_weights: list[list[str]] = []
        rows, out = GATES[mode] * hidden_size, proj_size or hidden_size
        for layer in range(num_layers):
            size = out * (1 + bidirectional) if layer else input_size
            shapes: dict[str, tuple[int, ...]]
            shapes = {"weight_ih": (rows, size), "weight_hh": (rows, out)}
            if bias:
                shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
            if proj_size:
                shapes["weight_hr"] = (proj_size, hidden_size)
            for suffix in ("", "_reverse")[: 1 + bidirectional]:
                self._all_weights.append([f"{name}_l{layer}{suffix}" for name in shapes])
                for name, shape in zip(self._all_weights[-1], shapes.values(), strict=True):
                    empty = ops.empty(shape, dtype=dtype, device=device)
                    self.register_parameter(name, Parameter(empty))
        self.reset_parameters()

    def _check_arguments(self, dropout: Any) -> None:
        number = not isinstance(dropout, bool) and 0 <= self.dropout <= 1
        require_value(number, "dropout should be a number in range [0, 1]")
        if dropout and self.num_layers == 1:
            warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero "
                "dropout expects num_layers greater than 1, but got "
                f"dropout={dropout} and num_layers={self.num_layers}"
            )
        for name, kind in (("input_size", int), ("hidden_size", int), ("bias", bool)):
            value, message = getattr(self, name), "{} should be of type {}, got: {}"
            names = (name, kind.__name__, type(value).__name__)
            require(isinstance(value, kind), message, *names, error=TypeError)
        for name in ("input_size", "hidden_size", "num_layers"):
            require_value(getattr(self, name) > 0, "{} must be greater than zero", name)
        fits = 0 <= self.proj_size < self.hidden_size
        require_value(fits, "proj_size has to be smaller than hidden_size, and at least 0")

    def reset_parameters(self) -> None:
        """Draw all parameters uniformly from [-1/√H, 1/√H)."""
        bound = 1.0 / math.sqrt(self.hidden_size)
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def flatten_parameters(self) -> None:
        """Do nothing; PyTorch has this method for GPUs."""

    @property
    def all_weights(self) -> list[list[Tensor]]:
        """A list of parameters for each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights_names(self) -> list[str]:
        return [*itertools.chain(*self._all_weights)]

    @property
    def _flat_weights(self) -> list[Tensor]:
        return [*itertools.chain(*self.all_weights)]

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}" + changed_options(
            self, proj_size=0, num_layers=1, bias=True, batch_first=False, dropout=0,
            bidirectional=False,
        )  # fmt: skip

    # Checks

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Refuse an input of another dtype, number of dimensions or size."""
        kind = getattr(self, self._all_weights[0][0]).dtype
        if input.dtype != kind:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({kind}). Convert "
                f"input: input.to({kind}), or convert model: model.to({input.dtype})"
            )
        expected = 2 if batch_sizes is not None else 3
        message = "input must have {} dimensions, got {}"
        require(input.ndim == expected, message, expected, input.ndim)
        size, wanted = input.size(-1), self.input_size
        message = "input.size(-1) must be equal to input_size. Expected {}, got {}"
        require(size == wanted, message, wanted, size)

    def get_expected_hidden_size(
        self, input: Tensor, batch_sizes: Tensor | None
    ) -> tuple[int, int, int]:
        """The size of h: (layers * directions, N, P or H)."""
        along = 0 if self.batch_first else 1
        count = input.size(along) if batch_sizes is None else int(batch_sizes[0])
        return self._state_shape(count)

    def _state_shape(self, count: int) -> tuple[int, int, int]:
        layers = self.num_layers * (1 + self.bidirectional)
        return layers, count, self.proj_size or self.hidden_size

    def check_hidden_size(
        self, hx: Tensor, expected_hidden_size: tuple[int, int, int],
        msg: str = "Expected hidden size {}, got {}",
    ) -> None:  # fmt: skip
        """Raise RuntimeError unless ``hx`` has the expected size; ``msg`` is the message."""
        if tuple(hx.shape) != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.shape)))

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Refuse an input or a state of the wrong size."""
        self.check_input(input, batch_sizes)
        expected = self.get_expected_hidden_size(input, batch_sizes)
        self.check_hidden_size(hidden, expected)

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """The state with its sequences in the order ``permutation``; None keeps the order."""
        if permutation is None:
            return hx
        return self._each(hx, lambda state: state.index_select(1, permutation))

    def _refuse_state(self, hx: Any, batched: bool) -> None:
        """Refuse a state of another number of dimensions."""
        what, count = ("batched", 3) if batched else ("unbatched", 2)
        found = [state.dim() for state in (hx if self.mode == "LSTM" else [hx])]
        message = "For {} {}-D input, hx (and cx) should also be {}-D, not {}"
        require(set(found) == {count}, message, what, count, count, found)

    # The loop over the layers

    def _zeros(self, count: int, like: Tensor) -> Any:
        """The default initial state."""
        return ops.zeros(self._state_shape(count), dtype=like.dtype, device=like.device)

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The outputs of the last layer for every step, and the state after the last step.

        Args:
            input: (T, N, I), (T, I) for a single sequence, or a `PackedSequence`.
            hx: the initial state, (layers * directions, N, H); for an LSTM a pair (h, c). Default:
                zeros.
        """
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        message = "{}: Expected input to be 2D or 3D, got {}D instead"
        require_value(input.dim() in (2, 3), message, self._get_name(), input.dim())
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
        require(input.size(1 - along), "Expected sequence length to be larger than 0 in RNN")
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
        """The results of ``function`` for the state; for an LSTM, a pair of them."""
        return function(hx) if self.mode != "LSTM" else (function(hx[0]), function(hx[1]))

    def _through(self, x: Tensor, hx: Any, sizes: Sizes) -> tuple[Tensor, Any]:
        """The output and final state of all layers."""
        finals: list[Hidden] = []
        states = tuple(hx) if isinstance(hx, (tuple, list)) else (hx,)
        position = 0
        for layer in range(self.num_layers):
            outputs = []
            for reverse in (False, True)[: 1 + self.bidirectional]:
                initial = tuple(state[position] for state in states)
                weights = [getattr(self, name) for name in self._all_weights[position]]
                output, final = self._direction(x, initial, weights, (sizes, reverse))
                outputs.append(output)
                finals.append(final)
                position += 1
            x = outputs[0] if len(outputs) == 1 else ops.cat(outputs, -1)
            if self.dropout and layer < self.num_layers - 1:
                x = dropout(x, self.dropout, self.training)
        joined = tuple(ops.stack(parts, 0) for parts in zip(*finals, strict=True))
        return x, joined if isinstance(hx, (tuple, list)) else joined[0]

    def _direction(self, x: Tensor, initial: Hidden, weights: list[Tensor], way: Way) -> Step:
        """The output and final state of one layer in one direction.

        Args:
            weights: weight_ih and weight_hh; then bias_ih, bias_hh and weight_hr if they exist.
        """
        raise NotImplementedError


# Recurrent layers: `RNN`, `GRU` and `LSTM`.


def last_state(states: Tensor, sizes: Sizes, reverse: bool) -> Tensor:
    """The state after the last step of each sequence, from the states after all steps."""
    count, total = sizes[0], sum(sizes)
    if states.ndim == 3:
        return states[0 if reverse else -1]
    if reverse:
        return states[:count]
    if sizes[-1] == count:
        return states[total - count :]
    lengths = np.add.reduce(np.asarray(sizes)[:, None] > np.arange(count), 0)
    ends = np.cumsum((0, *sizes))[lengths - 1] + np.arange(count)
    return states.index_select(0, wrap(ends))


class RNN(RNNBase):
    """``h' = φ(weight_ih x + bias_ih + weight_hh h + bias_hh)`` for every step.

    Args:
        input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional: see
            `RNNBase`.
        nonlinearity: φ, "tanh" or "relu". It is the fourth argument, before ``bias``. Default:
            "tanh".

    Shape:
        Input (T, N, I), state (layers * directions, N, H); output (T, N, H * directions).

    Attributes:
        weight_ih_l0, ...: (H, I); in further layers (H, H * directions).
        weight_hh_l0, ...: (H, H).
        bias_ih_l0, bias_hh_l0, ...: (H,). Names end in ``_reverse`` for the other direction.

    Reference:
        Elman, Finding structure in time, Cognitive Science 1990.
    """

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = "tanh",
        bias: bool = True, batch_first: bool = False, dropout: float = 0.0,
        bidirectional: bool = False, proj_size: Any = ..., device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        message = "Unknown nonlinearity '{}'. Select from 'tanh' or 'relu'."
        require_value(proj_size is ..., ONLY_LSTM)
        require_value(nonlinearity in ("tanh", "relu"), message, nonlinearity)
        super().__init__(
            f"RNN_{nonlinearity.upper()}", input_size, hidden_size, num_layers, bias, batch_first,
            dropout, bidirectional, 0, device, dtype,
        )  # fmt: skip
        self.nonlinearity = nonlinearity

    def _direction(self, x: Tensor, initial: Hidden, weights: list[Tensor], way: Way) -> Step:
        gates = linear(x, weights[0], weights[2] + weights[3] if self.bias else None)
        output = elman_steps(gates, initial[0], weights[1], self.nonlinearity, *way)
        return output, (last_state(output, *way),)


class GRU(RNNBase):
    """Gated recurrent units; see `nanotorch.ops.sequences` for the formulas.

    Args:
        input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional: see
            `RNNBase`.

    Shape:
        Input (T, N, I), state (layers * directions, N, H); output (T, N, H * directions).

    Attributes:
        weight_ih_l0, ...: (3H, I) for r, z and n; in further layers (3H, H * directions).
        weight_hh_l0, ...: (3H, H).
        bias_ih_l0, bias_hh_l0, ...: (3H,). Names end in ``_reverse`` for the other direction.

    Reference:
        Cho et al., Learning phrase representations using RNN encoder-decoder for statistical
        machine translation, 2014.
    """

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
        batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False,
        proj_size: Any = ..., device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        require_value(proj_size is ..., ONLY_LSTM)
        super().__init__(
            "GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional,
            0, device, dtype,
        )  # fmt: skip

    def _direction(self, x: Tensor, initial: Hidden, weights: list[Tensor], way: Way) -> Step:
        bias_ih, bias_hh = weights[2:] if self.bias else (None, None)
        gates = linear(x, weights[0], bias_ih)
        output, _ = gru_steps(gates, initial[0], weights[1], bias_hh, *way)
        return output, (last_state(output, *way),)


class LSTM(RNNBase):
    """Long short-term memory; see `nanotorch.ops.sequences` for the formulas.

    Args:
        input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size:
            see `RNNBase`.

    Shape:
        Input (T, N, I); state (h, c), h (layers * directions, N, P or H) and c
        (layers * directions, N, H); output (T, N, (P or H) * directions).

    Attributes:
        weight_ih_l0, ...: (4H, I) for i, f, g and o; in further layers (4H, size of the output).
        weight_hh_l0, ...: (4H, P or H).
        bias_ih_l0, bias_hh_l0, ...: (4H,). Names end in ``_reverse`` for the other direction.
        weight_hr_l0, ...: (P, H), with a projection.

    Reference:
        Hochreiter and Schmidhuber, Long short-term memory, Neural Computation 1997.
    """

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
        batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False,
        proj_size: int = 0, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            "LSTM", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional,
            proj_size, device, dtype,
        )  # fmt: skip

    def get_expected_cell_size(
        self, input: Tensor, batch_sizes: Tensor | None
    ) -> tuple[int, int, int]:
        """The size of c: (layers * directions, N, H)."""
        layers, count, _ = self.get_expected_hidden_size(input, batch_sizes)
        return layers, count, self.hidden_size

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Refuse an input or a state of the wrong size."""
        self.check_input(input, batch_sizes)
        expected = self.get_expected_hidden_size(input, batch_sizes)
        self.check_hidden_size(hidden[0], expected, "Expected hidden[0] size {}, got {}")
        cell = self.get_expected_cell_size(input, batch_sizes)
        self.check_hidden_size(hidden[1], cell, "Expected hidden[1] size {}, got {}")

    def _zeros(self, count: int, like: Tensor) -> Any:
        cells = (*self._state_shape(count)[:2], self.hidden_size)
        return super()._zeros(count, like), ops.zeros(cells, dtype=like.dtype, device=like.device)

    def _direction(self, x: Tensor, initial: Hidden, weights: list[Tensor], way: Way) -> Step:
        gates = linear(x, weights[0], weights[2] + weights[3] if self.bias else None)
        projection = weights[-1] if self.proj_size else None
        output, cells, _ = lstm_steps(gates, *initial, weights[1], projection, *way)
        return output, (last_state(output, *way), last_state(cells, *way))


# One step of a recurrent layer: `RNNCell`, `LSTMCell` and `GRUCell`.


class RNNCellBase(Module):
    """The base of recurrent cells: parameters and checks.

    Args:
        input_size: the size I of the input.
        hidden_size: the size H of the state.
        bias: whether to have biases.
        num_chunks: the number of gates; the weights have this times H rows.
        device: accepted for compatibility.
        dtype: the dtype of the parameters. Default: the default dtype.
    """

    weight_ih: Tensor
    weight_hh: Tensor
    bias_ih: Tensor | None
    bias_hh: Tensor | None

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = num_chunks * hidden_size

        shapes = {"weight_ih": (rows, input_size), "weight_hh": (rows, hidden_size)}
        for name, shape in {**shapes, "bias_ih": (rows,), "bias_hh": (rows,)}.items():
            wanted = bias or name.startswith("weight")
            empty = Parameter(ops.empty(shape, dtype=dtype, device=device)) if wanted else None
            self.register_parameter(name, empty)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all parameters uniformly from [-1/√H, 1/√H)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        more = {"nonlinearity": "tanh"} if hasattr(self, "nonlinearity") else {}
        return f"{self.input_size}, {self.hidden_size}{changed_options(self, bias=True, **more)}"

    def _ready(self, input: Tensor, states: dict[str, Any]) -> tuple[Tensor, list[Tensor]]:
        """The input and the states as batches, after checks; zeros for a state that is None.

        The keys of ``states`` are their names in messages.
        """
        for name, tensor in {"input": input, **states}.items():
            if tensor is not None and tensor.dim() not in (1, 2):
                message = f"Expected {name} to be 1D or 2D, got {tensor.dim()}D instead"
                raise ValueError(f"{self._get_name()}: {message}")
        batched = input.dim() == 2
        rows = input if batched else input.unsqueeze(0)
        message = "input has inconsistent input_size: got {} expected {}"
        require(rows.size(1) == self.input_size, message, rows.size(1), self.input_size)
        ready = []
        for number, state in enumerate(states.values()):
            if state is None:
                state = ops.zeros(rows.size(0), self.hidden_size, dtype=input.dtype)
            elif not batched:
                state = state.unsqueeze(0)
            size, expected = tuple(state.shape), (rows.size(0), self.hidden_size)
            require(size == expected, "Expected hidden{} size {}, got {}", number, expected, size)
            ready.append(state)
        return rows, ready

    def _sums(self, input: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """The contributions of the input and of the state to the gates."""
        from_input = linear(input, self.weight_ih, self.bias_ih)
        return from_input, linear(state, self.weight_hh, self.bias_hh)


class RNNCell(RNNCellBase):
    """``h' = φ(weight_ih x + bias_ih + weight_hh h + bias_hh)``.

    Args:
        input_size: the size I of the input.
        hidden_size: the size H of the state.
        bias: whether to have biases. Default: True.
        nonlinearity: φ, "tanh" or "relu". Default: "tanh".
        device: accepted for compatibility.
        dtype: the dtype of the parameters. Default: the default dtype.

    Shape:
        Input (N, I) or (I,), state and result (N, H) or (H,).

    Attributes:
        weight_ih: (H, I), and weight_hh: (H, H).
        bias_ih, bias_hh: (H,).
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh",
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The next state."""
        x, (h,) = self._ready(input, {"hidden": hx})
        known = self.nonlinearity in ("tanh", "relu")
        require(known, "Unknown nonlinearity: {}", self.nonlinearity)
        from_input, from_state = self._sums(x, h)
        after = getattr(ops, self.nonlinearity)(from_input + from_state)
        return after if input.dim() == 2 else after.squeeze(0)


class _GatedCell(OwnNames, RNNCellBase):
    """The base of `LSTMCell` and `GRUCell`: their constructor."""

    _own_names = ("__init__",)
    _chunks: int

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(input_size, hidden_size, bias, self._chunks, device, dtype)


class LSTMCell(_GatedCell):
    """One step of long short-term memory; see `nanotorch.ops.sequences` for the formulas.

    Args:
        input_size: the size I of the input.
        hidden_size: the size H of the states.
        bias: whether to have biases. Default: True.
        device: accepted for compatibility.
        dtype: the dtype of the parameters. Default: the default dtype.

    Shape:
        Input (N, I) or (I,); the state (h, c) and the result are pairs of (N, H) or (H,).

    Attributes:
        weight_ih: (4H, I), and weight_hh: (4H, H), for i, f, g and o.
        bias_ih, bias_hh: (4H,).
    """

    _chunks = 4

    def forward(
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        """The next h and c."""
        if isinstance(hx, Tensor):
            raise wrong_type(hx, "tuple of Tensors", ("lstm_cell", "hx", 2))
        if hx is not None and len(tuple(hx)) != 2:
            raise RuntimeError("lstm_cell expects two hidden states")
        states = (None, None) if hx is None else hx
        x, (h, c) = self._ready(input, {f"hx[{k}]": state for k, state in enumerate(states)})
        from_input, from_state = self._sums(x, h)
        i, f, g, o = (from_state + from_input).chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        return (h, c) if input.dim() == 2 else (h.squeeze(0), c.squeeze(0))


class GRUCell(_GatedCell):
    """One step of a gated recurrent unit; see `nanotorch.ops.sequences` for the formulas.

    Args:
        input_size: the size I of the input.
        hidden_size: the size H of the state.
        bias: whether to have biases. Default: True.
        device: accepted for compatibility.
        dtype: the dtype of the parameters. Default: the default dtype.

    Shape:
        Input (N, I) or (I,), state and result (N, H) or (H,).

    Attributes:
        weight_ih: (3H, I), and weight_hh: (3H, H), for r, z and n.
        bias_ih, bias_hh: (3H,).
    """

    _chunks = 3

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The next state."""
        x, (h,) = self._ready(input, {"hidden": hx})
        from_input, from_state = self._sums(x, h)
        i_r, i_z, i_n = from_input.chunk(3, 1)
        h_r, h_z, h_n = from_state.chunk(3, 1)
        r, z = (h_r + i_r).sigmoid(), (h_z + i_z).sigmoid()
        n = (i_n + h_n * r).tanh()
        after: Tensor = (h - n) * z + n
        return after if input.dim() == 2 else after.squeeze(0)
