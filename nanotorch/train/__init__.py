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
    from .components import register_callback, register_function, register_layer, register_loss
    from .config import ConfigError, Section
    from .fitting import fit
    from .load import LoadedConfig, load_config
    from .loop import Callback, Loop, Task
    from .predict import load_trained
    from .run import History, RunResult, resume, train
    from .run_directory import CheckpointError
    from .schema import Generator, Made, register_generator
else:  # imported on first use, so that the help of a command does not wait for them
    __getattr__, __dir__ = _on_demand(__name__, {
        f"{__name__}.components": "register_callback register_function register_layer "
                                  "register_loss",
        f"{__name__}.config": "ConfigError Section",
        f"{__name__}.fitting": "fit",
        f"{__name__}.load": "LoadedConfig load_config",
        f"{__name__}.loop": "Callback Loop Task",
        f"{__name__}.predict": "load_trained",
        f"{__name__}.run": "History RunResult resume train",
        f"{__name__}.run_directory": "CheckpointError",
        f"{__name__}.schema": "Generator Made register_generator",
    })  # fmt: skip
