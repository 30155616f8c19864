"""Everything around the tensors of an object, as JSON, and back.

None, bools, integers, texts and lists are JSON's own. Everything else is an object with one key
that names its kind: ``{"tuple": [...]}``, ``{"tensor": "layer.weight"}``. Kinds are looked up in a
table, so that a file can ask for nothing else.
"""

from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.device import device
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.nn.module import Module
from nanotorch.nn.parameter import Parameter
from nanotorch.optim.lr_scheduler import LRScheduler
from nanotorch.optim.optimizer import Optimizer

PLAIN = (type(None), bool, int, str)
STATEFUL = (Module, Optimizer, LRScheduler)
RESERVED = "__metadata__"  # what safetensors does not take for a tensor's name


class Encoder:
    """Takes an object apart.

    Attributes:
        tensors: what was found, by the names they get in the file.
    """

    def __init__(self) -> None:
        self.tensors: dict[str, Tensor] = {}
        # Which is stored under which name first, and alive, so that no identity is used twice.
        self._first: dict[int, tuple[str, Any]] = {}
        self._above: set[int] = set()  # the containers that surround the value at hand

    def encode(self, value: Any, path: tuple[Any, ...] = ()) -> Any:
        """The JSON of a value.

        Raises:
            TypeError: for what cannot be saved, with the place where it is.
            ValueError: for a container that contains itself.
        """
        kind = type(value)
        if kind in PLAIN:
            return value
        if kind in CONTAINERS:
            if id(value) in self._above:
                raise ValueError(f"cannot save {place(path)}: the {kind.__name__} contains itself")
            self._above.add(id(value))
            encoded = CONTAINERS[kind](self, value, path)
            self._above.discard(id(value))
            return encoded
        if kind in SIMPLE:
            return {SIMPLE[kind][0]: SIMPLE[kind][1](value)}
        return self._encode_array(value, path)

    def _encode_array(self, value: Any, path: tuple[Any, ...]) -> Any:
        kind = type(value)
        if kind in (Tensor, Parameter):
            encoded = {"parameter" if kind is Parameter else "tensor": self._named(value, path)}
            encoded["requires_grad"] = value.requires_grad
            return encoded | {"is": self._first[id(value)][0]}
        if (kind is np.ndarray or isinstance(value, np.generic)) and value.dtype in dtypes.OF_NUMPY:
            name = "ndarray" if kind is np.ndarray else "scalar"
            return {name: self._named(value, path)}
        if kind is bytes or kind is bytearray:
            return {kind.__name__: self._named(np.frombuffer(value, np.uint8), path)}
        if kind.__module__.partition(".")[0] == "torch" and hasattr(value, "__dlpack__"):
            return self.encode(wrap(value.detach().cpu().numpy()), path)  # PyTorch's own tensors
        raise TypeError(refusal(value, path))

    def _named(self, value: Any, path: tuple[Any, ...]) -> str:
        """The name under which the values are stored; they are stored once for each place."""
        wanted = ".".join(map(str, path)) or "tensor"
        name, number = wanted, 1
        while name in self.tensors or name == RESERVED:
            number += 1
            name = f"{wanted}#{number}"
        self._first.setdefault(id(value), (name, value))
        self.tensors[name] = value if isinstance(value, Tensor) else wrap(np.asarray(value))
        return name

    def sequence(self, values: Any, path: tuple[Any, ...]) -> list[Any]:
        """The JSON of each entry."""
        return [self.encode(value, (*path, n)) for n, value in enumerate(values)]

    def mapping(self, values: Any, path: tuple[Any, ...]) -> list[Any]:
        """The JSON of keys and values, in pairs, in order."""
        return [
            [self.encode(key, (*path, "a key")), self.encode(value, (*path, key))]
            for key, value in values.items()
        ]

    def ordered(self, values: Any, path: tuple[Any, ...]) -> Any:
        """An `OrderedDict`; that of a module's state tells the versions of its parts."""
        metadata = getattr(values, "_metadata", None)
        encoded = {"OrderedDict": self.mapping(values, path)}
        return encoded if metadata is None else encoded | {"metadata": self.encode(metadata)}


CONTAINERS: dict[type, Callable[[Encoder, Any, tuple[Any, ...]], Any]] = {
    list: Encoder.sequence,
    tuple: lambda e, v, path: {"tuple": e.sequence(v, path)},
    dtypes.Size: lambda e, v, path: {"Size": e.sequence(v, path)},
    set: lambda e, v, path: {"set": e.sequence(v, path)},
    frozenset: lambda e, v, path: {"frozenset": e.sequence(v, path)},
    dict: lambda e, v, path: {"dict": e.mapping(v, path)},
    Counter: lambda e, v, path: {"Counter": e.mapping(v, path)},
    OrderedDict: Encoder.ordered,
}
# Type -> its kind in the file, and the value as JSON.
SIMPLE: dict[type, tuple[str, Callable[[Any], Any]]] = {
    float: ("float", float.hex),  # exact, and for nan and infinity too
    complex: ("complex", lambda v: [v.real.hex(), v.imag.hex()]),
    dtypes.dtype: ("dtype", lambda v: v.name),
    device: ("device", str),
}


