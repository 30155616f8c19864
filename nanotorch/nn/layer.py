"""Bases of layers: `Layer`, a function with options; `OwnNames`; and tuples of sizes."""

import inspect
import linecache
import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any, ClassVar, dataclass_transform

from nanotorch._core.arguments import copy_function
from nanotorch._core.tensor import Tensor
from nanotorch.nn.module import Module
from nanotorch.ops.arguments import check_input

FORMER = ("size_average", "reduce")  # former options of losses, replaced by `reduction`

HERE = __name__.rpartition(".")[0]
OPERATIONS = "nanotorch.ops"  # functions of these modules accept arrays, too


# Layers without parameters: each calls a function with the layer's options.


@dataclass_transform(eq_default=False)
class Layer(Module):
    """The base of layers without parameters: a layer is a function and its options.

        class LeakyReLU(Layer, function=F.leaky_relu, shown="negative_slope inplace"):
            negative_slope: float = 0.01
            inplace: bool = False

    The options become the arguments of `__init__` and attributes of the layer. `forward` passes the
    attributes to the function. `__init__` passes on the options that the base's `__init__` takes,
    keeps tensors as buffers, and calls `__post_init__` at the end, if the class has one.

    Args:
        function: the function that `forward` calls.
        takes: the names of the arguments of `forward`.
        gives: the names of the attributes that the function gets. Default: all options.
        shown: the options that `repr` shows. An option after a colon appears without its name.
            ``inplace`` appears only if set, ``bias`` as True or False.
        kw_only: whether the options are keyword-only.
    """

    _takes: ClassVar[Sequence[str]] = ("input",)
    _given: ClassVar[Sequence[str]] = ()
    _shown: ClassVar[Sequence[str]] = ()
    _options: ClassVar[dict[str, Any]] = {}  # option name -> type; the base's options come first
    _defaults: ClassVar[dict[str, Any]] = {}

    if TYPE_CHECKING:  # `__init_subclass__` makes it

        def forward(self, *args: Any, **kwargs: Any) -> Tensor: ...

    def __init_subclass__(
        cls, function: Callable[..., Any] | None = None, takes: str | None = None, gives: str = "",
        shown: str | None = None, kw_only: bool = False, **keywords: Any,
    ) -> None:  # fmt: skip
        super().__init_subclass__(**keywords)
        if not cls.__module__.startswith(HERE):
            return  # a user's class
        if takes is not None:
            cls._takes = takes.split()
        if shown is not None:
            cls._shown = shown.split()
        own = {n: kind for n, kind in inspect.get_annotations(cls).items() if n[0] != "_"}
        for name in [name for name in own if name in vars(cls)]:
            cls._defaults = {**cls._defaults, name: vars(cls)[name]}
            delattr(cls, name)  # an attribute of the layer, not of the class
        options = cls._options = {**cls._options, **own} if own else cls._options
        if own or gives:
            cls._given = gives.split() or [name for name in options if name not in FORMER]
        source = cls._source_of_init(kw_only) if own else ""
        if function is not None:
            source += cls._source_of_forward(function)
        hints = {
            "__init__": {**options, "return": None},
            "forward": dict.fromkeys((*cls._takes, "return"), Tensor),
        }
        if not source:
            return
        # Tracebacks and debuggers show the source.
        filename, source = f"<nanotorch layer {cls.__name__}>", f"class {cls.__name__}:\n{source}"
        # `forward` looks the function up in its module at each call, as a handwritten method does.
        home = function and sys.modules[function.__module__]
        held = {"__name__": cls.__module__, "layer": cls, "home": home, "tensor_given": check_input}
        exec(compile(source, filename, "exec"), held)
        linecache.cache[filename] = len(source), None, source.splitlines(keepends=True), filename
        written = vars(held[cls.__name__])
        for name in written.keys() & hints.keys():
            written[name].__annotations__ = hints[name]
            setattr(cls, name, written[name])

    @classmethod
    def _source_of_init(cls, kw_only: bool) -> str:
        """The source of `__init__`; "" if the base's `__init__` takes the same options."""
        options = cls._options
        arguments, passed, kept = ["self", "*"] if kw_only else ["self"], [], []
        code = cls.__init__.__code__
        of_base = code.co_varnames[1 : code.co_argcount]
        for name, kind in options.items():
            default = f"={cls._defaults[name]!r}" if name in cls._defaults else ""
            arguments.append(name + default)
            if name in of_base:
                passed.append(f"{name}={name}")
            elif kind == Tensor | None:
                kept.append(f"self.register_buffer({name!r}, {name})")
            else:
                kept.append(f"self.{name} = {name}")
        defaults = tuple(cls._defaults[name] for name in options if name in cls._defaults)
        if of_base == tuple(options) and (cls.__init__.__defaults__ or ()) == defaults:
            return ""
        if hasattr(cls, "__post_init__"):
            kept.append("self.__post_init__()")
        lines = [f"super(layer, self).__init__({', '.join(passed)})", *kept]
        body = "".join(f"        {line}\n" for line in lines)
        return f"    def __init__({', '.join(arguments)}):\n{body}\n"

    @classmethod
    def _source_of_forward(cls, function: Callable[..., Any]) -> str:
        """The source of `forward`."""
        code = inspect.unwrap(function).__code__
        takes, gives = cls._takes, cls._given
        names = (*takes, *gives)
        in_order = code.co_varnames[: code.co_argcount][: len(names)] == names
        given = [*takes]
        for name in gives:
            value = f"self.{name}"
            if cls._options.get(name) == Tensor | None:  # fast: `self.weight` looks there last
                value = f"own[{name!r}] if {name!r} in (own := self._buffers) else {value}"
            given.append(value if in_order else f"{name}={value}")
        bare = function.__module__.startswith(OPERATIONS) and takes[0] == "input"
        check = f"        tensor_given({function.__name__!r}, input)\n" if bare else ""
        return (
            f"    def forward({', '.join(['self', *takes])}):\n"
            '        """The function, with the options of the layer."""\n'
            f"{check}        return home.{function.__name__}({', '.join(given)})\n"
        )

    def extra_repr(self) -> str:
        told = []
        for name in self._shown:
            value = getattr(self, name.removeprefix(":"))
            if name == "bias":
                value = value is not None
            elif name == "inplace":
                value = bool(value)
            if name != "inplace" or value:
                text = repr(value) if isinstance(value, str) else str(value)
                told.append(text if name[0] == ":" else f"{name}={text}")
        return ", ".join(told)


