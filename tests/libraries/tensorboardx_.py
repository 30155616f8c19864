"""tensorboardX: Scalars, histograms, images and text of a training are written as events."""

import tempfile
from pathlib import Path

import torch
from tensorboardX import SummaryWriter
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(20, 3)
with tempfile.TemporaryDirectory() as folder:
    with SummaryWriter(folder) as writer:
        for step in range(5):
            loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            writer.add_scalar("loss", loss, step)
            writer.add_histogram("weight", model.weight, step)
            print(step, f"{loss.item():.5f}")
        writer.add_image("noise", torch.rand(3, 8, 8), 0)
        writer.add_text("note", "a run")
        writer.add_scalars("both", {"a": loss, "b": 2 * loss}, 0)
        writer.add_pr_curve("curve", torch.tensor([0, 1, 1]), torch.tensor([0.1, 0.8, 0.4]), 0)
    print(sorted({path.suffix[:1] or path.name[:6] for path in Path(folder).rglob("events*")}))
