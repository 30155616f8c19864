"""pykan: A Kolmogorov-Arnold network is fitted to a function, by Adam and by LBFGS."""

import torch
from kan import KAN, create_dataset

torch.set_default_dtype(torch.float64)
torch.manual_seed(0)
model = KAN(width=[2, 3, 1], grid=3, k=3, seed=0, auto_save=False)
data = create_dataset(
    lambda x: torch.exp(torch.sin(torch.pi * x[:, [0]]) + x[:, [1]] ** 2),
    n_var=2, train_num=100, test_num=50,
)  # fmt: skip
print({name: values.shape for name, values in data.items()})
results = model.fit(data, opt="Adam", steps=10, lamb=0.001, lr=0.01)
print([f"{loss.item():.4f}" for loss in results["train_loss"]])
results = model.fit(data, opt="LBFGS", steps=3)
print([f"{loss.item():.3f}" for loss in results["test_loss"]])
