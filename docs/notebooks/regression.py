# %% [markdown]
# # A straight line, twice: gradient descent and least squares
#
# For a linear model, the best weights can be computed at once, by least squares. So here one can
# see whether gradient descent finds the right ones, and how long it takes.

# %%
import matplotlib.pyplot as plt
import numpy as np

import nanotorch as torch
from nanotorch import nn

torch.manual_seed(0)
x = 20 + 10 * torch.rand(60)  # temperatures, say, between 20 and 30 degrees
y = 2.5 * x - 30 + 4 * torch.randn(60)

# %% [markdown]
# ## The answer of least squares
#
# With a column of ones for the intercept, the model is a product of a matrix and the vector of
# the slope and the intercept. `lstsq` gives the vector with the least sum of squares.

# %%
table = torch.stack([x, torch.ones(60)], dim=1)
best = torch.linalg.lstsq(table, y.unsqueeze(1)).solution.squeeze(1)
print(f"slope {best[0]:.4f}, intercept {best[1]:.4f}")

# %% [markdown]
# ## The walk there
#
# The same loss for gradient descent: the mean of the squared differences. The step must be short,
# for the loss is steep in one direction. The figure shows the loss over both weights, and the
# path.


# %%
def loss_of(slope, intercept, x, y):
    return ((slope * x + intercept - y) ** 2).mean()


def descend(x, y, lr, steps):
    """The weights (slope, intercept) step by step; shape (steps + 1, 2)."""
    weights = torch.zeros(2, requires_grad=True)
    path = [weights.detach().clone()]
    for _ in range(steps):
        loss_of(weights[0], weights[1], x, y).backward()
        with torch.no_grad():
            weights -= lr * weights.grad
        weights.grad = None
        path.append(weights.detach().clone())
    return torch.stack(path)


path = descend(x, y, lr=1e-3, steps=1000)
print(f"after 1000 steps: slope {path[-1][0]:.4f}, intercept {path[-1][1]:.4f}")
print(f"least squares:    slope {best[0]:.4f}, intercept {best[1]:.4f}")


# %%
def landscape(axes, x, y, best, path, spans):
    """The loss around the best weights, and the path over it."""
    sides = [
        np.linspace(float(middle) - span, float(middle) + span, 150)
        for middle, span in zip(best, spans, strict=True)
    ]
    slope, intercept = (torch.tensor(side, dtype=torch.float32) for side in np.meshgrid(*sides))
    heights = ((slope[..., None] * x + intercept[..., None] - y) ** 2).mean(dim=-1)
    lowest = float(heights.min())
    levels = lowest * np.geomspace(1.01, float(heights.max()) / lowest, 14)
    axes.contour(*sides, heights.numpy(), levels, colors="0.75", linewidths=0.8)
    axes.plot(*path.T.numpy(), ".-", color="tab:red", markersize=3, label="gradient descent")
    axes.plot(*best.tolist(), "k*", markersize=12, label="least squares")
    axes.set(xlabel="slope", ylabel="intercept")
    axes.legend(loc="upper right")


figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
landscape(left, x, y, best, path, (3, 40))
left.set_title("1000 steps in a narrow valley")
right.plot(x.numpy(), y.numpy(), ".", color="0.5")
ends = torch.tensor([20.0, 30.0])
for name, weights, color in (("least squares", best, "k"), ("1000 steps", path[-1], "tab:red")):
    right.plot(ends.numpy(), (weights[0] * ends + weights[1]).numpy(), color=color, label=name)
right.set(xlabel="x", ylabel="y", title="The two lines")
_ = right.legend()

# %% [markdown]
# The path falls into the valley in a few steps, and then hardly moves: along the valley the loss
# is almost flat. A higher slope with a lower intercept gives nearly the same line on data between
# 20 and 30.
#
# ## Standardize first
#
# Shift x to the mean 0 and scale it to the spread 1. Then slope and intercept no longer depend on
# each other, the valley becomes a round bowl, and the step may be 100 times as long.

# %%
u = (x - x.mean()) / x.std()
round_best = torch.linalg.lstsq(
    torch.stack([u, torch.ones(60)], dim=1), y.unsqueeze(1)
).solution.squeeze(1)
round_path = descend(u, y, lr=0.1, steps=60)

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
landscape(left, u, y, round_best, round_path, (45, 45))
left.set_aspect("equal")
left.set_title("60 steps in a round bowl")
least = float(loss_of(best[0], best[1], x, y))
for name, walked, inputs in (("as measured", path, x), ("standardized", round_path, u)):
    losses = [float(loss_of(w[0], w[1], inputs, y)) - least for w in walked]
    right.loglog(range(1, len(losses) + 1), losses, label=name)
right.set(xlabel="step", ylabel="loss above the least one", title="How fast it falls")
right.set_ylim(1e-5, 1e4)
_ = right.legend()

# %% [markdown]
# ## The same with a module and an optimizer
#
# `nn.Linear` holds the weights, `SGD` does the step, and the result is that of least squares, to
# all digits that float32 has.

# %%
model = nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(200):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(u.unsqueeze(1)), y.unsqueeze(1))
    loss.backward()
    optimizer.step()
print(f"SGD:           {model.weight.item():.4f} {model.bias.item():.4f}")
print(f"least squares: {round_best[0]:.4f} {round_best[1]:.4f}")

# %% [markdown]
# ## Try it
#
# - Raise `lr` of the first walk to 2e-3. At which value does it blow up?
# - Leave out `weights.grad = None`. What does the path look like? (`python -m nanotorch.learn 5`)
# - `scripts/train.py --config configs/linear_regression.yaml` does this on measurements of 442
#   patients.
