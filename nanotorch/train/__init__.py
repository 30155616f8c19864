"""The trainer: experiments described by YAML files, or by programs.

    run = train("configs/linear_regression.yaml", "train.epochs=5")
    print(run.history)
    print(run.results["test/r2"], run.directory)

`schema` documents what a file may say, `components` how programs add layers, losses, generators,
functions and callbacks of their own to what it may name.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from nanotorch.names.lookup import on_demand as _on_demand

if _TYPE_CHECKING:
    from .components import register_callback as register_callback
    from .components import register_generator as register_generator
    from .components import register_layer as register_layer
    from .components import register_loss as register_loss
    from .config import ConfigError as ConfigError
    from .fitting import fit as fit
    from .functions import register_function as register_function
    from .generators import Generator as Generator
    from .generators import Made as Made
    from .load import LoadedConfig as LoadedConfig
    from .load import load_config as load_config
    from .loop import Callback as Callback
    from .loop import Loop as Loop
    from .loop import Task as Task
    from .predict import load_trained as load_trained
    from .reading import Section as Section
    from .run import History as History
    from .run import RunResult as RunResult
    from .run import resume as resume
    from .run import train as train
    from .run_directory import CheckpointError as CheckpointError
else:  # imported when they are used: the help of a command waits for none of them
    __getattr__, __dir__ = _on_demand(__name__, {
        f"{__name__}.components": "register_callback register_generator register_layer "
                                  "register_loss",
        f"{__name__}.config": "ConfigError",
        f"{__name__}.fitting": "fit",
        f"{__name__}.functions": "register_function",
        f"{__name__}.generators": "Generator Made",
        f"{__name__}.load": "LoadedConfig load_config",
        f"{__name__}.loop": "Callback Loop Task",
        f"{__name__}.predict": "load_trained",
        f"{__name__}.reading": "Section",
        f"{__name__}.run": "History RunResult resume train",
        f"{__name__}.run_directory": "CheckpointError",
    })  # fmt: skip
