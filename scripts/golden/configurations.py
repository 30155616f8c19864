"""Write `tests/golden/configurations.json`: losses of PyTorch's networks on the shipped data.

The convolutional network of `configs/digits_cnn.yaml` and the transformer of
`configs/characters.yaml`, without dropout and schedule: the losses of their first steps. Everything
that is random comes from the same seeds as in the trainer. Run it where torch is:
`python scripts/golden/configurations.py`.
"""

import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np

torch: Any = importlib.import_module("torch")  # not needed to check this package
nn: Any = torch.nn

ROOT = Path(__file__).parents[2]
TARGET = ROOT / "tests" / "golden" / "configurations.json"
DATA = ROOT / "configs" / "data"
STEPS = {"digits_cnn": 12, "characters": 5}
NO_DROPOUT = "model.layers[2].layer.encoder_layer.dropout=0"
OVERRIDES = {
    "digits_cnn": ["train.epochs=null", f"train.steps={STEPS['digits_cnn']}"],
    "characters": [
        *("train.epochs=null", f"train.steps={STEPS['characters']}"),
        *("scheduler=null", NO_DROPOUT),
    ],
}


def streams() -> list[Any]:
    """The streams of the data and of the order of samples."""
    states = np.random.SeedSequence(0).generate_state(2)
    return [torch.Generator().manual_seed(int(state)) for state in states]


def digits(stream: Any) -> tuple[Any, Any]:
    """The training part: three fifths of each digit, in one order for all."""
    data = np.load(DATA / "digits.npz")
    labels = data["labels"].astype(np.int64)
    order = torch.randperm(len(labels), generator=stream).numpy()
    chosen = np.zeros(len(labels), dtype=bool)
    for digit in range(10):
        (members,) = np.nonzero(labels[order] == digit)
        chosen[members[: int(np.rint(0.6 * len(members)))]] = True
    part = order[chosen]
    images = data["images"].astype(np.float64)
    x = (images - images[part].mean()) / images[part].std()
    return torch.from_numpy(x[part, None].astype(np.float32)), torch.from_numpy(labels[part])


def network() -> Any:
    """The convolutional network."""
    return nn.Sequential(
        *(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(128, 10)),
    )


def characters() -> tuple[Any, Any, int]:
    """Windows of 64 characters at every 16th place of the first nine tenths of the text."""
    text = (DATA / "sonnets.txt").read_text("utf-8")
    known = sorted(set(text))
    codes = np.array([known.index(character) for character in text], dtype=np.int64)
    codes = codes[: int(np.rint(0.9 * len(codes)))]
    windows = np.lib.stride_tricks.sliding_window_view(codes, 65)[::16].copy()
    return torch.from_numpy(windows[:, :-1]), torch.from_numpy(windows[:, 1:]), len(known)


class Transformer(nn.Module):  # type: ignore[misc]
    """Characters to the scores of the ones that follow."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(count, 64)
        self.positions = nn.Parameter(torch.empty(64, 64))
        nn.init.normal_(self.positions, std=0.02)
        layer = nn.TransformerEncoderLayer(64, 4, 256, 0.0, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(64)
        self.scores = nn.Linear(64, count)

    def forward(self, x: Any) -> Any:
        """Return scores (N, T, characters) of codes (N, T)."""
        mask = torch.triu(torch.full((x.shape[1], x.shape[1]), float("-inf")), diagonal=1)
        x = self.layers(self.embedding(x) + self.positions, mask, is_causal=True)
        return self.scores(self.norm(x)).flatten(0, 1)


def losses(model: Any, optimizer: Any, x: Any, y: Any, order: Any, steps: int) -> list[float]:
    """The loss before each of the first steps."""
    samples = torch.utils.data.TensorDataset(x, y)
    loader = torch.utils.data.DataLoader(samples, batch_size=32, shuffle=True, generator=order)
    found: list[float] = []
    for batch, target in loader:
        loss = nn.functional.cross_entropy(model(batch), target.flatten())
        optimizer.zero_grad()
        loss.backward()
        if isinstance(model, Transformer):
            nn.utils.clip_grad_norm_(model.parameters(), 1)
        optimizer.step()
        found.append(loss.item())
        if len(found) == steps:
            break
    return found


def groups(model: Any) -> list[dict[str, Any]]:
    """The parameter groups: weights decay, except those of norms and all biases."""
    named = dict(model.named_parameters())
    still = [p for name, p in named.items() if "norm" in name or name.endswith("bias")]
    rest = [p for name, p in named.items() if not ("norm" in name or name.endswith("bias"))]
    return [{"params": still, "weight_decay": 0}, {"params": rest}]


def main() -> None:
    """Write the file."""
    torch.set_num_threads(1)
    data, order = streams()
    x, y = digits(data)
    torch.manual_seed(0)
    net = network()
    adam = torch.optim.Adam(net.parameters(), lr=2e-3)
    found = {"digits_cnn": losses(net, adam, x, y, order, STEPS["digits_cnn"])}
    _, order = streams()
    x, y, count = characters()
    torch.manual_seed(0)
    model = Transformer(count)
    adam = torch.optim.AdamW(groups(model), lr=1e-2, weight_decay=0.1)
    found["characters"] = losses(model, adam, x, y, order, STEPS["characters"])
    golden = {"torch": torch.__version__, "overrides": OVERRIDES, "losses": found}
    TARGET.write_text(json.dumps(golden, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
