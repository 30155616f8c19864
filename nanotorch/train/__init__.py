"""The trainer: experiments described by YAML files.

    loaded = load_config("configs/linear_regression.yaml", ["train.epochs=5"])
    result = train(loaded)

`schema` documents what a file may say.
"""

from .checkpoint import CheckpointError
from .load import LoadedConfig, load_config
from .loop import Callback, Loop, Task
from .problems import ConfigError
from .resume import resume
from .run import RunResult, train

__all__ = [
    "Callback",
    "CheckpointError",
    "ConfigError",
    "LoadedConfig",
    "Loop",
    "RunResult",
    "Task",
]
__all__ += ["load_config", "resume", "train"]
