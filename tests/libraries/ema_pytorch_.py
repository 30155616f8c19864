"""ema-pytorch: Averages of the weights over a training, and what they predict."""

import torch
from ema_pytorch import EMA

torch.manual_seed(0)
net = torch.nn.Sequential(
    torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Tanh(), torch.nn.Linear(8, 1)
)
ema = EMA(net, beta=0.9, update_after_step=2, update_every=2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(32, 4)
y = x.sum(1, keepdim=True)
for _ in range(12):
    optimizer.zero_grad()
    loss = (net(x) - y).square().mean()
    loss.backward()
    optimizer.step()
    ema.update()
print(f"{loss.item():.4f}", ema.initted, ema.step)
net.eval()
ema.eval()
print((net(x[:3]) - y[:3]).abs().tolist(), (ema(x[:3]) - y[:3]).abs().tolist())
print(sorted(ema.state_dict()))
