"""nflows: A masked autoregressive flow is fitted to two moons."""

import numpy as np
import torch
from nflows.distributions.normal import StandardNormal
from nflows.flows.base import Flow
from nflows.transforms.autoregressive import MaskedAffineAutoregressiveTransform
from nflows.transforms.base import CompositeTransform
from nflows.transforms.permutations import ReversePermutation

torch.manual_seed(0)
angles = np.linspace(0, np.pi, 64, dtype=np.float32)
upper = np.stack([np.cos(angles), np.sin(angles)], 1)
x = torch.from_numpy(np.concatenate([upper, 1 - upper - [0, 0.5]]).astype(np.float32))
parts = []
for _ in range(3):
    parts += [ReversePermutation(2), MaskedAffineAutoregressiveTransform(2, hidden_features=8)]
flow = Flow(CompositeTransform(parts), StandardNormal([2]))
optimizer = torch.optim.Adam(flow.parameters(), lr=1e-2)
for step in range(30):
    optimizer.zero_grad()
    loss = -flow.log_prob(inputs=x).mean()
    loss.backward()
    optimizer.step()
    if step % 10 == 9:
        print(step, f"{loss.item():.4f}")
with torch.no_grad():
    print(flow.sample(3).shape, f"{flow.log_prob(torch.zeros(1, 2)).item():.3f}")