def place(path: tuple[Any, ...]) -> str:
    """Where a value stands, as Python would reach it."""
    return "obj" + "".join(f"[{key!r}]" for key in path)


def refusal(value: Any, path: tuple[Any, ...]) -> str:
    """Why a value cannot be saved, and what can be in its place."""
    kind = type(value).__name__
    told = f"cannot save {place(path)}: "
    if isinstance(value, STATEFUL):
        return told + (
            f"a whole {kind} is code, which files of nanotorch do not hold. Save its state, "
            f"`state_dict()`, and give it to `load_state_dict()` of a new {kind}"
        )
    if callable(value):
        return told + (
            f"{getattr(value, '__name__', kind)!r} is code, which files of nanotorch do not hold. "
            "Save what it needs to be made anew"
        )
    bases = [b for b in (dict, list, tuple, int, float, str, Tensor) if isinstance(value, b)]
    advice = f"; convert it to a plain {bases[0].__name__}" if bases else ""
    of = f" of dtype {value.dtype}" if hasattr(value, "dtype") else ""
    return told + (
        f"{kind}{of} is none of what files of nanotorch hold: tensors, arrays and numbers of "
        "NumPy, None, bools, numbers, texts, bytes, and dicts, lists, tuples and sets of them"
        f"{advice}"
    )


class Decoder:
    """Puts an object together from its JSON and the tensors' arrays."""

    def __init__(self, arrays: dict[str, np.ndarray]) -> None:
        self._arrays = arrays
        self._made: dict[str, Tensor] = {}  # by the name of the first place

    def decode(self, value: Any) -> Any:
        """The value of which this is the JSON.

        Raises:
            ValueError, TypeError, KeyError: for JSON that is none of `Encoder`'s.
        """
        if type(value) in PLAIN:
            return value
        if isinstance(value, list):
            return [self.decode(entry) for entry in value]
        kind, content = next(iter(value.items()))
        return DECODERS[kind](self, content, value)

    def pairs(self, content: Any) -> list[tuple[Any, Any]]:
        """The keys and values of a mapping."""
        return [(self.decode(key), self.decode(entry)) for key, entry in content]

    def ordered(self, content: Any, value: Any) -> Any:
        """See `Encoder.ordered`."""
        result: Any = OrderedDict(self.pairs(content))
        if "metadata" in value:
            result._metadata = self.decode(value["metadata"])
        return result

    def array(self, name: str) -> np.ndarray:
        """The array of this name, which stands at one place.

        At many it could make a small file fill the memory.
        """
        return self._arrays.pop(name)

    def tensor(self, content: Any, value: Any) -> Tensor:
        """A leaf, the same one at all places where it stood."""
        first, needed = value["is"], value["requires_grad"] is True
        if first not in self._made:
            data = wrap(self.array(content))
            parameter = "parameter" in value
            made = Parameter(data, needed) if parameter else data.requires_grad_(needed)
            self._made[first] = made
        return self._made[first]


DECODERS: dict[str, Callable[[Decoder, Any, Any], Any]] = {
    "tuple": lambda d, c, v: tuple(d.decode(c)),
    "Size": lambda d, c, v: dtypes.Size(d.decode(c)),
    "set": lambda d, c, v: set(d.decode(c)),
    "frozenset": lambda d, c, v: frozenset(d.decode(c)),
    "dict": lambda d, c, v: dict(d.pairs(c)),
    "Counter": lambda d, c, v: Counter(dict(d.pairs(c))),
    "OrderedDict": Decoder.ordered,
    "float": lambda d, c, v: float.fromhex(c),
    "complex": lambda d, c, v: complex(*map(float.fromhex, c)),
    "dtype": lambda d, c, v: dtypes.OF_NUMPY[np.dtype(c)],
    "device": lambda d, c, v: device(c),
    "tensor": Decoder.tensor,
    "parameter": Decoder.tensor,
    "ndarray": lambda d, c, v: d.array(c),
    "scalar": lambda d, c, v: d.array(c)[()],
    "bytes": lambda d, c, v: d.array(c).tobytes(),
    "bytearray": lambda d, c, v: bytearray(d.array(c).tobytes()),
}
