"""kornia: Pictures are blurred, rotated and searched for edges, with gradients."""

import kornia
import torch

torch.manual_seed(0)
x = torch.rand(2, 3, 16, 16, requires_grad=True)
y = kornia.filters.gaussian_blur2d(x, (3, 3), (1.0, 1.0))
y = kornia.geometry.rotate(y, torch.tensor([20.0, 40.0]))
edges = kornia.filters.sobel(kornia.color.rgb_to_grayscale(y))
edges.sum().backward()
print(f"{y.sum().item():.3f} {edges.sum().item():.3f} {x.grad.abs().sum().item():.3f}")
print(f"{kornia.metrics.psnr(x, y.detach(), 1.0).item():.4f}")
