"""What users add under names of their own, for configurations to use.

A configuration never runs code: it can only name what a program has registered before it calls
`nanotorch.train.main` or `load_config`.
"""

from collections.abc import Callable
from typing import Any, Literal

from nanotorch import nn

from . import loop
from .components import CLASS_LOSSES, LOSSES, REGRESSION_LOSSES, Components
from .functions import register_function
from .generators import GENERATORS
from .layers import LAYERS

CALLBACKS = Components("a callback", loop, (), base=loop.Callback)
"""What listens to the training, by the names under which users have registered it."""

register_layer = LAYERS.register
register_generator = GENERATORS.register
register_callback = CALLBACKS.register


def register_loss(
    factory: Callable[..., nn.Module],
    experiment: Literal["regression", "classification"],
    name: str | None = None,
) -> Callable[..., Any]:
    """Make a loss known, so that configurations can name it.

    Args:
        factory: the class, or a function that makes the module: called with outputs (samples, 1)
            and targets of the same shape, or (samples, classes) and classes (samples,); it returns
            their mean loss.
        experiment: what it is for. Scores of classes become probabilities by the softmax.
        name: what configurations call it; the factory's own name by default.

    Raises:
        ValueError: if the name is taken, or `experiment` is something else.
    """
    losses = {"regression": REGRESSION_LOSSES, "classification": CLASS_LOSSES}.get(experiment)
    if losses is None:
        raise ValueError(f"expected 'regression' or 'classification', got {experiment!r}")
    LOSSES.register(factory, name)
    losses.append(LOSSES.names[-1])
    return factory


__all__ = [
    "CALLBACKS",
    "register_callback",
    "register_function",
    "register_generator",
    "register_layer",
    "register_loss",
]
