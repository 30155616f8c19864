"""What a configuration may name: layers, losses and optimizers, under PyTorch's names.

Nothing is repeated here of what a component accepts. Argument names, types and defaults are
read from the signature of the class, and its own checks of values are reported with the place
of the argument that caused them.
"""

import inspect
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import nanotorch as torch
from nanotorch import nn, optim

from .problems import ConfigError, Origins
from .reading import Component, Range

# Handled by the trainer, or without a meaning on a NumPy CPU framework.
NOT_CONFIGURABLE = {
    *("params", "device", "dtype", "weight", "size_average", "reduce"),
    *("foreach", "fused", "capturable", "differentiable"),
}

PLAIN = (bool, int, float, str, types.NoneType)

WIDTHS = Range(low=1)


@dataclass(frozen=True)
class Components:
    """The components of one kind."""

    kind: str
    module: types.ModuleType
    names: tuple[str, ...]
    inferred: Mapping[str, str] = field(default_factory=dict)
    """Component -> the argument that is the width of what comes in."""

    def hints(self, name: str) -> Mapping[str, Any]:
        """Return the type of each argument that a configuration may give."""
        found = {}
        annotations = typing.get_type_hints(getattr(self.module, name).__init__)
        for parameter in self._parameters(name):
            hint = plain_hint(annotations.get(parameter.name), parameter.default)
            if parameter.name == self.inferred.get(name):
                hint = Annotated[int, WIDTHS] | None
            elif parameter.name == "out_features":
                hint = Annotated[int, WIDTHS]
            if hint is not None:
                found[parameter.name] = hint
        return found

    def defaults(self, name: str) -> Mapping[str, Any]:
        """Return the value of each argument that may be left out."""
        inferred = self.inferred.get(name)
        return {
            parameter.name: None if parameter.name == inferred else parameter.default
            for parameter in self._parameters(name)
            if parameter.name == inferred or parameter.default is not parameter.empty
        }

    def build(
        self, component: Component, path: str, origins: Origins, *inputs: Any, **inferred: Any
    ) -> Any:
        """Return the object a configuration asks for.

        Raises:
            ConfigError: if its constructor refuses the arguments.
        """
        arguments = {**component.arguments, **inferred}
        try:
            return self._construct(component.name, inputs, arguments)
        except (TypeError, ValueError, RuntimeError) as error:
            message = str(error)
        raise self._blamed(component.name, inputs, arguments, path, origins, message)

    def _construct(self, name: str, inputs: tuple[Any, ...], arguments: dict[str, Any]) -> Any:
        annotations = typing.get_type_hints(getattr(self.module, name).__init__)
        given = {
            key: torch.tensor(value)
            if value is not None and value_is_tensor(annotations.get(key))
            else value
            for key, value in arguments.items()
        }
        return getattr(self.module, name)(*inputs, **given)

    def _blamed(
        self,
        name: str,
        inputs: tuple[Any, ...],
        arguments: dict[str, Any],
        path: str,
        origins: Origins,
        message: str,
    ) -> ConfigError:
        """Return the error, placed at the one argument without which all would be well."""
        for key in self.defaults(name):
            try:
                others = {other: arguments[other] for other in arguments if other != key}
                self._construct(name, inputs, others)
            except (TypeError, ValueError, RuntimeError):
                continue
            return origins.error(f"{path}.{key}", message)
        return origins.error(path, message)

    def _parameters(self, name: str) -> list[inspect.Parameter]:
        parameters = inspect.signature(getattr(self.module, name)).parameters.values()
        variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        return [
            parameter
            for parameter in parameters
            if parameter.name not in NOT_CONFIGURABLE and parameter.kind not in variadic
        ]


def members_of(annotation: Any) -> tuple[Any, ...]:
    """Return the members of a union, or the one type."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return typing.get_args(annotation)
    return (annotation,)


def value_is_tensor(annotation: Any) -> bool:
    """Return whether numbers given for an argument must be wrapped in a tensor."""
    members = members_of(annotation)
    return torch.Tensor in members and float not in members


def plain_hint(annotation: Any, default: Any) -> Any:
    """Return the part of a parameter's type that a file can express, None if there is none."""
    members: list[Any] = [member for member in members_of(annotation) if member in PLAIN]
    for member in members_of(annotation):
        if typing.get_origin(member) is tuple:
            inner = [item if item is ... else plain_hint(item, None) for item in member.__args__]
            members += [types.GenericAlias(tuple, tuple(inner))] if None not in inner else []
    if value_is_tensor(annotation):
        members += [float, tuple[float, ...]]
    if not members and type(default) in PLAIN:
        members = [type(default)]
    if not members or members == [types.NoneType]:
        return None
    return typing.Union[tuple(members)]  # noqa: UP007 - made at run time


LAYERS = Components(
    "a layer",
    nn,
    (
        *("Linear", "ReLU", "LeakyReLU", "ELU", "SELU", "GELU", "SiLU", "Softplus", "Softsign"),
        *("Tanh", "Sigmoid", "Dropout", "BatchNorm1d"),
    ),
    {"Linear": "in_features", "BatchNorm1d": "num_features"},
)
"""What a model is a sequence of. All keep the number of features but `Linear`."""

REGRESSION_LOSSES = ("MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss")
CLASSIFICATION_LOSSES = ("BCEWithLogitsLoss",)
LOSSES = Components("a loss", nn, (*REGRESSION_LOSSES, *CLASSIFICATION_LOSSES))

# They want a closure, sparse gradients, or matrices only.
SPECIAL_OPTIMIZERS = ("Optimizer", "LBFGS", "SparseAdam", "Muon")

OPTIMIZERS = Components(
    "an optimizer",
    optim,
    tuple(
        name
        for name, value in vars(optim).items()
        if isinstance(value, type)
        and issubclass(value, optim.Optimizer)
        and name not in SPECIAL_OPTIMIZERS
    ),
)
