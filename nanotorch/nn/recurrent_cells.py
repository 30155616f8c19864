"""One step of a recurrent layer: `RNNCell`, `LSTMCell` and `GRUCell`."""

import math
from typing import Any

from nanotorch import ops
from nanotorch._core.tensor import Tensor
from nanotorch.nn import init
from nanotorch.nn.module import Module
from nanotorch.nn.parameter import Parameter
from nanotorch.ops.affine import linear


class RNNCellBase(Module):
    """What the cells share: parameters and checks.

    Args:
        input_size: the size I of the input.
        hidden_size: the size H of the state.
        bias: whether there are biases.
        num_chunks: how many times H rows the weights have.
        device: accepted for PyTorch's sake.
        dtype: of the parameters. Default: the default dtype.
    """

    bias_ih: Tensor | None
    bias_hh: Tensor | None

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = num_chunks * hidden_size

        def parameter(*shape: int) -> Parameter:
            return Parameter(ops.empty(shape, dtype=dtype, device=device))

        self.weight_ih = parameter(rows, input_size)
        self.weight_hh = parameter(rows, hidden_size)
        self.register_parameter("bias_ih", parameter(rows) if bias else None)
        self.register_parameter("bias_hh", parameter(rows) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all parameters uniformly from ±1/√H."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        told = f"{self.input_size}, {self.hidden_size}"
        if not self.bias:
            told += f", bias={self.bias}"
        nonlinearity = getattr(self, "nonlinearity", "tanh")
        return told if nonlinearity == "tanh" else f"{told}, nonlinearity={nonlinearity}"

    def _check(self, input: Tensor, states: dict[str, Tensor]) -> None:
        """Refuse an input or states that are neither single nor batches."""
        for name, tensor in {"input": input, **states}.items():
            if tensor.dim() not in (1, 2):
                raise ValueError(
                    f"{self._get_name()}: Expected {name} to be 1D or 2D, got {tensor.dim()}D "
                    "instead"
                )

    def _ready(self, input: Tensor, states: Any) -> tuple[Tensor, list[Tensor]]:
        """Input and states as batches that fit; zeros without states."""
        batched = input.dim() == 2
        rows = input if batched else input.unsqueeze(0)
        if rows.size(1) != self.input_size:
            raise RuntimeError(
                f"input has inconsistent input_size: got {rows.size(1)} expected {self.input_size}"
            )
        ready = []
        for number, state in enumerate(states):
            if state is None:
                state = ops.zeros(rows.size(0), self.hidden_size, dtype=input.dtype)
            elif not batched:
                state = state.unsqueeze(0)
            if state.dim() != 2:
                raise RuntimeError(
                    f"Expected 2D hidden{number} (batch x hidden_size), but got {state.dim()}D "
                    "tensor"
                )
            if rows.size(0) != state.size(0):
                raise RuntimeError(
                    f"Input batch size {rows.size(0)} doesn't match hidden{number} batch size "
                    f"{state.size(0)}"
                )
            if state.size(1) != self.hidden_size:
                raise RuntimeError(
                    f"hidden{number} has inconsistent hidden_size: got {state.size(1)}, expected "
                    f"{self.hidden_size}"
                )
            ready.append(state)
        return rows, ready

    def _sums(self, input: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """What the input and what the state adds to the gates."""
        from_input = linear(input, self.weight_ih, self.bias_ih)
        return from_input, linear(state, self.weight_hh, self.bias_hh)


class RNNCell(RNNCellBase):
    """``h' = φ(weight_ih x + bias_ih + weight_hh h + bias_hh)``.

    Args:
        input_size: the size I of the input.
        hidden_size: the size H of the state.
        bias: whether there are biases. Default: True.
        nonlinearity: φ, "tanh" or "relu". Default: "tanh".
        device: accepted for PyTorch's sake.
        dtype: of the parameters. Default: the default dtype.

    Shape:
        Input (N, I) or (I,), state and result (N, H) or (H,).

    Attributes:
        weight_ih: (H, I), and weight_hh: (H, H).
        bias_ih, bias_hh: (H,).
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The next state."""
        self._check(input, {} if hx is None else {"hidden": hx})
        x, (h,) = self._ready(input, (hx,))
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        from_input, from_state = self._sums(x, h)
        after = getattr(ops, self.nonlinearity)(from_input + from_state)
        state: Tensor = after if input.dim() == 2 else after.squeeze(0)
        return state


class LSTMCell(RNNCellBase):
    """One step of long short-term memory; see `nanotorch.ops.lstm` for the formulas.

    Args:
        input_size: the size I of the input.
        hidden_size: the size H of the states.
        bias: whether there are biases. Default: True.
        device: accepted for PyTorch's sake.
        dtype: of the parameters. Default: the default dtype.

    Shape:
        Input (N, I) or (I,); states (h, c), and the result, a pair of (N, H) or (H,).

    Attributes:
        weight_ih: (4H, I), and weight_hh: (4H, H), for i, f, g and o.
        bias_ih, bias_hh: (4H,).
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        """The next h and c."""
        if isinstance(hx, Tensor):
            raise TypeError(
                "lstm_cell(): argument 'hx' (position 2) must be tuple of Tensors, not "
                f"{type(hx).__name__}"
            )
        if hx is not None and len(tuple(hx)) != 2:
            raise RuntimeError("lstm_cell expects two hidden states")
        self._check(input, {} if hx is None else {f"hx[{k}]": state for k, state in enumerate(hx)})
        x, (h, c) = self._ready(input, (None, None) if hx is None else hx)
        from_input, from_state = self._sums(x, h)
        i, f, g, o = (from_state + from_input).chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        return (h, c) if input.dim() == 2 else (h.squeeze(0), c.squeeze(0))


class GRUCell(RNNCellBase):
    """One step of a gated recurrent unit; see `nanotorch.ops.gru` for the formulas.

    Args:
        input_size: the size I of the input.
        hidden_size: the size H of the state.
        bias: whether there are biases. Default: True.
        device: accepted for PyTorch's sake.
        dtype: of the parameters. Default: the default dtype.

    Shape:
        Input (N, I) or (I,), state and result (N, H) or (H,).

    Attributes:
        weight_ih: (3H, I), and weight_hh: (3H, H), for r, z and n.
        bias_ih, bias_hh: (3H,).
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The next state."""
        self._check(input, {} if hx is None else {"hidden": hx})
        x, (h,) = self._ready(input, (hx,))
        from_input, from_state = self._sums(x, h)
        i_r, i_z, i_n = from_input.chunk(3, 1)
        h_r, h_z, h_n = from_state.chunk(3, 1)
        r, z = (h_r + i_r).sigmoid(), (h_z + i_z).sigmoid()
        n = (i_n + h_n * r).tanh()
        after: Tensor = (h - n) * z + n
        return after if input.dim() == 2 else after.squeeze(0)
