"""pytorch-lightning: Trainer: fit with validation, checkpoints, early stopping; resume; test."""

import tempfile
import warnings
from pathlib import Path

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import EarlyStopping, LearningRateMonitor, ModelCheckpoint
from pytorch_lightning.loggers import TensorBoardLogger
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.simplefilter("ignore")


class Regression(pl.LightningModule):
    def __init__(self, width: int = 16, lr: float = 1e-2) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(2, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, index):
        x, y = batch
        loss = nn.functional.mse_loss(self(x), y)
        self.log("train_loss", loss, on_step=False, on_epoch=True)
        return loss

    def validation_step(self, batch, index):
        x, y = batch
        self.log("val_loss", nn.functional.mse_loss(self(x), y), prog_bar=True)

    def test_step(self, batch, index):
        x, y = batch
        self.log("test_loss", nn.functional.mse_loss(self(x), y))

    def predict_step(self, batch, index):
        return self(batch[0])

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=self.hparams.lr)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 5, 0.5)
        return [optimizer], [scheduler]


pl.seed_everything(1, verbose=False)
x = torch.rand(128, 2) * 2 - 1
y = (x[:, :1] * x[:, 1:]).sin()
train = DataLoader(TensorDataset(x[:96], y[:96]), batch_size=16, shuffle=True)
valid = DataLoader(TensorDataset(x[96:], y[96:]), batch_size=16)
with tempfile.TemporaryDirectory() as folder:
    checkpoint = ModelCheckpoint(folder, monitor="val_loss", save_top_k=1, filename="best")
    trainer = pl.Trainer(
        max_epochs=20,
        accelerator="cpu",
        enable_progress_bar=False,
        enable_model_summary=False,
        logger=TensorBoardLogger(folder, name="logs"),
        default_root_dir=folder,
        log_every_n_steps=1,
        callbacks=[checkpoint, EarlyStopping("val_loss", patience=3), LearningRateMonitor("epoch")],
        gradient_clip_val=1.0,
    )
    model = Regression()
    trainer.fit(model, train, valid)
    print("epochs", trainer.current_epoch, "steps", trainer.global_step)
    print({k: round(v.item(), 5) for k, v in trainer.callback_metrics.items()})
    print("best", round(checkpoint.best_model_score.item(), 5))
    found = Regression.load_from_checkpoint(checkpoint.best_model_path)
    print("width", found.hparams.width, type(found).__name__)
    print({k: round(v, 5) for k, v in trainer.test(found, valid, verbose=False)[0].items()})
    print(torch.cat(trainer.predict(found, valid))[:2].flatten().tolist())
    print("events", any(Path(folder).rglob("events.out.tfevents.*")))

    again = pl.Trainer(
        max_epochs=22,
        accelerator="cpu",
        enable_progress_bar=False,
        logger=False,
        enable_model_summary=False,
        enable_checkpointing=False,
        default_root_dir=folder,
    )
    again.fit(Regression(), train, valid, ckpt_path=checkpoint.best_model_path)
    print("resumed", again.current_epoch, again.global_step)
