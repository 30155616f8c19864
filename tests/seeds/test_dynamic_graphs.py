"""Dynamic graphs, functions, leaves, gradients inside."""

from pathlib import Path

import nanotorch as torch
from nanotorch import nn
from nanotorch.utils.tensorboard import SummaryWriter
from tests.utils.tensorboard.records import graph_of


def test_the_graph_of_a_module_goes_to_tensorboard(tmp_path: Path) -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = nn.Parameter(torch.randn(2, 1))
            self.b = nn.Parameter(torch.zeros(1, 1))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x @ self.w + self.b

    writer = SummaryWriter(str(tmp_path))
    writer.add_graph(Net(), input_to_model=torch.rand(10, 2))
    writer.close()
    names = [node.name for node in graph_of(tmp_path).node]
    for part in ("w", "b", "input", "output"):
        assert any(part in name.lower() for name in names), names
