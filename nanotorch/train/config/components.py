"""The components that a configuration may name: layers, losses, optimizers, functions and more."""

import ast
import inspect
import json
import math
import operator
import types
import typing
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, TypeVar

import numpy as np

import nanotorch as torch
from nanotorch import nn, optim
from nanotorch.optim import lr_scheduler
from nanotorch.train.config.sections import (
    REQUIRED,
    Arguments,
    Component,
    ConfigError,
    Key,
    Natural,
    Noted,
    Positive,
    Problem,
    did_you_mean,
    quoted,
)
from nanotorch.train.training import loop

# Layers, losses and optimizers have PyTorch's names.
#
# This file does not repeat the arguments of a component. Their names, types and defaults come from
# the signature of the class. Errors of the class itself are reported with the place of the argument
# that caused them. Users can register more components.


# Arguments that the trainer handles, or without a meaning for NumPy on a CPU.
NOT_CONFIGURABLE = {
    *("params", "optimizer", "device", "dtype", "size_average", "reduce", "last_epoch"),
    *("epochs", "steps_per_epoch", "scale_fn", "process_group"),
    *("foreach", "fused", "capturable", "differentiable"),
}

PLAIN = (bool, int, float, str, types.NoneType)
VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
LISTS = (list, Iterable, Sequence, tuple)

REFUSALS = (
    *(TypeError, ValueError, RuntimeError, ArithmeticError),
    *(AssertionError, AttributeError, LookupError, MemoryError),
)
"""The errors that a constructor may raise about its arguments."""

SIDES = {
    *("in_features", "out_features", "in_channels", "out_channels", "input_size", "hidden_size"),
    *("num_embeddings", "embedding_dim", "d_model", "dim_feedforward", "embed_dim", "length"),
}
"""The arguments that are sides of matrices of weights."""
COUNTS = {"num_layers", "nhead", "groups", "num_groups"}

Factory = TypeVar("Factory", bound=Callable[..., Any])


