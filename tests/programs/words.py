"""A language model of words: embedding, two layers of memory, tied weights, clipped gradients."""

import math
import tempfile
from pathlib import Path

import torch
import torch.nn as nn
from torch.optim.lr_scheduler import ExponentialLR

TEXT = """
the king sat on the throne and the queen sat by the king . the fox ran into the wood and the hen
ran after the fox . the queen saw the fox and told the king . the king rode into the wood and saw
the hen by the fox . the hen told the king and the king told the queen . the fox sat in the wood .
the queen rode after the king and the fox ran after the queen . the hen sat on the throne .
"""


class Corpus:
    """Words as numbers, in the order in which they come."""

    def __init__(self, text):
        words = text.split()
        self.words = sorted(set(words))
        numbers = {word: n for n, word in enumerate(self.words)}
        self.ids = torch.tensor([numbers[word] for word in words], dtype=torch.long)

    def batches(self, size):
        length = self.ids.size(0) // size
        return self.ids.narrow(0, 0, length * size).view(size, -1).t().contiguous()


class Model(nn.Module):
    def __init__(self, ntoken, width, layers, dropout):
        super().__init__()
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(ntoken, width)
        self.rnn = nn.LSTM(width, width, layers, dropout=dropout)
        self.decoder = nn.Linear(width, ntoken)
        self.decoder.weight = self.encoder.weight
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)
        self.layers, self.width = layers, width

    def forward(self, input, hidden):
        output, hidden = self.rnn(self.drop(self.encoder(input)), hidden)
        decoded = self.decoder(self.drop(output))
        return torch.log_softmax(decoded.view(-1, decoded.size(-1)), dim=1), hidden

    def init_hidden(self, size):
        weight = next(self.parameters())
        return tuple(weight.new_zeros(self.layers, size, self.width) for _ in range(2))


def repackage(hidden):
    """Cut the hidden state from its history."""
    return tuple(h.detach() for h in hidden)


def epoch(model, data, length, criterion, optimizer=None):
    """Go through the text once, with an optimizer to learn, without to measure."""
    model.train(optimizer is not None)
    hidden, total = model.init_hidden(data.size(1)), 0.0
    for i in range(0, data.size(0) - 1, length):
        steps = min(length, data.size(0) - 1 - i)
        hidden = repackage(hidden)
        with torch.set_grad_enabled(optimizer is not None):
            output, hidden = model(data[i : i + steps], hidden)
            loss = criterion(output, data[i + 1 : i + 1 + steps].view(-1))
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
            optimizer.step()
        total += steps * loss.item()
    return total / (data.size(0) - 1)


if __name__ == "__main__":
    torch.manual_seed(1111)
    corpus = Corpus(TEXT)
    data = corpus.batches(4)
    model = Model(len(corpus.words), 16, 2, 0.2)
    print(model, sum(p.numel() for p in model.parameters()))
    criterion = nn.NLLLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=4.0, momentum=0.5)
    scheduler = ExponentialLR(optimizer, 0.95)
    path = Path(tempfile.mkdtemp()) / "model.pt"
    best = None
    for number in range(1, 13):
        train = epoch(model, data, 6, criterion, optimizer)
        measured = epoch(model, data, 6, criterion)
        if best is None or measured < best:
            best = measured
            torch.save({"model": model.state_dict(), "epoch": number}, path)
        scheduler.step()
        (rate,) = scheduler.get_last_lr()
        print(f"{number:2} loss {train:.4f} ppl {math.exp(measured):.3f} lr {rate:.4f}")
    checkpoint = torch.load(path)
    model.load_state_dict(checkpoint["model"])
    print(checkpoint["epoch"], f"{epoch(model, data, 6, criterion):.4f}")
    word, hidden, written = torch.tensor([[0]]), model.init_hidden(1), []
    with torch.no_grad():
        for _ in range(12):
            output, hidden = model(word, hidden)
            word = torch.multinomial(output.squeeze().exp(), 1).view(1, 1)
            written.append(corpus.words[word.item()])
    print(" ".join(written))
