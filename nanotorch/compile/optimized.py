"""Modules whose forward is compiled."""

from collections.abc import Callable
from typing import Any

from nanotorch._core.grad_mode import mode as grad_mode
from nanotorch.compile.compiler import Compiler
from nanotorch.nn.module import Module


class OptimizedModule(Module):
    """A module whose forward is compiled where nothing is recorded; all else is the module's own.

    Attributes:
        _orig_mod: the module.
    """

    _orig_mod: Module

    def __init__(self, module: Module, compiler: Compiler, replaying: Callable[..., Any]) -> None:
        super().__init__()
        object.__setattr__(self, "_orig_mod", module)
        self._modules["_orig_mod"] = module
        object.__setattr__(self, "_compiler", compiler)
        object.__setattr__(self, "_compiled", replaying)
        self.__dict__.pop("training")

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The module's forward."""
        if grad_mode.enabled:
            return self._orig_mod(*args, **kwargs)
        return self._compiled(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        if name == "_orig_mod" or "_orig_mod" not in own:
            return super().__getattr__(name)
        return getattr(own["_orig_mod"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        if "_orig_mod" in self.__dict__:
            setattr(self._orig_mod, name, value)
        else:
            super().__setattr__(name, value)

    def report(self) -> Any:
        """What was compiled, or why nothing was."""
        return self.__dict__["_compiler"].report()

    def source(self) -> str:
        """The source of the replay of the last call; empty if there is none."""
        return str(self.__dict__["_compiler"].source())
