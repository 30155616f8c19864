# %% [markdown]
# # Break it: ten classic mistakes, and what nanotorch says
#
# Each cell makes one of the mistakes that everyone makes. The messages begin with PyTorch's
# words, so that you know them when you meet them there. Below "Where:" stands what nanotorch
# knows besides: the lines and the tensors that caused the error. Read the cell first and guess
# what is wrong.

# %%
import textwrap
import warnings
from contextlib import contextmanager

import nanotorch as torch
from nanotorch import nn


@contextmanager
def told():
    """Print the error, or else the warnings, instead of stopping the notebook."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            yield
        except Exception as error:
            warned = [error]
        else:
            warned = [warning.message for warning in warned]
    for each in warned:
        for line in f"{type(each).__name__}: {each}".splitlines():
            print(textwrap.fill(line, 96))


# %% [markdown]
# ## 1. A leaf is changed in place

# %%
w = torch.tensor([1.0, 2.0], requires_grad=True)
with told():
    w -= 0.1

# %% [markdown]
# A graph begins at its leaves. If a change of w were recorded, w would be the result of an
# operation, and nothing would be left to collect its gradient. A step of training is not to be
# recorded:

# %%
with torch.no_grad():
    w -= 0.1
print(w)

# %% [markdown]
# ## 2. A saved value is changed

# %%
x = torch.tensor([0.0, 1.0], requires_grad=True)
with told():
    y = x.exp()
    y += 1
    y.sum().backward()

# %% [markdown]
# The derivative of exp(x) is exp(x), so exp saves its result, and `+=` changes that very tensor.
# `y = y + 1` makes a new one.

# %%
y = x.exp()
y = y + 1
y.sum().backward()
print(x.grad)

# %% [markdown]
# ## 3. Backward twice

# %%
x = torch.tensor(3.0, requires_grad=True)
y = x * x
with told():
    y.backward()
    y.backward()

# %% [markdown]
# The first pass frees what the operations have saved. Most often the mistake is a part of the
# graph from the step before, kept in a variable: `total += loss` instead of
# `total += loss.item()`. If two passes are meant, the first says so:

# %%
x.grad = None
y = x * x
y.backward(retain_graph=True)
y.backward()
print(x.grad)  # twice 6: gradients add up

# %% [markdown]
# ## 4. Backward from a vector

# %%
x = torch.tensor([1.0, 2.0], requires_grad=True)
with told():
    (x * x).backward()

# %% [markdown]
# A gradient belongs to one number. Make one, by `sum()` or `mean()`, or weight the elements:

# %%
(x * x).backward(torch.tensor([1.0, 0.5]))
print(x.grad)

# %% [markdown]
# ## 5. The graph is lost on the way

# %%
x = torch.tensor([1.0, 2.0], requires_grad=True)
with told():
    loss = torch.tensor((x * x).sum().item())
    loss.backward()

# %% [markdown]
# `item()`, `tolist()`, `numpy()` and `torch.tensor(...)` give numbers without a past. What is to
# be differentiated stays a tensor, from the parameters to the loss.
#
# ## 6. Whole numbers have no derivative

# %%
with told():
    x = torch.tensor([1, 2], requires_grad=True)

# %% [markdown]
# Write `1.0`, or give `dtype=torch.float32`.
#
# ## 7. The gradient of a result

# %%
x = torch.ones(2, requires_grad=True)
y = x * 3
y.sum().backward()
with told():
    print(y.grad)

# %% [markdown]
# Only leaves keep their gradient; for results it passes through. `retain_grad()` keeps it. The
# same happens by accident in `torch.randn(3, requires_grad=True) * 0.1`: a result, not a
# parameter.

# %%
y = x * 3
y.retain_grad()
y.sum().backward()
print(y.grad)

# %% [markdown]
# ## 8. Shapes that do not fit


# %%
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(4, 8)
        self.out = nn.Linear(16, 1)

    def forward(self, x):
        return self.out(torch.relu(self.hidden(x)))


with told():
    Net()(torch.randn(5, 4))

# %% [markdown]
# The message names the module, its input and the weight: `out` expects 16 features and gets 8.
#
# ## 9. Shapes that fit by accident

# %%
prediction, target = torch.randn(5, 1), torch.randn(5)
with told():
    loss = nn.functional.mse_loss(prediction, target)
print((prediction - target).shape)

# %% [markdown]
# (5, 1) minus (5,) gives (5, 5): every prediction is compared with every target. The training
# runs, and learns the mean. Bring both to one shape: `prediction.squeeze(1)`.
#
# ## 10. Not a number

# %%
x = torch.tensor([0.5, 0.0], requires_grad=True)
with told(), torch.autograd.detect_anomaly():
    loss = (x * torch.log(x)).sum()
    loss.backward()

# %% [markdown]
# 0 times log(0) is 0 in the limit, and nan on a computer. Anomaly mode names the first operation
# that makes nan or infinity out of finite numbers. It takes time, so it is for looking and not
# for training. Here `torch.special.entr(x)` computes -x * log(x) well.
#
# ## And one that nobody tells
#
# Without `zero_grad()`, gradients add up from step to step. No message is possible, for sometimes
# this is just what one wants. `python -m nanotorch.learn 5` is about it.

# %%
x = torch.tensor(3.0, requires_grad=True)
for _ in range(3):
    (x * x).backward()
    print(x.grad)
