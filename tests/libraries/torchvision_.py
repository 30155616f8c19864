"""torchvision: Transforms, a data set of pictures on disk, steps of training of a ResNet."""

import tempfile
from pathlib import Path

import numpy as np
import torch
import torchvision
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader
from torchvision import transforms
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2
from torchvision.utils import make_grid

torch.manual_seed(0)
rows, columns = np.mgrid[:72, :72]
with tempfile.TemporaryDirectory() as folder:
    for kind in range(2):
        (Path(folder) / f"kind{kind}").mkdir()
        for k in range(4):
            pixels = np.stack([rows * 3, columns * 3, (rows + kind * 40 + k) % 256], -1)
            Image.fromarray(pixels.astype(np.uint8)).save(f"{folder}/kind{kind}/{k}.png")
    change = transforms.Compose(
        [
            transforms.Resize(70),
            transforms.RandomCrop(64),
            transforms.RandomHorizontalFlip(),
            transforms.ColorJitter(0.2, 0.2),
            transforms.ToTensor(),
            transforms.Normalize([0.5] * 3, [0.25] * 3),
        ]
    )
    pictures = ImageFolder(folder, change)
    print(pictures.classes, len(pictures), tuple(pictures[0][0].shape))
    x, y = next(iter(DataLoader(pictures, batch_size=8, shuffle=True)))
print(f"{x.mean().item():.4f} {x.std().item():.4f}", y.tolist())
print(tuple(make_grid(x, nrow=4).shape))
picture = torch.arange(48.0).view(3, 4, 4) / 48
more = v2.Compose([v2.RandomHorizontalFlip(1.0), v2.CenterCrop(2), v2.Grayscale()])
print(more(picture))
print(
    transforms.functional.rotate(picture, 90)[0],
    transforms.functional.adjust_gamma(picture, 2)[0, 0],
)
model = torchvision.models.resnet18(num_classes=2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
for step in range(3):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, f"{loss.item():.3f}")
