"""Layers that a sequence needs and PyTorch writes as code: only configurations know them."""

import nanotorch as torch
from nanotorch import nn

from .components import LAYERS as LAYERS


@LAYERS.register
class Positions(nn.Module):
    """Adds to each place of a sequence what was learned for that place: x + weight[:T].

    Args:
        d_model: how many features a place has.
        length: how many places there are at most.

    Shape:
        (N, T, d_model) with T <= length; the same comes out.
    """

    def __init__(self, d_model: int, length: int) -> None:
        super().__init__()
        self.length = length
        self.weight = nn.Parameter(torch.empty(length, d_model))
        nn.init.normal_(self.weight, std=0.02)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return `x` with the positions added."""
        places = x.shape[-2]
        if places > self.length:
            raise ValueError(f"{places} places are more than the length {self.length}")
        return x + self.weight[:places]

    def extra_repr(self) -> str:
        """Return the arguments."""
        return f"{self.weight.shape[1]}, length={self.length}"


@LAYERS.register
class Causal(nn.Module):
    """A layer that is called with a mask, so that no place of a sequence sees a later one.

    Args:
        layer: what is called as `layer(x, mask, is_causal=True)`, such as a TransformerEncoder.

    Shape:
        (N, T, features); batches come first.
    """

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return what the layer gives."""
        places = x.shape[-2]
        mask = torch.triu(torch.full((places, places), float("-inf")), diagonal=1)
        result: torch.Tensor = self.layer(x, mask, is_causal=True)
        return result


@LAYERS.register
class Item(nn.Module):
    """One of several things that the layer before gives, such as the outputs of a recurrent one.

    Args:
        index: which, counted from 0.
    """

    def __init__(self, index: int = 0) -> None:
        super().__init__()
        self.index = index

    def forward(self, x: tuple[torch.Tensor, ...]) -> torch.Tensor:
        """Return it."""
        return x[self.index]

    def extra_repr(self) -> str:
        """Return the argument."""
        return str(self.index)


@LAYERS.register
class Place(nn.Module):
    """One place of a sequence.

    Args:
        index: which; the last one by default.

    Shape:
        (N, T, features) becomes (N, features).
    """

    def __init__(self, index: int = -1) -> None:
        super().__init__()
        self.index = index

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the features there."""
        return x[:, self.index]

    def extra_repr(self) -> str:
        """Return the argument."""
        return str(self.index)
