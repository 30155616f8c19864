"""The keys of a configuration that `nanotorch.train.fit` accepts, with their types.

`scripts/stubs.py` writes this file.
"""

from typing import Literal, TypedDict

from nanotorch.train.config import schema

class EarlyStoppingKeys(TypedDict, total=False):
    monitor: str
    mode: Literal["min", "max"] | None
    patience: int
    min_delta: float

class AveragingKeys(TypedDict, total=False):
    method: Literal["ema", "swa"]
    decay: float
    start: int

class CheckpointKeys(TypedDict, total=False):
    seconds: float | None
    last: int
    every: int | None
    best: int
    monitor: str
    mode: Literal["min", "max"] | None

class LogKeys(TypedDict, total=False):
    dir: str
    name: str | None
    timed: bool
    every: int
    tensorboard: bool
    histograms: int
    plots: bool
    profile: int
    progress: bool

class Settings(TypedDict, total=False):
    steps: int | None
    batch_size: int | None
    shuffle: bool
    accumulate: int
    reduction: Literal["ordered", "fast"]
    clip_norm: float | None
    clip_value: float | None
    validate_every: int
    time_limit: float | None
    overfit_batches: int | None
    fast_dev_run: bool
    compile: bool
    early_stopping: EarlyStoppingKeys | schema.EarlyStopping | None
    averaging: AveragingKeys | schema.Averaging | None
    checkpoint: CheckpointKeys | schema.Checkpoint
    log: LogKeys | schema.Log
