"""norse: Spiking neurons in a network over ten steps, with gradients."""

import norse.torch as norse
import torch

torch.manual_seed(0)
net = norse.SequentialState(
    torch.nn.Linear(4, 8), norse.LIFCell(), torch.nn.Linear(8, 2), norse.LICell()
)
state = None
for current in torch.randn(10, 3, 4) * 5:
    out, state = net(current, state)
out.sum().backward()
print(f"{out.sum().item():.4f} {net[0].weight.grad.abs().sum().item():.4f}")
