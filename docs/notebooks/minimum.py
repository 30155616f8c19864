# %% [markdown]
# # Downhill: the minimum of a function, and the path to it
#
# The gradient of a function points uphill. Gradient descent goes a small step the other way,
# again and again. All training of networks is this walk, in more dimensions than can be drawn.
# Here there are two.

# %%
from base64 import b64encode
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
from IPython.display import HTML
from matplotlib.animation import FuncAnimation, PillowWriter

import nanotorch as torch


def himmelblau(x):
    """Four minima, all of them 0; x has shape (..., 2)."""
    a, b = x[..., 0], x[..., 1]
    return (a**2 + b - 11) ** 2 + (a + b**2 - 7) ** 2


# %% [markdown]
# ## One gradient
#
# `backward()` fills `x.grad` with the derivatives by both coordinates.

# %%
x = torch.tensor([-1.0, -2.0], requires_grad=True)
z = himmelblau(x)
z.backward()
print(z)
print(x.grad)

# %% [markdown]
# How did it get them? `explain` runs the same pass and keeps what happened. Move the slider: first
# through the operations, then through their derivatives, in the order of the engine.

# %%
x.grad = None
z = himmelblau(x)
torch.autograd.explain(z)

# %% [markdown]
# In a map of the function, the arrow shows the direction of a step: against the gradient, at right
# angles to the contour line.


# %%
def contours(axes, f, low=-5.0, high=5.0):
    """Draw contour lines, close together near the minima."""
    side = torch.linspace(low, high, 200)
    a, b = torch.meshgrid(side, side, indexing="xy")
    heights = f(torch.stack([a, b], dim=-1)).numpy()
    levels = np.geomspace(0.5, heights.max(), 16)
    axes.contour(side.numpy(), side.numpy(), heights, levels, colors="0.75", linewidths=0.8)
    axes.set(xlim=(low, high), ylim=(low, high), aspect="equal", xlabel="x[0]", ylabel="x[1]")


figure, axes = plt.subplots(figsize=(5, 5))
contours(axes, himmelblau)
down = -x.grad / x.grad.norm()
axes.arrow(*x.tolist(), *down.tolist(), width=0.05, color="tab:red", length_includes_head=True)
axes.plot(*x.tolist(), "ko")
_ = axes.set_title("A point, and the step's direction")

# %% [markdown]
# ## The path
#
# The loop is that of every training: empty the gradient, compute the value, go backward, step.
# Only that here the function has no data and two parameters. How long may a step be? `lr`, the
# learning rate, says by what the gradient is multiplied.


# %%
def descend(optimizer_of, start, steps, f=himmelblau):
    """Where an optimizer gets to, step by step; shape (steps + 1, 2)."""
    x = torch.tensor(start, requires_grad=True)
    optimizer = optimizer_of([x])
    path = [x.detach().clone()]
    for _ in range(steps):
        optimizer.zero_grad()
        f(x).backward()
        optimizer.step()
        path.append(x.detach().clone())
    return torch.stack(path)


figure, panels = plt.subplots(1, 3, figsize=(12, 4.2), layout="constrained")
for axes, lr in zip(panels, (0.0005, 0.01, 0.025), strict=True):
    path = descend(lambda params, lr=lr: torch.optim.SGD(params, lr=lr), [-1.0, -2.0], 40)
    contours(axes, himmelblau)
    axes.plot(*path.T.numpy(), ".-", color="tab:red")
    axes.plot(*path[-1].tolist(), "ko")
    axes.set_title(f"lr = {lr}: {himmelblau(path[-1]):.2g} after 40 steps")

# %% [markdown]
# On the left the steps are too short: 40 of them do not arrive. On the right they are too long,
# and the path jumps from one side of the valley to the other.
#
# ## A long valley
#
# In a valley that is steep across and flat along, no step length suits both directions. Momentum
# collects gradients: across the valley they cancel out, along it they add up. Adam divides each
# coordinate by the size that its gradients have had.


# %%
def valley(x):
    return 0.05 * x[..., 0] ** 2 + 2 * x[..., 1] ** 2


OPTIMIZERS = {
    "SGD": lambda params: torch.optim.SGD(params, lr=0.4),
    "SGD with momentum": lambda params: torch.optim.SGD(params, lr=0.15, momentum=0.8),
    "Adam": lambda params: torch.optim.Adam(params, lr=0.4),
}
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
contours(left, valley)
for name, optimizer_of in OPTIMIZERS.items():
    path = descend(optimizer_of, [-4.5, 1.5], 60, valley)
    left.plot(*path.T.numpy(), ".-", label=name, linewidth=1, markersize=4)
    right.semilogy(valley(path).numpy(), label=name)
left.legend()
_ = right.set(xlabel="step", ylabel="value", title="How fast it falls")

# %% [markdown]
# ## Ten starts at once
#
# Where a path ends depends on where it begins: each start finds the minimum of its own valley.
# The engine needs no loop over the starts: x has ten rows, and the sum of ten values has a
# gradient in each of them.

# %%
angles = torch.arange(10) * (2 * torch.pi / 10) + 0.3
starts = (4.5 * torch.stack([torch.cos(angles), torch.sin(angles)], dim=1)).tolist()
paths = descend(
    lambda params: torch.optim.SGD(params, lr=1e-3, momentum=0.9),
    starts, 90, lambda x: himmelblau(x).sum(),
)  # fmt: skip

figure, axes = plt.subplots(figsize=(4.5, 4.5), dpi=80, layout="constrained")
contours(axes, himmelblau)
lines = [axes.plot([], [], linewidth=1.2)[0] for _ in starts]
heads = axes.plot([], [], "ko", markersize=4)[0]


def draw(step):
    for line, path in zip(lines, paths.transpose(0, 1), strict=True):
        line.set_data(*path[: step + 1].T.numpy())
    heads.set_data(*paths[step].T.numpy())
    axes.set_title(f"step {step}")


with TemporaryDirectory() as folder:
    file = Path(folder) / "moving.gif"
    FuncAnimation(figure, draw, frames=range(0, 91, 3)).save(file, PillowWriter(10))
    picture = b64encode(file.read_bytes()).decode()
plt.close(figure)  # without this, the last picture is shown as well
HTML(f'<img src="data:image/gif;base64,{picture}">')

# %% [markdown]
# ## Try it
#
# - Find the largest `lr` at which plain SGD still comes to rest in the valley. (It is 2 divided
#   by the largest second derivative, here 4.)
# - Write the momentum step by hand: `python -m nanotorch.learn 17`.
# - Give the optimizer `nesterov=True`. Which part of the path changes?
