"""timm: A ResNet and a vision transformer: forward and backward, features, optimizer, schedule."""

import timm
import torch
from timm.optim import create_optimizer_v2
from timm.scheduler import CosineLRScheduler
from torch import nn

torch.manual_seed(0)
x, y = torch.randn(2, 3, 64, 64), torch.tensor([1, 3])
for name, options in (
    ("resnet10t", {}),
    ("resnet18", {}),
    ("vit_tiny_patch16_224", {"img_size": 64, "depth": 2}),
):
    model = timm.create_model(name, num_classes=5, **options)
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    total = sum(p.grad.abs().sum().item() for p in model.parameters())
    count = sum(p.numel() for p in model.parameters())
    print(name, count, f"{loss.item():.4f}", f"{total:.4g}")
model = timm.create_model("resnet18", features_only=True)
print([tuple(f.shape) for f in model(x)], model.feature_info.channels())
model = timm.create_model("resnet10t", num_classes=5)
optimizer = create_optimizer_v2(model, opt="adamw", lr=1e-3, weight_decay=0.05)
scheduler = CosineLRScheduler(optimizer, t_initial=5)
for epoch in range(3):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step(epoch + 1)
    print(epoch, f"{loss.item():.3f}", f"{optimizer.param_groups[0]['lr']:.6f}")
print("resnet18" in timm.list_models("resnet*"))
