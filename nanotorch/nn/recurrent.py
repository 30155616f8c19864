"""Recurrent layers: `RNN`, `GRU` and `LSTM`."""

from typing import Any

import numpy as np

from nanotorch import ops
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.nn.recurrent_base import Hidden, RNNBase
from nanotorch.ops.affine import linear
from nanotorch.ops.elman import elman_steps
from nanotorch.ops.gru import gru_steps
from nanotorch.ops.lstm import lstm_steps
from nanotorch.ops.recurrence import Sizes


def last_state(states: Tensor, sizes: Sizes, reverse: bool) -> Tensor:
    """Of the states after every step, those after the last of each sequence."""
    count, total = sizes[0], sum(sizes)
    if states.ndim == 3:
        return states[0 if reverse else -1]
    if reverse:
        return states[:count]
    if sizes[-1] == count:
        return states[total - count :]
    lengths = np.add.reduce(np.asarray(sizes)[:, None] > np.arange(count), 0)
    ends = np.cumsum((0, *sizes))[lengths - 1] + np.arange(count)
    rows: Tensor = states.index_select(0, wrap(ends))
    return rows


def refuse_projection(options: dict[str, Any]) -> None:
    """Refuse the option that only an LSTM has."""
    if "proj_size" in options:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")


class RNN(RNNBase):
    """``h' = φ(weight_ih x + bias_ih + weight_hh h + bias_hh)`` for every step.

    Args:
        input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional: see
            `RNNBase`.
        nonlinearity: φ, "tanh" or "relu"; the fourth argument, before ``bias``. Default: "tanh".

    Shape:
        Input (T, N, I), state (layers * directions, N, H); output (T, N, H * directions).

    Attributes:
        weight_ih_l0, ...: (H, I), of further layers (H, H * directions).
        weight_hh_l0, ...: (H, H).
        bias_ih_l0, bias_hh_l0, ...: (H,). Names end in ``_reverse`` for the other direction.

    Reference:
        Elman, Finding structure in time, Cognitive Science 1990.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        refuse_projection(kwargs)
        nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if len(args) > 3:
            nonlinearity, args = args[3], args[:3] + args[4:]
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'."
            )
        super().__init__(f"RNN_{nonlinearity.upper()}", *args, **kwargs)
        self.nonlinearity = nonlinearity

    def _direction(
        self, x: Tensor, initial: Hidden, weights: list[Tensor], sizes: Sizes, reverse: bool
    ) -> tuple[Tensor, Hidden]:
        gates = linear(x, weights[0], weights[2] + weights[3] if self.bias else None)
        output = elman_steps(gates, initial[0], weights[1], self.nonlinearity, sizes, reverse)
        return output, (last_state(output, sizes, reverse),)


class GRU(RNNBase):
    """Gated recurrent units; see `nanotorch.ops.gru` for the formulas.

    Args:
        input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional: see
            `RNNBase`.

    Shape:
        Input (T, N, I), state (layers * directions, N, H); output (T, N, H * directions).

    Attributes:
        weight_ih_l0, ...: (3H, I) for r, z and n; of further layers (3H, H * directions).
        weight_hh_l0, ...: (3H, H).
        bias_ih_l0, bias_hh_l0, ...: (3H,). Names end in ``_reverse`` for the other direction.

    Reference:
        Cho et al., Learning phrase representations using RNN encoder-decoder for statistical
        machine translation, 2014.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        refuse_projection(kwargs)
        super().__init__("GRU", *args, **kwargs)

    def _direction(
        self, x: Tensor, initial: Hidden, weights: list[Tensor], sizes: Sizes, reverse: bool
    ) -> tuple[Tensor, Hidden]:
        bias_ih, bias_hh = weights[2:] if self.bias else (None, None)
        gates = linear(x, weights[0], bias_ih)
        output, _ = gru_steps(gates, initial[0], weights[1], bias_hh, sizes, reverse)
        return output, (last_state(output, sizes, reverse),)


class LSTM(RNNBase):
    """Long short-term memory; see `nanotorch.ops.lstm` for the formulas.

    Args:
        input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size:
            see `RNNBase`.

    Shape:
        Input (T, N, I); state (h, c), h of (layers * directions, N, P or H) and c of
        (layers * directions, N, H); output (T, N, (P or H) * directions).

    Attributes:
        weight_ih_l0, ...: (4H, I) for i, f, g and o; of further layers of the size of the output.
        weight_hh_l0, ...: (4H, P or H).
        bias_ih_l0, bias_hh_l0, ...: (4H,). Names end in ``_reverse`` for the other direction.
        weight_hr_l0, ...: (P, H), with a projection.

    Reference:
        Hochreiter and Schmidhuber, Long short-term memory, Neural Computation 1997.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(
        self, input: Tensor, batch_sizes: Tensor | None
    ) -> tuple[int, int, int]:
        """The size of c: (layers * directions, N, H)."""
        layers, count, _ = self.get_expected_hidden_size(input, batch_sizes)
        return layers, count, self.hidden_size

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Refuse an input or a state that does not fit."""
        self.check_input(input, batch_sizes)
        expected = self.get_expected_hidden_size(input, batch_sizes)
        self.check_hidden_size(hidden[0], expected, "Expected hidden[0] size {}, got {}")
        cell = self.get_expected_cell_size(input, batch_sizes)
        self.check_hidden_size(hidden[1], cell, "Expected hidden[1] size {}, got {}")

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """Both parts of the state with their sequences in another order."""
        return self._each(hx, lambda state: super(LSTM, self).permute_hidden(state, permutation))

    def _refuse_state(self, hx: Any, batched: bool) -> None:
        if hx[0].dim() != (3 if batched else 2) or hx[1].dim() != (3 if batched else 2):
            what, count = ("batched 3-D", 3) if batched else ("unbatched 2-D", 2)
            raise RuntimeError(
                f"For {what} input, hx and cx should also be {count}-D but got "
                f"({hx[0].dim()}-D, {hx[1].dim()}-D) tensors"
            )

    def _zeros(self, count: int, like: Tensor) -> Any:
        layers = self.num_layers * (1 + self.bidirectional)
        return super()._zeros(count, like), ops.zeros(
            layers, count, self.hidden_size, dtype=like.dtype
        )

    def _each(self, hx: Any, function: Any) -> Any:
        return function(hx[0]), function(hx[1])

    def _direction(
        self, x: Tensor, initial: Hidden, weights: list[Tensor], sizes: Sizes, reverse: bool
    ) -> tuple[Tensor, Hidden]:
        gates = linear(x, weights[0], weights[2] + weights[3] if self.bias else None)
        projection = weights[-1] if self.proj_size else None
        output, cells, _ = lstm_steps(gates, *initial, weights[1], projection, sizes, reverse)
        return output, (last_state(output, sizes, reverse), last_state(cells, sizes, reverse))