@dataclass(frozen=True, eq=False)
class Components:
    """The components of one kind."""

    kind: str
    """The noun for this kind, with an article."""
    module: types.ModuleType
    """The module of the built-in components."""
    listed: tuple[str, ...]
    """The names of the built-in components."""
    inferred: Iterable[str] = ()
    """The arguments that follow from the input, and may be left out."""
    hidden: tuple[str, ...] = ()
    """The arguments that a configuration cannot give, as `name.argument`."""
    base: type = nn.Module
    """Their class; an argument of this class is a component of the same kind."""
    registered: dict[str, Callable[..., Any]] = field(default_factory=dict)
    """The components that users have added, by name."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names a configuration may use."""
        return (*self.listed, *self.registered)

    @property
    def plural(self) -> str:
        """The noun for this kind, in the plural."""
        word = self.kind.partition(" ")[2]
        return f"{word}{'es' if word.endswith('s') else 's'}"

    def register(self, factory: Factory, name: str | None = None) -> Factory:
        """Register a class, or a function that returns an object; returns it.

        Args:
            factory: the class or function.
            name: its name in configurations. Default: the factory's own name.

        Raises:
            ValueError: if the name is taken or no identifier.
        """
        name = name or str(getattr(factory, "__name__", ""))
        if not name.isidentifier():
            raise ValueError(f"{name!r} is not a name that a configuration can use")
        if name in self.names:
            raise ValueError(f"{self.kind} called {name!r} exists already")
        self.registered[name] = factory
        return factory

    def factory(self, name: str) -> Callable[..., Any]:
        """Return the class or function that is called `name`."""
        return self.registered.get(name) or getattr(self.module, name)

    def keys(self, name: str) -> Mapping[str, Key]:
        """Return the arguments that a configuration may give."""
        found: dict[str, Key] = {}
        annotations, followed = annotations_of(self.factory(name)), self.followed(name)
        for parameter in self.parameters(name):
            argument, default = parameter.name, parameter.default
            hint = self.plain_hint(annotations.get(argument), default)
            if isinstance(default, types.FunctionType):
                default = default.__name__  # layers accept a function's name, too
            if argument in followed:
                lists = tuple[int, ...] in members_of(hint)  # as in LayerNorm over several dims
                hint = Positive | None | tuple[int, ...] if lists else Positive | None
                default = None
            elif hint is int and argument in SIDES | COUNTS:
                hint = Positive
            if hint is not None:
                found[argument] = Key(hint, default)
        return found

    def shared(self, one: str, other: str) -> set[str]:
        """Return the arguments that two components share; all arguments if they are the same."""
        return self.keys(one).keys() & self.keys(other).keys() if one in self.names else set()

    def followed(self, name: str) -> set[str]:
        """Return the arguments of a component that follow from its input."""
        parameters = {p.name for p in self.parameters(name) if p.default is p.empty}
        return parameters & {*self.inferred}

    def build(self, component: Component, *inputs: Any, **inferred: Any) -> Any:
        """Return the object that a configuration describes.

        Args:
            component: its name and arguments.
            inputs: positional arguments before those of the configuration.
            inferred: arguments that follow from the input; each component uses those that it has.
        """
        arguments = {**component.arguments}
        for key in self.followed(component.name) & inferred.keys():
            if arguments.get(key) is None:
                arguments[key] = inferred[key]
        for key, value in arguments.items():
            if isinstance(value, Component):
                arguments[key] = self.build(value, *inputs, **inferred)
            elif isinstance(value, tuple) and value and isinstance(value[0], Component):
                arguments[key] = [self.build(item, *inputs, **inferred) for item in value]
        try:
            return self._construct(component.name, inputs, arguments)
        except REFUSALS:
            raise self._blamed(component, inputs, arguments) from None

    def attempt(self, component: Component) -> None:
        """Build a component on a tiny example, to raise its errors."""
        parts = component.arguments.values()
        holds_parts = any(isinstance(value, Component | tuple) for value in parts)
        if not holds_parts and self.followed(component.name) <= {*component.arguments}:
            self.build(component)

    def _construct(self, name: str, inputs: tuple[Any, ...], arguments: dict[str, Any]) -> Any:
        annotations = annotations_of(self.factory(name))
        given = dict(arguments)
        for key, value in arguments.items():
            # Some constructors accept no sequence but a list.
            forms = {typing.get_origin(member) for member in members_of(annotations.get(key))}
            if value is not None and value_is_tensor(annotations.get(key)):
                given[key] = torch.tensor(value)
            elif isinstance(value, tuple) and list in forms and tuple not in forms:
                given[key] = list(value)
        return self.factory(name)(*inputs, **given)

    def _blamed(
        self, component: Component, inputs: tuple[Any, ...], arguments: dict[str, Any]
    ) -> ConfigError:
        """Return the error with each complaint at the argument that causes it."""
        name, path = component.name, component.path
        problems: list[Problem] = []
        optional = arguments.keys() - self.followed(name)
        defaults = {k: key.default for k, key in self.keys(name).items() if k in optional}
        message = self._complaint(name, inputs, arguments)
        while message:
            for key in [k for k in arguments if defaults.get(k, REQUIRED) is not REQUIRED]:
                others = {other: arguments[other] for other in arguments if other != key}
                less = self._complaint(name, inputs, others)
                if less != message:
                    break
            else:
                return ConfigError([*problems, Problem(path, message)])
            default = defaults[key]
            usual = "" if default is None else f"; the default is {json.dumps(default)}"
            problems.append(Problem(f"{path}.{key}", message + usual))
            arguments, message = others, less
        return ConfigError(problems)

    def _complaint(self, name: str, inputs: tuple[Any, ...], arguments: dict[str, Any]) -> str:
        """Return a constructor's complaint about its arguments; "" if there is none."""
        try:
            self._construct(name, inputs, arguments)
        except REFUSALS as error:
            return str(error) or type(error).__name__
        return ""

    def parameters(self, name: str) -> list[inspect.Parameter]:
        """Return the parameters of a component that a configuration may name."""
        factory = self.factory(name)
        parameters = [*inspect.signature(constructor(factory)).parameters.values()]
        hidden = {item.removeprefix(f"{name}.") for item in self.hidden} | NOT_CONFIGURABLE
        own = [p for p in parameters[isinstance(factory, type) :] if p.kind not in VARIADIC]
        return [p for p in own if p.name not in hidden and not p.name.startswith("_")]

    def plain_hint(self, annotation: Any, default: Any) -> Any:
        """Return the part of a parameter's type that a file can express; None if there is none."""
        members: list[Any] = []
        for member in members_of(annotation):
            origin = typing.get_origin(member)
            if member in PLAIN or origin is Literal:
                members.append(member)
            elif isinstance(member, type) and origin is None and issubclass(member, self.base):
                members.append(Annotated[Component, self])
            elif origin in LISTS:
                items = typing.get_args(member)
                items = items if origin is tuple else (items[0], ...)
                inner = [item if item is ... else self.plain_hint(item, None) for item in items]
                members += [] if None in inner else [types.GenericAlias(tuple, tuple(inner))]
        if value_is_tensor(annotation):
            members += [float, tuple[float, ...]]
        if not members and type(default) in PLAIN:
            members = [type(default)]
        if annotation is Any and default in (0, 1, None, inspect.Parameter.empty):
            members = [int, tuple[int, ...]] + [types.NoneType] * (default is None)  # a size
        if not members or members == [types.NoneType]:
            return None
        return typing.Union[tuple(members)]  # noqa: UP007 - made at run time


