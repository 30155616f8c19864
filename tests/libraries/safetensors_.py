"""safetensors: Weights are written and read: save_file, safe_open, save_model, load_model."""

import tempfile
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import load, load_file, load_model, save, save_file, save_model
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Linear(3, 1))
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "model.safetensors"
    save_file(model.state_dict(), path, metadata={"format": "pt"})
    found = load_file(path)
    print(all(torch.equal(found[k], v) for k, v in model.state_dict().items()), sorted(found))
    with safe_open(path, framework="pt") as file:
        print(file.metadata(), file.get_tensor("0.bias"), file.get_slice("0.weight")[:1, :2])
    other = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Linear(3, 1))
    save_model(model, str(path))
    print(load_model(other, path), torch.equal(other[0].weight, model[0].weight))
found = load(save({"a": torch.arange(3), "b": torch.ones(1).half()}))
print({k: (v.dtype, v.tolist()) for k, v in sorted(found.items())})
