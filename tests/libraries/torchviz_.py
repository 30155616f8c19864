"""torchviz: The graph of a network's output as DOT."""

import re

import torch
from torch import nn
from torchviz import make_dot

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 1))
y = model(torch.randn(2, 4)).mean()
dot = make_dot(y, params=dict(model.named_parameters())).source
numbers = {}
for line in dot.splitlines():
    print(re.sub(r"\d{6,}", lambda m: f"n{numbers.setdefault(m[0], len(numbers))}", line))