def build_errors(components: Iterable[Component]) -> Sequence[Problem]:
    """Return the errors of components, each built on a tiny example."""
    noted = Noted()
    for component in components:
        with noted:
            component.registry.attempt(component)
    return noted


def constructor(factory: Callable[..., Any]) -> Callable[..., Any]:
    """Return the constructor with the arguments; a base's if a class only passes all on."""
    if not isinstance(factory, type):
        return factory
    for base in factory.__mro__:
        made = vars(base).get("__init__")
        if made is None:
            continue
        kinds = [parameter.kind for parameter in inspect.signature(made).parameters.values()][1:]
        if not kinds or any(kind not in VARIADIC for kind in kinds):
            return made
    return factory


def annotations_of(factory: Callable[..., Any]) -> Mapping[str, Any]:
    """Return the annotations of a constructor or function; none if they cannot be resolved."""
    try:
        return typing.get_type_hints(constructor(factory))
    except (NameError, TypeError):
        return {}


def members_of(annotation: Any) -> tuple[Any, ...]:
    """Return the members of a union; another type is the only member."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return typing.get_args(annotation)
    return (annotation,)


def value_is_tensor(annotation: Any) -> bool:
    """Return whether numbers given for an argument must be wrapped in a tensor."""
    members = members_of(annotation)
    return torch.Tensor in members and float not in members


def classes_in(module: types.ModuleType, base: type) -> dict[str, type]:
    """Return the public subclasses of ``base`` in a module, without ``base`` itself."""
    return {
        name: value
        for name, value in inspect.getmembers(module, inspect.isclass)
        if not name.startswith(("_", "Lazy")) and issubclass(value, base) and value is not base
    }


HOLDERS = ("RNNBase", "Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict")

INFERRED = {
    **dict.fromkeys(("in_features", "input_size", "d_model", "normalized_shape"), -1),
    **dict.fromkeys(("in_channels", "num_features", "num_channels"), 0),
}
"""Argument -> the dimension of a sample whose size it is."""

LAYER_NAMES = [
    name
    for name, layer in classes_in(nn, nn.Module).items()
    if name not in HOLDERS and not name.endswith("Loss")
    # A layer of a sequence needs exactly one input.
    for _, *parameters in [inspect.signature(layer.forward).parameters.values()]  # type: ignore[attr-defined]
    if [p.kind for p in parameters if p.default is p.empty] == [parameters[0].POSITIONAL_OR_KEYWORD]
]
HIDDEN = ("RNN.mode", "LSTM.mode", "GRU.mode", "RNN.proj_size", "GRU.proj_size")
LAYERS = Components("a layer", nn, tuple(LAYER_NAMES), (*INFERRED, "num_embeddings"), HIDDEN)
"""The layers of a model."""


Prediction = Callable[[torch.Tensor], torch.Tensor]
"""A function from outputs to predictions: numbers, or probabilities of classes."""


def as_they_are(outputs: torch.Tensor) -> torch.Tensor:
    """Return outputs that are predictions already."""
    return outputs


def softmax(outputs: torch.Tensor) -> torch.Tensor:
    """Return the probabilities of classes for their scores."""
    return torch.softmax(outputs, -1)


@dataclass(frozen=True)
class LossFacts:
    """The task of a loss, and what it makes of a model's outputs."""

    kind: Literal["regression", "binary", "classes"]
    """The outputs: numbers, a score of class 1 for each sample, or a score for each class."""
    prediction: Prediction | None = as_they_are
    """The inverse link: the function from outputs to predictions; None for that of the class of
    `nn` from which the loss derives."""
    option: str = ""
    """The argument of the loss without which outputs are predictions already; "" for none."""
    degree: int = 0
    """The power of the target's unit with which the loss scales; 0 if it scales in another way."""
    last: str = ""
    """The last layer that the loss needs; "" if it needs none."""
    inside: Mapping[str, str] = field(default_factory=dict)
    """The layers that the loss itself applies, with their names in messages."""


