"""A recurrent network reads names letter by letter and tells which language they are from."""

import random
import string

import torch
import torch.nn as nn

NAMES = {
    "Italian": "Rossi Russo Ferrari Esposito Bianchi Romano Colombo Ricci Marino Greco Bruno",
    "German": "Mueller Schmidt Schneider Fischer Weber Meyer Wagner Becker Schulz Hoffmann",
    "Japanese": "Sato Suzuki Takahashi Tanaka Watanabe Ito Yamamoto Nakamura Kobayashi Kato",
    "Polish": "Nowak Kowalski Wisniewski Wojcik Kowalczyk Kaminski Lewandowski Zielinski",
}
LETTERS = string.ascii_letters
LANGUAGES = list(NAMES)
DATA = [(name, n) for n, names in enumerate(NAMES.values()) for name in names.split()]


def encoded(name):
    """One row for each letter, with a 1 in its place."""
    tensor = torch.zeros(len(name), 1, len(LETTERS))
    for position, letter in enumerate(name):
        tensor[position][0][LETTERS.find(letter)] = 1
    return tensor


class Reader(nn.Module):
    """A network with one hidden state, made of linear layers."""

    def __init__(self, hidden_size):
        super().__init__()
        self.hidden_size = hidden_size
        self.i2h = nn.Linear(len(LETTERS), hidden_size)
        self.h2h = nn.Linear(hidden_size, hidden_size)
        self.h2o = nn.Linear(hidden_size, len(LANGUAGES))
        self.softmax = nn.LogSoftmax(dim=1)

    def forward(self, letters):
        hidden = torch.zeros(1, self.hidden_size)
        for letter in letters:
            hidden = torch.tanh(self.i2h(letter) + self.h2h(hidden))
        return self.softmax(self.h2o(hidden))


class Gated(nn.Module):
    """The same with a layer of gated units."""

    def __init__(self, hidden_size):
        super().__init__()
        self.gru = nn.GRU(len(LETTERS), hidden_size)
        self.out = nn.Linear(hidden_size, len(LANGUAGES))

    def forward(self, letters):
        _, hidden = self.gru(letters)
        return torch.log_softmax(self.out(hidden[0]), dim=1)


def train(model, steps, rate):
    """Stochastic gradient descent on names drawn at random."""
    criterion = nn.NLLLoss()
    total = 0.0
    for step in range(1, steps + 1):
        name, language = random.choice(DATA)
        loss = criterion(model(encoded(name)), torch.tensor([language]))
        model.zero_grad()
        loss.backward()
        for p in model.parameters():
            p.data.add_(p.grad.data, alpha=-rate)
        total += loss.item()
        if step % 100 == 0:
            print(f"{step:4} {total / 100:.4f}")
            total = 0.0


def evaluate(model):
    """How many names of each language are told as each."""
    confusion = torch.zeros(len(LANGUAGES), len(LANGUAGES))
    with torch.no_grad():
        for name, language in DATA:
            _, guess = model(encoded(name)).topk(1)
            confusion[language][guess.item()] += 1
    print(confusion / confusion.sum(1, keepdim=True))


if __name__ == "__main__":
    for kind, steps, rate in ((Reader, 300, 0.02), (Gated, 300, 0.1)):
        torch.manual_seed(0)
        random.seed(0)
        network = kind(24)
        print(network)
        train(network, steps, rate)
        evaluate(network)
