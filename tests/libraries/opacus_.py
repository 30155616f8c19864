"""opacus: A network is trained with clipped gradients of each sample."""

import warnings

import torch
from opacus import PrivacyEngine
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.simplefilter("ignore")
torch.manual_seed(0)
x = torch.randn(32, 4)
loader = DataLoader(TensorDataset(x, (x.sum(1) > 0).long()), 8)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
model, optimizer, loader = PrivacyEngine().make_private(
    module=model, optimizer=torch.optim.SGD(model.parameters(), 0.1), data_loader=loader,
    noise_multiplier=0.0, max_grad_norm=1.0, poisson_sampling=False,
)  # fmt: skip
for inputs, labels in loader:
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(inputs), labels)
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.5f}")
