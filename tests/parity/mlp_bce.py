"""A multilayer perceptron that tells two rings apart, with binary cross entropy."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

angles = 6.2831853 * torch.rand(400)
labels = torch.randint(0, 2, (400,)).float()
radius = 1.0 + labels + 0.2 * torch.randn(400)
points = torch.stack([radius * torch.cos(angles), radius * torch.sin(angles)], dim=1)
loader = DataLoader(TensorDataset(points, labels.unsqueeze(1)), batch_size=40, shuffle=True)


class Classifier(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        # The gradient of a bias before a normalization is rounding noise, which Adam magnifies.
        self.hidden = nn.Sequential(nn.Linear(2, width, bias=False), nn.BatchNorm1d(width))
        self.deeper = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Dropout(0.1))
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        return self.out(self.deeper(torch.tanh(self.hidden(x))))


model = Classifier()
loss_function = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

losses = []
while len(losses) < 100:
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = loss_function(model(inputs), targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())

model.eval()
with torch.no_grad():
    correct = (model(points) > 0).squeeze(1) == labels.bool()
final = {"accuracy": correct.float().mean().item()}
final |= {name: b.float().tolist() for name, b in model.named_buffers()}
