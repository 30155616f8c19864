"""entmax: Sparse distributions in place of softmax, and their loss, trained."""

import torch
from entmax import Entmax15Loss, entmax15, entmax_bisect, sparsemax
from torch import nn

torch.manual_seed(0)
scores = torch.tensor([[-2.0, 0.0, 0.5], [1.0, 1.2, 3.0]])
for function in (sparsemax, entmax15, lambda s, dim: entmax_bisect(s, alpha=1.3, dim=dim)):
    print(function(scores, dim=1))
model, x, y = nn.Linear(4, 3), torch.randn(12, 4), torch.arange(12) % 3
optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
loss_of = Entmax15Loss(reduction="elementwise_mean")
for step in range(5):
    loss = loss_of(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, f"{loss.item():.5f}")