def changed_options(layer: Any, **usual: Any) -> str:
    """The options of a layer that differ from the ``usual`` values, as `repr` shows them."""
    held = {name: getattr(layer, name) for name in usual}
    return "".join(f", {name}={held[name]}" for name in usual if held[name] != usual[name])


# Layers of one family share methods here. In PyTorch each layer has its own, and errors name it.


class OwnNames:
    """The base of a family of layers: gives each layer copies of methods under its own name.

    As in PyTorch, an error about a missing argument then names ``Conv2d.__init__()`` and not the
    ``__init__`` of the base of all convolutions. Users' subclasses inherit methods as usual.

    Attributes:
        _own_names: the names of these methods.
    """

    _own_names: tuple[str, ...] = ("__init__", "forward")

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if not cls.__module__.startswith(HERE) or cls.__name__.startswith("_"):
            return
        for name in cls._own_names:
            if name not in vars(cls):
                setattr(cls, name, copy_function(getattr(cls, name), f"{cls.__name__}.{name}"))


# Sizes by dimension, from one number or several: `_pair(3)` is `(3, 3)`.
#
# Programs with their own layers import these functions, which PyTorch has in `nn.modules.utils`.


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    """A function that turns an iterable into a tuple, and any other value into ``n`` copies."""

    def parse(x: Any) -> tuple[Any, ...]:
        return tuple(x) if isinstance(x, Iterable) else tuple(repeat(x, n))

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t: Iterable[Any], n: int) -> tuple[Any, ...]:
    """The elements in reverse order, each ``n`` times: the order of sizes in `pad`."""
    return tuple(x for x in reversed(tuple(t)) for _ in range(n))
