# %% [markdown]
# # Two moons: a boundary that learns to bend
#
# Two half circles of points, which no straight line divides. A network with two hidden layers
# gives each place of the plane a number, the logit: above 0 it says blue, below 0 it says red.
# Where it is 0, there is the boundary.

# %%
from base64 import b64encode
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
from IPython.display import HTML
from matplotlib.animation import FuncAnimation, PillowWriter

import nanotorch as torch
from nanotorch import nn

torch.manual_seed(0)
angle = torch.pi * torch.rand(300)
upper = torch.stack([torch.cos(angle), torch.sin(angle)], dim=1)
lower = torch.stack([1 - torch.cos(angle), 0.5 - torch.sin(angle)], dim=1)
points = torch.cat([upper, lower]) + 0.15 * torch.randn(600, 2)
labels = torch.cat([torch.ones(300), torch.zeros(300)])

# %% [markdown]
# ## The loss, and why it takes logits
#
# The sigmoid makes a probability of the logit. The binary cross-entropy is the negative logarithm
# of the probability that the right class got. Its derivative by the logit is as simple as can be:
# the probability minus the label.

# %%
logits = torch.tensor([-2.0, 0.5, 3.0], requires_grad=True)
y = torch.tensor([0.0, 1.0, 0.0])
loss = nn.functional.binary_cross_entropy_with_logits(logits, y, reduction="sum")
loss.backward()
print(logits.grad)
print(torch.sigmoid(logits.detach()) - y)

# %% [markdown]
# The function takes logits, not probabilities. At the logit -200 the probability is 0 in float32,
# and its logarithm is -inf. From the logit itself, the loss is 200.

# %%
far, one = torch.tensor([-200.0]), torch.tensor([1.0])
print(-torch.log(torch.sigmoid(far)))
print(nn.functional.binary_cross_entropy_with_logits(far, one))

# %% [markdown]
# ## Training
#
# The loop keeps the network's answer on a grid of places after every pass, for the picture.

# %%
model = nn.Sequential(
    nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1), nn.Flatten(0)
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
across, up = torch.linspace(-1.6, 2.6, 85), torch.linspace(-1.1, 1.6, 55)
grid = torch.stack(torch.meshgrid(across, up, indexing="xy"), dim=-1)

losses, answers = [], []
for _ in range(40):
    with torch.no_grad():
        answers.append(torch.sigmoid(model(grid.reshape(-1, 2))).reshape(55, 85).numpy())
    for batch in torch.randperm(600).split(50):
        optimizer.zero_grad()
        loss = nn.functional.binary_cross_entropy_with_logits(model(points[batch]), labels[batch])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())

with torch.no_grad():
    right = ((model(points) > 0) == (labels > 0.5)).float().mean()
print(f"loss {np.mean(losses[-12:]):.3f}, right {right:.1%}")

# %%
figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
axes.plot(np.arange(len(losses)) / 12, losses, linewidth=0.8)
_ = axes.set(xlabel="pass through the data", ylabel="loss", title="The loss of each batch")

# %% [markdown]
# ## The boundary moves
#
# First it is a straight line: near 0, tanh is almost linear, and so is the network. It bends as
# the weights grow.

# %%
figure, axes = plt.subplots(figsize=(6, 4), dpi=80, layout="constrained")


def draw(epoch, axes=axes):
    axes.clear()
    place = (across.numpy(), up.numpy(), answers[epoch])
    axes.contourf(*place, np.linspace(0, 1, 11), cmap="RdBu", alpha=0.6)
    axes.contour(*place, [0.5], colors="k")
    axes.scatter(*points.T.numpy(), c=labels.numpy(), cmap="RdBu", s=6, linewidths=0)
    axes.set(title=f"after {epoch} passes", xticks=[], yticks=[])


with TemporaryDirectory() as folder:
    file = Path(folder) / "moving.gif"
    FuncAnimation(figure, draw, frames=range(0, 40, 2)).save(file, PillowWriter(5))
    picture = b64encode(file.read_bytes()).decode()
plt.close(figure)  # without this, the last picture is shown as well
HTML(f'<img src="data:image/gif;base64,{picture}">')

# %% [markdown]
# Four of them side by side:

# %%
figure, panels = plt.subplots(1, 4, figsize=(12, 2.4), layout="constrained")
for axes, epoch in zip(panels, (0, 3, 8, 39), strict=True):
    draw(epoch, axes)

# %% [markdown]
# ## Try it
#
# - Take both `nn.Tanh()` away. What is the best that a straight line can do?
# - Give the model 2 hidden units instead of 16. How often can the boundary bend?
# - Ask the model for a point far outside, such as (10, 10). How sure is it there, and should it
#   be?
# - `scripts/train.py --config configs/two_moons.yaml` trains the same network and draws it.
