"""vit-pytorch: A vision transformer and a simple one: forward, backward, steps of Adam."""

import torch
from torch import nn
from vit_pytorch import SimpleViT, ViT

torch.manual_seed(0)
x, y = torch.randn(4, 3, 32, 32), torch.tensor([0, 1, 2, 3])
options = {"image_size": 32, "patch_size": 8, "num_classes": 4, "dim": 32, "depth": 2}
for kind, more in ((ViT, {"dropout": 0.1, "emb_dropout": 0.1}), (SimpleViT, {})):
    model = kind(**options, heads=4, mlp_dim=64, **more)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(5):
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(kind.__name__, step, f"{loss.item():.4f}")
