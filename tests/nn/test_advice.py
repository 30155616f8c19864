"""Errors of beginners end with what to do."""

import re
from typing import Any

import pytest

import nanotorch as torch
from nanotorch import nn
from nanotorch.names.advice import ADVICE
from nanotorch.nn import functional as F


class WithoutInit(nn.Module):
    def __init__(self) -> None:
        self.layer = nn.Linear(2, 1)


class Misspelt(nn.Module):
    def foward(self, x: Any) -> Any:
        return x


class WithoutReturn(nn.Module):
    def forward(self, x: Any) -> None:
        x.sum()


class OwnError(nn.Linear):
    def forward(self, x: Any) -> Any:
        raise RuntimeError("the user's own")


class OfPairs(nn.Module):
    def forward(self, pair: Any, scale: Any = None) -> Any:
        return torch.relu(pair[0] @ pair[1])


class WithList(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = [nn.Linear(2, 1)]


def names() -> dict[str, Any]:
    parts: dict[str, Any] = {"torch": torch, "nn": nn, "F": F, "optim": torch.optim}
    kinds = (WithoutInit, Misspelt, WithoutReturn, WithList, OwnError, OfPairs)
    parts |= {kind.__name__: kind for kind in kinds}
    x, layer, w = torch.ones(4, 2), nn.Linear(2, 3), torch.ones(2, requires_grad=True)
    network = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(9, 1))
    images = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Linear(72, 1))
    return parts | {"x": x, "layer": layer, "w": w, "network": network, "images": images}


