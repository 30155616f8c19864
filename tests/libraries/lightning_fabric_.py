"""lightning-fabric: A loop of one's own: setup, backward, clipping, save and load."""

import tempfile
from pathlib import Path

import torch
from lightning_fabric import Fabric, seed_everything
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

seed_everything(3, verbose=False)
fabric = Fabric(accelerator="cpu", devices=1)
fabric.launch()
x = torch.rand(64, 3)
data = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=16, shuffle=True)
model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
model, optimizer = fabric.setup(model, optimizer)
data = fabric.setup_dataloaders(data)
for epoch in range(5):
    for inputs, targets in data:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(inputs), targets)
        fabric.backward(loss)
        fabric.clip_gradients(model, optimizer, max_norm=1.0)
        optimizer.step()
    print(epoch, f"{loss.item():.5f}")
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "state.ckpt"
    fabric.save(path, {"model": model, "optimizer": optimizer, "epoch": 5})
    state = {"model": model, "optimizer": optimizer}
    rest = fabric.load(path, state)
print(rest, fabric.world_size, fabric.all_reduce(torch.ones(2)).tolist(), fabric.device)
