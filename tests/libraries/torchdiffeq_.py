"""torchdiffeq: A spiral is fitted by a neural equation, with and without the adjoint method."""

import torch
from torch import nn
from torchdiffeq import odeint, odeint_adjoint

torch.manual_seed(0)
true = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
start, times = torch.tensor([[2.0, 0.0]]), torch.linspace(0, 2, 20)
with torch.no_grad():
    path = odeint(lambda t, y: y**3 @ true, start, times, method="dopri5")
print(path[-1])


class Field(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 20), nn.Tanh(), nn.Linear(20, 2))

    def forward(self, t, y):
        return self.net(y**3)


for solve in (odeint, odeint_adjoint):
    torch.manual_seed(1)
    field = Field()
    optimizer = torch.optim.RMSprop(field.parameters(), lr=1e-2)
    for step in range(6):
        optimizer.zero_grad()
        loss = (solve(field, start, times, rtol=1e-5, atol=1e-6) - path).abs().mean()
        loss.backward()
        optimizer.step()
        print(solve.__name__, step, f"{loss.item():.4f}")
