"""torchinfo: The table of a convolutional network: shapes, parameters, arithmetic, memory."""

from torch import nn
from torchinfo import summary

model = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1),
    nn.BatchNorm2d(8),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Flatten(),
    nn.Linear(8 * 14 * 14, 32),
    nn.Dropout(),
    nn.Linear(32, 10),
)
columns = ["input_size", "output_size", "num_params", "kernel_size", "mult_adds"]
print(summary(model, input_size=(2, 1, 28, 28), col_names=columns, verbose=0))
found = summary(nn.LSTM(4, 8, batch_first=True), input_size=(2, 5, 4), verbose=0)
print(found.total_params, found.total_mult_adds)