# The key of the advice, a mistake, and a part of the advice.
MISTAKES = """
several elements | (w * 2).backward() | `.sum()` or `.mean()` before `.backward()`
several elements | layer(x).backward() | shape [4, 3]
integer gradient | torch.tensor([1, 2], requires_grad=True) | `.float()`
integer gradient | torch.tensor([1, 2]).requires_grad_() | `.float()`
integer gradient | setattr(torch.tensor([1, 2]), "requires_grad", True) | `.float()`
no gpu | x.cuda() | if torch.cuda.is_available()
no gpu | layer.to("cuda") | if torch.cuda.is_available()
no gpu | torch.ones(2, device="cuda") | if torch.cuda.is_available()
no init | WithoutInit() | the first line of `WithoutInit.__init__`
model for parameters | optim.Adam(layer) | `Adam(model.parameters(), ...)`, where
model for parameters | optim.SGD(network) | `SGD(model.parameters(), ...)`
tensor for parameters | optim.Adam(w) | `[tensor]`
no parameters | optim.SGD(WithList().parameters()) | `nn.ModuleList([...])`
no leaf | optim.SGD([w * 2]) | `.detach().requires_grad_()`
loss as closure | optim.SGD([w]).step(w.sum()) | `loss.backward()`
nothing returned | nn.CrossEntropyLoss()(WithoutReturn()(x), x) | `return`
nothing returned | nn.Sequential(WithoutReturn(), nn.ReLU())(x) | `return`
several results | nn.Sequential(nn.LSTM(2, 3), nn.Linear(3, 1))(torch.ones(5, 4, 2)) | `output,
misspelt key | layer.load_state_dict({"wieght": w, "bias": w}) | `weight` for `wieght`
misspelt forward | Misspelt()(x) | in place of `def foward(self, ...)` in Misspelt
no parameter | setattr(layer, "weight", x) | `self.weight = nn.Parameter(...)`
list of layers | nn.Sequential([nn.Linear(2, 1)]) | `nn.Sequential(*layers)`
input to a constructor | nn.ReLU(x)(x) | `nn.ReLU()(input)`
input to a constructor | nn.MSELoss(x, x) | `nn.MSELoss()(input)`
class dtype | F.cross_entropy(layer(x), torch.ones(4)) | `target.long()`
class column | F.cross_entropy(layer(x), torch.ones(4, 1).long()) | `target.squeeze(1)`
one-hot classes | F.cross_entropy(layer(x), torch.ones(4, 3).long()) | `target.argmax(1)`
too few outputs | F.cross_entropy(layer(x), torch.tensor([0, 1, 3, 2])) | at least 4 outputs
target dtype | F.binary_cross_entropy(torch.sigmoid(x), x.long()) | `target.float()`
target dtype | F.binary_cross_entropy_with_logits(x, x.long()) | `target.float()`
target column | F.binary_cross_entropy_with_logits(x[:, :1], torch.ones(4)) | `target[:, None]`
no probabilities | F.binary_cross_entropy(x * 9, x) | `binary_cross_entropy_with_logits`
channels last | nn.Conv2d(3, 8, 3)(torch.ones(2, 28, 28, 3)) | `input.permute(0, 3, 1, 2)`
one image | nn.Conv2d(1, 8, 3)(torch.ones(28, 28)) | `input[None]`
no channels | nn.Conv2d(1, 8, 3)(torch.ones(64, 28, 28)) | `input[:, None]`
in features | network(x) | `nn.Linear(8, 1)` in place of `nn.Linear(9, 1)`
flatten | images(torch.ones(4, 1, 8, 8)) | `nn.Flatten()` before the layer: a sample of
input dtype | layer(x.double()) | `.float()`
input dtype | layer(x.long()) | `.float()`
input dtype | nn.Conv2d(3, 8, 3)(torch.ones(2, 3, 8, 8, dtype=torch.uint8)) | `.float()`
input dtype | nn.Linear(2, 1).double()(x) | `.double()`
one truth | bool(x > 0) | `.any()` or `.all()`
one number | x.item() | all of the 8 elements
one number | float(x) | all of the 8 elements
ragged | torch.tensor([[1, 2], [1, 2, 3]]) | `torch.nn.utils.rnn.pad_sequence`
unequal items | torch.stack([w, torch.ones(3)]) | `collate_fn`
broadcast | x + torch.ones(4) | `other[:, None]`
single value | nn.BatchNorm1d(3)(torch.ones(1, 3)) | `model.eval()`
index dtype | nn.Embedding(4, 2)(torch.ones(3)) | `input.long()`
rows | nn.Embedding(4, 2)(torch.tensor([4])) | `nn.Embedding(5, ...)`
"""
ROWS = [tuple(line.split(" | ")) for line in MISTAKES.strip().splitlines()]
# Errors that resemble these, and have other causes.
OTHERS = [
    "x @ torch.ones(4)", "torch.ones(3) + w", "torch.cat([x, torch.ones(4, 3)])", "x.reshape(3, 3)",
    "nn.Conv2d(3, 8, 3)(torch.ones(2, 4, 8, 8))", "nn.Conv2d(3, 8, 3)(torch.ones(64, 28, 28))",
    "layer.load_state_dict({'a': w})", "nn.Embedding(4, 2)(torch.tensor([-1]))", "nn.Module()(x)",
    "F.cross_entropy(layer(x), torch.ones(4, 2).long())", "F.binary_cross_entropy(x, x[:3])",
    "F.cross_entropy(layer(x), torch.tensor([0, -1, 2, 0]))", "OwnError(3, 1)(x)",
    "OfPairs()((x, x))", "OfPairs()((x, 'a'))", "OfPairs()(None)",
    "nn.LSTM(2, 3)(nn.utils.rnn.pack_sequence([torch.ones(4, 5)]))",
]  # fmt: skip


def error_of(program: str) -> Exception:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - of any kind
        eval(program, names())
    return caught.value


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("key", "program", "part"), ROWS)
def test_the_last_line_says_what_to_do(key: str, program: str, part: str) -> None:
    error = error_of(program)
    (note,) = error.__notes__
    assert part in note
    assert note.startswith("Try: ")
    begin = re.split(r"\{\d\}", ADVICE[key])[0]
    assert note.removeprefix("Try: ").startswith(begin)
    assert "Try:" not in str(error)  # PyTorch's text


@pytest.mark.parametrize("program", OTHERS)
def test_other_errors_have_no_advice(program: str) -> None:
    assert not hasattr(error_of(program), "__notes__")


def test_each_advice_is_given() -> None:
    assert {row[0] for row in ROWS} == ADVICE.keys()