SOFTMAX = dict.fromkeys(("Softmax", "LogSoftmax"), "the softmax")
LOSS_FACTS: dict[str, LossFacts] = {
    "MSELoss": LossFacts("regression", degree=2),
    **dict.fromkeys(("L1Loss", "SmoothL1Loss"), LossFacts("regression", degree=1)),
    "HuberLoss": LossFacts("regression", degree=2),
    "PoissonNLLLoss": LossFacts("regression", torch.exp, "log_input"),
    "BCEWithLogitsLoss": LossFacts("binary", torch.sigmoid, inside={"Sigmoid": "the sigmoid"}),
    "BCELoss": LossFacts("binary", last="Sigmoid"),
    "CrossEntropyLoss": LossFacts("classes", softmax, inside=SOFTMAX),
    "NLLLoss": LossFacts("classes", torch.exp, last="LogSoftmax"),
}
"""The facts by the loss's name, those of registered losses included."""


def facts_of(name: str, loss: nn.Module) -> LossFacts:
    """Return the facts of the loss called `name`, with its prediction."""
    facts = LOSS_FACTS[name]
    if facts.prediction is not None:
        return facts
    bases = [c.__name__ for c in type(loss).__mro__ if getattr(nn, c.__name__, None) is c]
    usual = LossFacts(facts.kind, softmax if facts.kind == "classes" else as_they_are)
    known = [LOSS_FACTS[base] for base in bases if base in LOSS_FACTS]
    own = next((base for base in known if base.kind == facts.kind), usual)
    return replace(facts, prediction=own.prediction, option=own.option)


OF_SAMPLES = ("BCEWithLogitsLoss.weight", "BCELoss.weight")  # a weight per sample of a batch
LOSSES = Components("a loss", nn, tuple(LOSS_FACTS), hidden=OF_SAMPLES)


class Optimizers(Components):
    """Optimizers, with groups of parameters that have arguments of their own."""

    def keys(self, name: str) -> Mapping[str, Key]:
        plain = super().keys(name)
        if name in SEARCHING:  # without groups: it searches over all parameters as one vector
            return {**plain, "line_search_fn": Key(Literal["strong_wolfe"] | None, None)}
        options = {key: replace(about, default=None) for key, about in plain.items()}
        group = Annotated[Arguments, {"parameters": Key(str), **options}]
        return {**plain, "groups": Key(types.GenericAlias(tuple, (group, ...)), None)}

    def shared(self, one: str, other: str) -> set[str]:
        rates = {"lr"} if (one in SEARCHING) != (other in SEARCHING) else set()
        return super().shared(one, other) - rates

    def attempt(self, component: Component) -> None:
        self.build(component.changed(without=["groups"]), [nn.Parameter(torch.zeros(1, 1))])


SEARCHING = ("LBFGS",)
"""The optimizers that evaluate the loss and its gradients several times per step."""
OPTIMIZERS = Optimizers(
    "an optimizer",
    optim,
    # SparseAdam needs sparse gradients.
    tuple(name for name in classes_in(optim, optim.Optimizer) if name != "SparseAdam"),
    base=optim.Optimizer,
)

# The schedules of the learning rate that a configuration may name, and the intervals they count.


# The argument for the schedule's length; if left out, it is the training's.
LENGTHS = {"CosineAnnealingLR": "T_max", "OneCycleLR": "total_steps", "PolynomialLR": "total_iters"}
PERIODS = ("step_size", "T_0", "T_mult", "step_size_up", "step_size_down", *LENGTHS.values())
"""The arguments that are positive numbers of epochs or steps."""
MOST_TRIED = 10_000
"""The most changes of the rate that are tried before a training; early ones show most mistakes."""
# Schedules that change the rate after every step.
BY_STEPS = ("CyclicLR", "OneCycleLR")
PLATEAU = "ReduceLROnPlateau"


@dataclass(frozen=True, eq=False)
class Schedules(Components):
    """The schedulers of `optim.lr_scheduler`, each with two more arguments.

    `interval` is the unit that it counts, an epoch or a step. `warmup` is the number of intervals
    in which the rate first rises linearly.
    """

    __hash__ = object.__hash__  # members of a union of type hints need a hash

    def keys(self, name: str) -> Mapping[str, Key]:
        found = {**super().keys(name)}
        found |= {k: replace(key, hint=Positive) for k, key in found.items() if k in PERIODS}
        if length := LENGTHS.get(name):
            found[length] = Key(Positive | None, None)
        if name == "CyclicLR":
            found["step_size_down"] = Key(Positive | None, None)
        if name == "MultiStepLR":
            found["milestones"] = Key(tuple[int, ...])
        interval = Key(Literal["epoch", "step"], "step" if name in BY_STEPS else "epoch")
        return {**found, "interval": interval, "warmup": Key(Natural, 0)}

    def build(
        self, component: Component, *inputs: Any, length: int = MOST_TRIED, **inferred: Any
    ) -> Any:
        """Return a scheduler for `length` changes of the rate, without the warm-up."""
        bare = component.changed(without=["interval", "warmup"])
        if (name := LENGTHS.get(component.name)) and name not in bare.arguments:
            bare = bare.changed({name: length})
        return super().build(bare, *inputs)

    def attempt(self, component: Component) -> None:
        optimizer = optim.SGD([nn.Parameter(torch.zeros(1, 1))], momentum=0.5)
        self.build(component, optimizer)  # SGD with momentum has every option


