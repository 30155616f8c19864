"""captum: Integrated gradients, saliency, occlusion and GradCAM of a trained network."""

import torch
from captum.attr import IntegratedGradients, LayerGradCam, Occlusion, Saliency
from torch import nn

torch.manual_seed(0)
x = torch.rand(64, 3)
y = (x[:, 0] > x[:, 1]).long()
model = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for _ in range(50):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.4f}")
attributions, delta = IntegratedGradients(model).attribute(
    x[:2], target=1, return_convergence_delta=True
)
print(attributions.round(decimals=3), delta.abs().max().item() < 0.05)
print(Saliency(model).attribute(x[:2].clone().requires_grad_(), target=0).round(decimals=3))
print(Occlusion(model).attribute(x[:1], target=0, sliding_window_shapes=(1,)).round(decimals=3))
picture = nn.Sequential(
    nn.Conv2d(1, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2)
)
print(LayerGradCam(picture, picture[0]).attribute(torch.rand(1, 1, 8, 8), target=1).shape)
