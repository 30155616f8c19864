# %% [markdown]
# # XOR, and gradients that vanish
#
# XOR is 1 where exactly one of two inputs is 1. It was the first thing that networks without
# hidden layers could not learn. Networks with many hidden layers long could not learn it either,
# for another reason: nothing of the gradient arrived at the first layers.

# %%
import itertools

import matplotlib.pyplot as plt
import numpy as np

import nanotorch as torch
from nanotorch import nn

torch.manual_seed(0)
corners = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
answers = torch.tensor([[0.0], [1.0], [1.0], [0.0]])


def train(model, steps=1000, lr=0.05):
    """Train on the four corners; return the losses."""
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.binary_cross_entropy_with_logits(model(corners), answers)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


# %% [markdown]
# ## One hidden layer is needed, and enough
#
# Without one, the model is a plane, and the best plane says 1/2 everywhere: the loss ends at log
# 2.

# %%
plane = nn.Linear(2, 1)
hidden = nn.Sequential(nn.Linear(2, 8), nn.Sigmoid(), nn.Linear(8, 1))
for name, model in (("no hidden layer", plane), ("one hidden layer", hidden)):
    loss = train(model)[-1]
    with torch.no_grad():
        told = torch.sigmoid(model(corners)).flatten()
    print(f"{name:17} loss {loss:.4f}  answers {told.numpy().round(2)}")

# %% [markdown]
# ## Ten hidden layers
#
# Now ten hidden layers of width 16. The slope of the sigmoid is at most 1/4, and each layer
# multiplies the gradient by such slopes. The histograms show the sizes of all gradients of a
# layer's weights, in powers of ten, before the first step.

# %%
DEPTH = 10


def network(activation, start=None):
    """DEPTH hidden layers; `start` gives a layer's weights their start values."""
    sizes = [2, *[16] * DEPTH]
    layers = []
    for inputs, outputs in itertools.pairwise(sizes):
        layer = nn.Linear(inputs, outputs)
        if start is not None:
            start(layer.weight)
        layers += [layer, activation()]
    return nn.Sequential(*layers, nn.Linear(16, 1))


def kaiming(weight):
    nn.init.kaiming_normal_(weight, nonlinearity="relu")


def xavier(weight):
    nn.init.xavier_normal_(weight, gain=5 / 3)


KINDS = {
    "Sigmoid": lambda: network(nn.Sigmoid),
    "Tanh, Xavier": lambda: network(nn.Tanh, xavier),
    "ReLU, Kaiming": lambda: network(nn.ReLU, kaiming),
}


# %%
def gradients(model):
    """The gradients of each layer's weights on the four corners."""
    nn.functional.binary_cross_entropy_with_logits(model(corners), answers).backward()
    return [
        module.weight.grad.flatten().numpy()
        for module in model.modules()
        if isinstance(module, nn.Linear)
    ]


def histograms(panels, models):
    """One panel a model: a histogram for each layer, the first one at the bottom."""
    bins = np.linspace(-12, 1, 66)
    for axes, (name, model) in zip(panels, models.items(), strict=True):
        for row, values in enumerate(gradients(model)):
            sizes = np.log10(np.abs(values[values != 0]))
            counts, _ = np.histogram(np.clip(sizes, -12, 1), bins)
            heights = row + 0.9 * counts / max(counts.max(), 1)
            color = plt.cm.viridis(row / DEPTH)
            axes.fill_between(bins[:-1], row, heights, step="post", color=color, linewidth=0)
            axes.plot([np.median(sizes)] * 2, [row, row + 0.9], color="k", linewidth=1)
        axes.set(title=name, xlabel="size of the gradient", xlim=(-12, 1))
        axes.set_xticks([-12, -9, -6, -3, 0], ["1e-12", "1e-9", "1e-6", "1e-3", "1"])
    panels[0].set_yticks(np.arange(DEPTH + 1) + 0.3, [f"layer {i + 1}" for i in range(DEPTH + 1)])


torch.manual_seed(1)
models = {name: make() for name, make in KINDS.items()}
figure, panels = plt.subplots(1, 3, figsize=(12, 5), sharey=True, layout="constrained")
histograms(panels, models)

# %% [markdown]
# The black stroke is the median. With the sigmoid, every layer loses about a factor of ten on the
# way back, and the first layer gets less than a billionth. With the others, all layers get
# gradients of about the same size.
#
# ## Who learns?

# %%
figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
for name, model in models.items():
    axes.semilogy(train(model, 400, 0.003), label=name)
axes.axhline(np.log(2), color="0.7", linestyle=":", linewidth=1)
axes.text(400, np.log(2) * 0.45, "log 2: says 1/2 everywhere", ha="right", color="0.4")
axes.set(xlabel="step", ylabel="loss", title=f"XOR with {DEPTH} hidden layers")
_ = axes.legend(loc=(0.7, 0.2))

# %% [markdown]
# ## A way around: residual connections
#
# If each layer adds to what it gets, x + f(x), there is a path back along which the gradient is
# multiplied by 1. Even with sigmoids, the first layer hears of the loss.


# %%
class Residual(nn.Module):
    """``x + sigmoid(linear(x))``"""

    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        return x + torch.sigmoid(self.linear(x))


torch.manual_seed(1)
residual = nn.Sequential(
    nn.Linear(2, 16), *[Residual(16) for _ in range(DEPTH - 1)], nn.Linear(16, 1)
)
torch.manual_seed(1)
both = {"Sigmoid": KINDS["Sigmoid"](), "Sigmoid, residual": residual}
figure, panels = plt.subplots(1, 2, figsize=(8.5, 5), sharey=True, layout="constrained")
histograms(panels, both)
print(f"loss after 400 steps: {train(residual, 400, 0.003)[-1]:.4f}")

# %% [markdown]
# ## Try it
#
# - Replace the start values of the sigmoid network by wider ones. Can it be saved?
# - `python -m nanotorch.learn 16` asks for a network of 20 layers whose first layer learns.
# - `register_hook` on the output of a layer shows the gradient on its way:
#   `python -m nanotorch.learn 13`.
