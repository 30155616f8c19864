# %% [markdown]
# # A transformer that writes, character by character
#
# A language model gets some characters and gives each possible next character a probability.
# Training is classification, at every place of the text at once. This one is small, has all parts
# of a large one, and learns to write something like Shakespeare's sonnets from 24,000 characters
# in half a minute, if the machine has nothing else to do.

# %%
import math
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import nanotorch as torch
from nanotorch import nn

torch.manual_seed(0)
text = (Path(torch.__file__).parents[1] / "configs/data/sonnets.txt").read_text("utf-8")
alphabet = sorted(set(text))
number_of = {character: number for number, character in enumerate(alphabet)}
data = torch.tensor([number_of[character] for character in text])
print(len(text), "characters,", len(alphabet), "different ones")
print(text[:130])

# %% [markdown]
# ## Attention
#
# Each place looks back at all places before it, and itself. Its query is compared with their
# keys; the softmax of the products gives weights, which add up to 1; the result is the weighted
# mean of their values. What lies ahead gets the weight 0: its product is set to minus infinity
# before the softmax.


# %%
class Attention(nn.Module):
    """Attention of several heads that looks back only; (batch, places, width) to the same."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.queries_keys_values = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)

    def forward(self, x):
        batch, places, width = x.shape
        parts = self.queries_keys_values(x).reshape(batch, places, 3, self.heads, -1)
        query, key, value = parts.permute(2, 0, 3, 1, 4)  # each (batch, heads, places, size)
        products = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
        ahead = torch.ones(places, places, dtype=torch.bool).triu(1)
        self.weights = products.masked_fill(ahead, -math.inf).softmax(-1)  # kept to be drawn
        return self.output((self.weights @ value).transpose(1, 2).reshape(batch, places, width))


class Block(nn.Module):
    """Attention, then a small network for each place; both add to what they get."""

    def __init__(self, width, heads):
        super().__init__()
        self.attention = nn.Sequential(nn.LayerNorm(width), Attention(width, heads))
        self.network = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x):
        x = x + self.attention(x)
        return x + self.network(x)


class Writer(nn.Module):
    """Characters as numbers, (batch, places), to logits of the next, (batch, places, alphabet)."""

    def __init__(self, alphabet, places, width=48, heads=4, depth=2):
        super().__init__()
        self.characters = nn.Embedding(alphabet, width)
        self.places = nn.Embedding(places, width)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(depth)])
        self.logits = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, alphabet))

    def forward(self, x):
        place = torch.arange(x.shape[1])
        return self.logits(self.blocks(self.characters(x) + self.places(place)))


PLACES = 48
model = Writer(len(alphabet), PLACES)
print(sum(p.numel() for p in model.parameters()), "weights")

# %% [markdown]
# ## It does not look ahead
#
# If it did, it would learn to copy instead of to foresee. Autograd can prove it: the logits at
# place 5 have gradients by the embeddings of the places 0 to 5, and none by later ones.

# %%
seen = []


def keep(module, inputs, output):
    """Keep the gradient of what a module returns, which is no leaf."""
    output.retain_grad()
    seen.append(output)


handle = model.characters.register_forward_hook(keep)
model(data[:12].unsqueeze(0))[0, 5].sum().backward()
handle.remove()
model.zero_grad()
print(seen[0].grad.abs().sum(-1) > 0)

# %% [markdown]
# ## Training
#
# A batch is 32 pieces of the text; the targets are the same pieces, one character later. Before
# the first step the loss must be near log(59) = 4.08, that of blind guessing.


# %%
def batch(size=32):
    """Pieces of the text, and what comes next at each place; both (size, PLACES)."""
    starts = torch.randint(len(data) - PLACES - 1, (size,))
    pieces = data[starts.unsqueeze(1) + torch.arange(PLACES + 1)]
    return pieces[:, :-1], pieces[:, 1:]


def loss_of(x, y):
    return nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())


def write(start, length=220, temperature=0.7):
    """Continue a text: draw each next character by its probability."""
    written = [number_of[character] for character in start]
    with torch.no_grad():
        for _ in range(length):
            logits = model(torch.tensor([written[-PLACES:]]))[0, -1]
            written.append(int(torch.multinomial((logits / temperature).softmax(-1), 1)))
    return "".join(alphabet[number] for number in written)


print(f"loss at first: {loss_of(*batch()).item():.2f}")
print(write("Shall I compare", 60))

# %%
STEPS = 500
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 6e-3, total_steps=STEPS)
losses, began = [], time.perf_counter()
for _ in range(STEPS):
    optimizer.zero_grad()
    loss = loss_of(*batch())
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    schedule.step()
    losses.append(loss.item())
took = time.perf_counter() - began
print(f"loss at last: {np.mean(losses[-20:]):.2f}; {1000 * took / STEPS:.0f} ms a step")

# %%
figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
axes.plot(losses, linewidth=0.8)
axes.axhline(math.log(len(alphabet)), color="0.7", linestyle=":")
axes.text(STEPS, math.log(len(alphabet)) - 0.25, "blind guessing", ha="right", color="0.4")
_ = axes.set(xlabel="step", ylabel="loss", ylim=(0, 4.5))

# %%
print(write("Shall I compare"))

# %% [markdown]
# ## What it looks at
#
# A row is a place that looks back, a column a place that it looks at; dark is a large weight.
# Each head has found something of its own. Most look at the characters just before, some at
# certain letters, wherever they are in the word.

# %%
line = "Shall I compare thee to a summer's day"
with torch.no_grad():
    model(torch.tensor([[number_of[character] for character in line]]))
figure, panels = plt.subplots(1, 4, figsize=(13, 3.6), layout="constrained")
for head, axes in enumerate(panels):
    axes.imshow(model.blocks[1].attention[1].weights[0, head].numpy(), cmap="Blues")
    axes.set_xticks(range(len(line)), line, fontsize=6, family="monospace")
    axes.set_yticks(range(len(line)), line, fontsize=6, family="monospace")
    axes.set_title(f"second block, head {head + 1}", fontsize=10)

# %% [markdown]
# ## Try it
#
# - Take the mask away: the loss falls close to 0, and the text gets worse. Why?
# - Take `self.places` away. What does attention lack without it?
# - Decorate the step with `torch.compile`: the same bits in less time.
# - `scripts/train.py --config configs/characters.yaml` trains a larger one and resumes it.
