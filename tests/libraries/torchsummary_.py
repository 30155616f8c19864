"""torchsummary: The table of a convolutional network, by its forward hooks."""

from torch import nn
from torchsummary import summary

model = nn.Sequential(
    nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8 * 13 * 13, 10)
)
summary(model, (1, 28, 28), device="cpu")
