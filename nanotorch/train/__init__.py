"""The trainer: experiments described by YAML files.

    loaded = load_config("configs/linear_regression.yaml", ["train.epochs=5"])
    result = train(loaded)

`schema` documents what a file may say.
"""

from .load import LoadedConfig, load_config
from .loop import Callback, Loop, Task
from .problems import ConfigError
from .run import RunResult, train

__all__ = ["Callback", "ConfigError", "LoadedConfig", "Loop", "RunResult", "Task"]
__all__ += ["load_config", "train"]