SCHEDULES = Schedules(
    "a scheduler",
    lr_scheduler,
    (
        *("StepLR", "MultiStepLR", "ConstantLR", "LinearLR", "ExponentialLR", "PolynomialLR"),
        *("CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "OneCycleLR", PLATEAU),
    ),
)


# Layers that a sequence needs; PyTorch has them only as code. Only configurations know them.


@LAYERS.register
class Positions(nn.Module):
    """Adds a learned vector to each position of a sequence: x + weight[:T].

    Args:
        d_model: the number of features of a position.
        length: the greatest number of positions.

    Shape:
        (N, T, d_model) -> (N, T, d_model), with T <= length.
    """

    def __init__(self, d_model: int, length: int) -> None:
        super().__init__()
        self.length = length
        self.weight = nn.Parameter(torch.empty(length, d_model))
        nn.init.normal_(self.weight, std=0.02)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return `x` with the positions added."""
        places = x.shape[-2]
        if places > self.length:
            raise ValueError(f"{places} places are more than the length {self.length}")
        return x + self.weight[:places]

    def extra_repr(self) -> str:
        """Return the arguments."""
        return f"{self.weight.shape[1]}, length={self.length}"


@LAYERS.register
class Causal(nn.Module):
    """Calls a layer with a causal mask, so that no position of a sequence sees a later one.

    Args:
        layer: a module with the call `layer(x, mask, is_causal=True)`, such as TransformerEncoder.

    Shape:
        (N, T, features), batches first.
    """

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the layer's output."""
        places = x.shape[-2]
        mask = torch.triu(torch.full((places, places), float("-inf")), diagonal=1)
        return self.layer(x, mask, is_causal=True)


@LAYERS.register
class Item(nn.Module):
    """One of several results of the layer before, such as the outputs of a recurrent layer.

    Args:
        index: the number of the result, from 0.
    """

    def __init__(self, index: int = 0) -> None:
        super().__init__()
        self.index = index

    def forward(self, x: tuple[torch.Tensor, ...]) -> torch.Tensor:
        """Return the result number `index` in `x`."""
        return x[self.index]

    def extra_repr(self) -> str:
        """Return the argument."""
        return str(self.index)


@LAYERS.register
class Place(Item):
    """One position of a sequence.

    Args:
        index: the position. Default: -1, the last one.

    Shape:
        (N, T, features) becomes (N, features).
    """

    def __init__(self, index: int = -1) -> None:
        super().__init__(index)

    def forward(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        """Return the features of that position."""
        return x[:, self.index]


# The components that users register under names of their own.
#
# A configuration never runs code: it can only name components that a program has registered before
# it calls `nanotorch.train.cli.main` or `load_config`.


CALLBACKS = Components("a callback", loop, (), base=loop.Callback)
"""The callbacks that users have registered."""
REGISTRIES = (LAYERS, LOSSES, OPTIMIZERS, SCHEDULES, CALLBACKS)

register_layer = LAYERS.register
register_callback = CALLBACKS.register


def register_loss(
    factory: Callable[..., nn.Module],
    experiment: Literal["regression", "classification"],
    name: str | None = None,
    degree: int = 0,
    prediction: Prediction | None = None,
) -> Callable[..., Any]:
    """Register a loss, so that configurations can name it; returns `factory`.

        register_loss(MyCountLoss, "regression", prediction=torch.exp)

    Args:
        factory: the class, or a function that makes the module. The module returns the mean loss
            of outputs (samples, 1) and targets of the same shape, or of outputs (samples, classes)
            and classes (samples,).
        experiment: the task.
        name: its name in configurations. Default: the factory's own name.
        degree: for a regression, 1 if the loss scales with the target's unit, like a distance, 2
            if with its square. Targets are standardized only for losses with a degree. Default: 0.
        prediction: the function from outputs to predictions of the same shape, which metrics,
            plots and users get. A loss with a function of its own has no degree. Default: that of
            the class of `nn` from which the loss derives, such as the exponential function for
            `PoissonNLLLoss`; else the softmax for classes, and outputs as they are for numbers.

    Raises:
        ValueError: if the name is taken or no identifier, or `experiment` is something else.
    """
    regression = LossFacts("regression", prediction, degree=degree)
    kinds = {"regression": regression, "classification": LossFacts("classes", prediction)}
    if experiment not in kinds:
        raise ValueError(f"expected 'regression' or 'classification', got {experiment!r}")
    facts, known = kinds[experiment], name or getattr(factory, "__name__", "")
    if known in LOSSES.listed and factory is getattr(nn, known):
        own = LOSS_FACTS[known]
        if (own.kind, prediction) == (facts.kind, None) and degree in (0, own.degree):
            return factory  # configurations can name it already
    LOSSES.register(factory, name)
    LOSS_FACTS[LOSSES.names[-1]] = facts
    return factory


# Arithmetic in a vector `x`, from text to tensor operations, without ever executing the text.
#
# `x` is the vector, `x[0]` a coordinate of it, `i` the indices of the coordinates: 0, 1, 2 and so
# on. Python's parser parses the text. Nodes outside a short list of arithmetic are refused.


LONGEST = 2000
DEEPEST = 200

Number = int | float
Part = Number | Callable[[Any], Any]
"""A constant, or a function from x to a tensor."""

BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.Pow: operator.pow,
}  # fmt: skip
UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.UAdd: operator.pos, ast.USub: operator.neg
}  # fmt: skip
CALLS = ("abs", "cos", "exp", "log", "mean", "sin", "sqrt", "sum", "tan", "tanh")
CONSTANTS = {"pi": math.pi, "e": math.e}
REDUCTIONS = ("mean", "sum")
"""The calls that reduce a vector to one number."""


