"""pytorch-ignite: Engines with metrics, a schedule, checkpoints and early stopping."""

import tempfile
from pathlib import Path

import torch
from ignite.contrib.handlers import ProgressBar  # noqa: F401
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.handlers import Checkpoint, DiskSaver, EarlyStopping, LinearCyclicalScheduler
from ignite.metrics import Accuracy, Loss
from ignite.utils import manual_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

manual_seed(2)
x = torch.rand(128, 2) * 2 - 1
y = (x.prod(1) > 0).long()
train = DataLoader(TensorDataset(x[:96], y[:96]), batch_size=16, shuffle=True)
valid = DataLoader(TensorDataset(x[96:], y[96:]), batch_size=16)
model = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
criterion = nn.CrossEntropyLoss()
trainer = create_supervised_trainer(model, optimizer, criterion)
metrics = {"accuracy": Accuracy(), "nll": Loss(criterion)}
evaluator = create_supervised_evaluator(model, metrics=metrics)
trainer.add_event_handler(
    Events.ITERATION_STARTED, LinearCyclicalScheduler(optimizer, "lr", 0.02, 0.005, 12)
)
evaluator.add_event_handler(
    Events.COMPLETED, EarlyStopping(3, lambda engine: -engine.state.metrics["nll"], trainer)
)


@trainer.on(Events.EPOCH_COMPLETED(every=2))
def validate(engine):
    evaluator.run(valid)
    found = evaluator.state.metrics
    print(engine.state.epoch, f"{found['accuracy']:.4f} {found['nll']:.5f}")


with tempfile.TemporaryDirectory() as folder:
    saver = Checkpoint({"model": model}, DiskSaver(folder, create_dir=True), n_saved=1)
    trainer.add_event_handler(Events.EPOCH_COMPLETED, saver)
    trainer.run(train, max_epochs=10)
    path = next(Path(folder).glob("*.pt"))
    state = torch.load(path)
    Checkpoint.load_objects({"model": model}, {"model": state.get("model", state)})
    print(path.name, f"{trainer.state.output:.5f}")
