"""The trainer: runs experiments that YAML files or programs describe.

    run = train("configs/linear_regression.yaml", "train.epochs=5")
    print(run.history)
    print(run.results["test/r2"], run.directory)

`schema` documents the keys of a file, and how programs add their own generators; `components`
documents how they add layers, losses, functions and callbacks.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from nanotorch.names.lookup import on_demand as _on_demand

__all__ = [
    "Callback", "CheckpointError", "ConfigError", "Generator", "History", "LoadedConfig", "Loop",
    "Made", "RunResult", "Section", "Task", "fit", "load_config", "load_trained",
    "register_callback", "register_function", "register_generator", "register_layer",
    "register_loss", "resume", "train",
]  # fmt: skip

if _TYPE_CHECKING:
    from nanotorch.train.config.components import (
        register_callback,
        register_function,
        register_layer,
        register_loss,
    )
    from nanotorch.train.config.load import LoadedConfig, load_config
    from nanotorch.train.config.schema import Generator, Made, register_generator
    from nanotorch.train.config.sections import ConfigError, Section
    from nanotorch.train.runs.predict import load_trained
    from nanotorch.train.runs.run import History, RunResult, resume, train
    from nanotorch.train.runs.run_directory import CheckpointError
    from nanotorch.train.training.fitting import fit
    from nanotorch.train.training.loop import Callback, Loop, Task
else:  # imported on first use, so that the help of a command does not wait for them
    __getattr__, __dir__ = _on_demand(__name__, {
        f"{__name__}.config.components": "register_callback register_function register_layer "
                                  "register_loss",
        f"{__name__}.config.sections": "ConfigError Section",
        f"{__name__}.training.fitting": "fit",
        f"{__name__}.config.load": "LoadedConfig load_config",
        f"{__name__}.training.loop": "Callback Loop Task",
        f"{__name__}.runs.predict": "load_trained",
        f"{__name__}.runs.run": "History RunResult resume train",
        f"{__name__}.runs.run_directory": "CheckpointError",
        f"{__name__}.config.schema": "Generator Made register_generator",
    })  # fmt: skip
