"""The trainer: experiments described by YAML files, or by programs.

    run = train("configs/linear_regression.yaml", "train.epochs=5")
    print(run.history)
    print(run.results["test/r2"], run.directory)

`schema` documents what a file may say, `components` how programs add layers, losses, generators,
functions and callbacks of their own to what it may name.
"""

from .components import register_callback, register_generator, register_layer, register_loss
from .config import ConfigError
from .fit import fit
from .functions import register_function
from .generators import Generator, Made
from .load import LoadedConfig, load_config
from .loop import Callback, Loop, Task
from .predict import load_trained
from .reading import Section
from .run import History, RunResult, resume, train
from .run_directory import CheckpointError

__all__ = ["Callback", "CheckpointError", "ConfigError", "Generator", "History", "LoadedConfig"]
__all__ += ["Loop", "Made", "RunResult", "Section", "Task", "fit", "load_config", "load_trained"]
__all__ += ["register_callback", "register_function", "register_generator", "register_layer"]
__all__ += ["register_loss", "resume", "train"]