class ExpressionError(ValueError):
    """The error for a text that is not arithmetic in x."""


@dataclass(frozen=True)
class Expression:
    """A function of a vector, called with a tensor."""

    text: str
    evaluate: Callable[[Any], Any]
    dimensions: int
    """The least length of x that all indices fit."""
    any_length: bool
    """Whether x occurs as a whole, so that x may be longer."""
    together: bool = True
    """Whether `evaluate` accepts several points at once, shape (length, points)."""

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """Return the values at points.

        Shape:
            x: (length,) or (length, points).
            Output: () or (points,).
        """
        if x.dim() < 2 or self.together:
            return self.evaluate(x)
        return torch.stack([self.evaluate(x[:, k]) for k in range(x.shape[1])])

    def problem(self, start: Sequence[float]) -> str | None:
        """Return why no descent can begin at `start`; None if the value there is finite."""
        if len(start) < self.dimensions or (len(start) > self.dimensions and not self.any_length):
            return f"needs x of length {self.dimensions}, but the start has {len(start)}"
        x = torch.tensor([float(value) for value in start], requires_grad=True)
        with np.errstate(all="ignore"):
            value = self(x)
        if value.dim() > 0:
            return f"gives {value.numel()} numbers, not one; use sum(...)"
        finite = math.isfinite(value.item())
        return None if finite else f"is {value.item()} at the start {list(start)}"


def parse_expression(text: str) -> Expression:
    """Return the function that `text` describes.

    Raises:
        ExpressionError: if it is anything but arithmetic in x.
    """
    if len(text) > LONGEST:
        raise ExpressionError(f"has {len(text)} characters; at most {LONGEST} are allowed")
    if "#" in text:
        raise ExpressionError("'#' is not allowed")
    lines, text = text, " ".join(text.split())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on odd literals such as `0or x`, refused below
            tree = ast.parse(text, mode="eval")
    except SyntaxError as error:
        raise ExpressionError(f"not an expression: {error.msg}") from None
    except (ValueError, MemoryError, RecursionError):
        raise ExpressionError("not an expression") from None
    parser = Parser(text)
    part = parser.part(tree.body, DEEPEST)
    if not callable(part) or not (parser.any_length or parser.dimensions):
        raise ExpressionError("does not depend on x")
    return Expression(lines, part, parser.dimensions, parser.any_length)


