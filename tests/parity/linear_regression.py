"""Linear regression by stochastic gradient descent."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(0)

weights = torch.tensor([[2.0], [-3.4], [0.5]])
x = torch.randn(320, 3)
y = x @ weights + 4.2 + 0.1 * torch.randn(320, 1)
train, held_out = random_split(TensorDataset(x, y), [0.8, 0.2])
loader = DataLoader(train, batch_size=32, shuffle=True)

model = nn.Linear(3, 1)
loss_function = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.5, weight_decay=1e-4)

losses = []
while len(losses) < 100:
    for inputs, targets in loader:
        loss = loss_function(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())

model.eval()
with torch.no_grad():
    inputs, targets = held_out.dataset[held_out.indices]
    final = {"held out": loss_function(model(inputs), targets).item()}
    final |= {name: p.flatten().tolist() for name, p in model.named_parameters()}