class Parser:
    """Converts nodes of arithmetic to functions of x, and refuses all others."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.dimensions = 0
        self.any_length = False

    def part(self, node: ast.expr, depth: int) -> Part:
        """Return the constant or function of `node`; constants are folded in floating point."""
        if depth == 0:
            raise ExpressionError("is nested too deeply")
        match node:
            case ast.BinOp(left, op, right) if type(op) in BINARY:
                parts = self.part(left, depth - 1), self.part(right, depth - 1)
                return self._binary(BINARY[type(op)], *parts, node)
            case ast.UnaryOp(op, operand) if type(op) in UNARY:
                function, inner = UNARY[type(op)], self.part(operand, depth - 1)
                return (lambda x: function(inner(x))) if callable(inner) else function(inner)
            case ast.Constant(int() | float() as value) if not isinstance(value, bool):
                if abs(value) <= 1e30:
                    return float(value)  # a tensor accepts no integer of more than 64 bits
                raise self._error(node, "is too large")
            case ast.Name(name):
                return self._name(node, name)
            case ast.Subscript(ast.Name("x"), ast.Constant(number)) if type(number) is int:
                if number > 1_000_000:
                    raise self._error(node, "is too large an index; the most is a million")
                self.dimensions = max(self.dimensions, number + 1)
                return lambda x: x[number]
            case ast.Subscript(ast.Name("x")):
                raise self._error(node, "needs a whole number, as in x[0]")
            case ast.Subscript():
                raise self._error(node, "is not arithmetic; only x has an index")
            case ast.Call(ast.Name("x")):
                raise self._error(node, "calls x; a coordinate is written x[0]")
            case ast.Call(ast.Name(name)):
                return self._call(node, name, depth)
            case ast.BinOp(_, ast.BitXor()):
                raise self._error(node, "is not arithmetic; powers are written **")
        raise self._error(node, "is not arithmetic")

    def _binary(self, apply: Callable[..., Any], left: Part, right: Part, node: ast.expr) -> Part:
        if callable(left) and callable(right):
            return lambda x: apply(left(x), right(x))
        if callable(left):
            return lambda x: apply(left(x), right)
        if callable(right):
            return lambda x: apply(left, right(x))
        try:  # floats, as integers could fill the memory: 9**9**9
            value = apply(float(left), float(right))
        except ArithmeticError:
            value = math.nan
        if isinstance(value, complex) or not math.isfinite(value):
            raise self._error(node, "is not a finite number")
        return float(value)

    def _name(self, node: ast.expr, name: str) -> Part:
        if name == "x":
            self.any_length = True
            return lambda x: x
        if name == "i":
            return lambda x: torch.arange(len(x), dtype=x.dtype).view(-1, *[1] * (x.dim() - 1))
        if name in CONSTANTS:
            return CONSTANTS[name]
        if name in CALLS:
            raise self._error(node, f"needs a value, as in {name}(x[0])")
        known = ["x", "i", *CONSTANTS, *CALLS]
        raise self._error(node, f"is not known{did_you_mean(name, known)}")

    def _call(self, node: ast.Call, name: str, depth: int) -> Part:
        if name not in CALLS:
            raise self._error(node.func, f"is not known{did_you_mean(name, CALLS)}")
        if len(node.args) != 1 or node.keywords:
            raise self._error(node, f"is not valid; {name} takes one value")
        operand, apply = self.part(node.args[0], depth - 1), getattr(torch, name)
        if not callable(operand):
            raise self._error(node, "does not depend on x; write its value")
        if name not in REDUCTIONS:
            return lambda x: apply(operand(x))
        if not holds_vector(node.args[0]):
            return operand  # sum and mean of one number are this number
        return lambda x: apply(value) if (value := operand(x)).dim() < 2 else apply(value, 0)

    def _error(self, node: ast.expr, message: str) -> ExpressionError:
        source = ast.get_source_segment(self._text, node) or self._text
        return ExpressionError(f"{quoted(source)} {message}")


def holds_vector(node: ast.expr) -> bool:
    """Return whether an expression has a value for each coordinate instead of a single one."""
    if isinstance(node, ast.Name):
        return node.id in ("x", "i")
    if isinstance(node, ast.Subscript):
        return False
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id not in REDUCTIONS and holds_vector(node.args[0])
    parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
    return any(map(holds_vector, parts))


# The functions to minimize that have names, with their known minima.


Point = tuple[float, ...]


@dataclass(frozen=True)
class KnownFunction:
    """A function and its minima."""

    sentence: str
    """Its description."""
    formula: str | Callable[[torch.Tensor], torch.Tensor]
    """Arithmetic in the vector x, or a function of x."""
    minima: Sequence[Point] | Callable[[int], Sequence[Point]] = ()
    """The known points of its least value, or a function that returns them for a number of
    dimensions; a point of one number has it as every coordinate, in any dimension."""
    minimum: float = 0.0
    """Its least value."""
    for_each: bool = False
    """Whether `minimum` holds for each coordinate, so that the least value is their sum."""

    @property
    def shown(self) -> str:
        """The function as text."""
        return self.formula if isinstance(self.formula, str) else "what the program has registered"

    def expression(self) -> Expression:
        """Return the function as an `Expression`."""
        if isinstance(self.formula, str):
            return parse_expression(self.formula)
        name = getattr(self.formula, "__name__", "a function")
        return Expression(name, self.formula, 1, True, together=False)

    def distance(self, point: Sequence[float]) -> tuple[float, Point] | None:
        """Return the distance to the nearest known minimum, and that point; None without any."""
        places = self.places(len(point))
        return min((math.dist(point, place), place) for place in places) if places else None

    def places(self, dimensions: int) -> list[Point]:
        """Return the known minima in `dimensions` dimensions."""
        known = self.minima(dimensions) if callable(self.minima) else self.minima
        return [place * (dimensions if len(place) == 1 else 1) for place in known]

    def excess(self, value: float, dimensions: int) -> float:
        """Return the difference between a value and the least one."""
        return value - self.minimum * (dimensions if self.for_each else 1)


FUNCTIONS: dict[str, KnownFunction] = {
    "quadratic": KnownFunction(
        "A paraboloid about (0, 1, ..., n - 1) in any dimension n.", "sum((x - i)**2)",
        lambda dimensions: [tuple(map(float, range(dimensions)))],
    ),
    "sphere": KnownFunction(
        "The squared distance from the origin, in any dimension.", "sum(x**2)", [(0.0,)]
    ),
    "ellipsoid": KnownFunction(
        "A quadratic about (1, ..., 1) in any dimension n, n times as steep along the last "
        "coordinate as along the first.", "sum((i + 1) * (x - 1)**2)", [(1.0,)],
    ),
    "rosenbrock": KnownFunction(
        "A curved valley, nearly flat along its bottom.",
        "(1 - x[0])**2 + 100 * (x[1] - x[0]**2)**2", [(1.0, 1.0)],
    ),
    "booth": KnownFunction(
        "A quadratic whose axes are turned.",
        "(x[0] + 2*x[1] - 7)**2 + (2*x[0] + x[1] - 5)**2", [(1.0, 3.0)],
    ),
    "himmelblau": KnownFunction(
        "Four equal minima.", "(x[0]**2 + x[1] - 11)**2 + (x[0] + x[1]**2 - 7)**2",
        [(3.0, 2.0), (-2.805118086952745, 3.131312518250573),
         (-3.779310253377747, -3.283185991286170), (3.584428340330492, -1.848126526964404)],
    ),
    "beale": KnownFunction(
        "Nearly flat around its minimum, steep at the corners.",
        "(1.5 - x[0] + x[0]*x[1])**2 + (2.25 - x[0] + x[0]*x[1]**2)**2"
        " + (2.625 - x[0] + x[0]*x[1]**3)**2", [(3.0, 0.5)],
    ),
    "rastrigin": KnownFunction(
        "A bowl full of local minima, about one at each whole number, in any dimension.",
        "sum(x**2 - 10*cos(2*pi*x) + 10)", [(0.0,)],
    ),
    "ackley": KnownFunction(
        "A nearly flat plain of local minima with a hole in the middle, in any dimension.",
        "-20*exp(-0.2*sqrt(mean(x**2))) - exp(mean(cos(2*pi*x))) + 20 + e", [(0.0,)],
    ),
    "styblinski_tang": KnownFunction(
        "Two minima along each coordinate, one of them lower, in any dimension.",
        "sum(x**4 - 16*x**2 + 5*x) / 2", [(-2.903534027771177,)], -39.16616570377142,
        for_each=True,
    ),
}  # fmt: skip


def register_function(
    name: str,
    function: Callable[[torch.Tensor], torch.Tensor],
    minima: Sequence[Sequence[float]] = (),
    minimum: float = 0.0,
) -> None:
    """Register a function, so that configurations can name it.

    Args:
        name: its name in configurations.
        function: the function from a vector to a tensor of one number.
        minima: the known points of its least value.
        minimum: its least value. Default: 0.

    Raises:
        ValueError: if the name is taken.
    """
    if name in FUNCTIONS:
        raise ValueError(f"a function called {name!r} exists already")
    points = [tuple(float(value) for value in point) for point in minima]
    sentence = (function.__doc__ or "").partition("\n")[0]
    FUNCTIONS[name] = KnownFunction(sentence, function, points, minimum)
