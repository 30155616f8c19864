"""TensorBoard's files: records, events, and their messages."""

import contextlib
import functools
import importlib
import inspect
import itertools
import os
import re
import socket
import struct
import sys
import time
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from nanotorch._core.arguments import wrong_type
from nanotorch._core.tensor import Tensor

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    Values = Tensor | ArrayLike  # the arguments of `array_of`


# A file of records with checksums, as TensorBoard reads it.


MASK = 0xA282EAD8
"""Added to each checksum, as the format requires."""


def record(data: bytes) -> bytes:
    """A record: the length, a checksum of the length, the data, a checksum of the data."""
    head = struct.pack("<Q", len(data))
    return b"".join((head, _checksum(head), data, _checksum(data)))


def _checksum(data: bytes) -> bytes:
    crc = protos().crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + MASK) & 0xFFFFFFFF)


# TensorFlow's `RunMetadata` with the time and memory of each operation, in protobuf's encoding.
#
# tensorboardX has no classes for these messages. The numbers are those of the fields in
# TensorFlow's `config.proto` and `step_stats.proto`.


STEP_STATS, FUNCTION_GRAPHS = 1, 4  # in RunMetadata
PRE_OPTIMIZATION_GRAPH = 2  # in FunctionGraphs
DEV_STATS = 1  # in StepStats
DEVICE, NODE_STATS = 1, 2  # in DeviceStepStats
NODE_NAME, ALL_START_MICROS, OP_END_REL_MICROS, ALL_END_REL_MICROS, MEMORY = 1, 2, 4, 5, 6
ALLOCATOR_NAME, TOTAL_BYTES = 1, 2  # in AllocatorMemoryUsed


@dataclass(frozen=True)
class OpStats:
    """The cost of one node of the graph; `nanoseconds` is 0 if no time was measured."""

    name: str
    nanoseconds: int
    bytes: int


def run_metadata(stats: Iterable[OpStats], graph: bytes) -> bytes:
    """A serialised `RunMetadata` in which the operations run in sequence.

    They run box by box, not in their true order: TensorBoard computes the time of a box from the
    first start to the last end in it, which is then the sum of its operations' times.

    Args:
        stats: the costs of the nodes.
        graph: the serialised graph of the nodes.
    """
    # TensorBoard reads a start or a duration of 0 as missing.
    device, start = field(DEVICE, b"/device:CPU:0"), 1
    for op in sorted(stats, key=lambda op: op.name.split("/")):
        micros = max(1, round(op.nanoseconds / 1000)) if op.nanoseconds else 0
        used = field(ALLOCATOR_NAME, b"cpu") + field(TOTAL_BYTES, op.bytes)
        device += field(
            NODE_STATS,
            field(NODE_NAME, op.name.encode())
            + field(ALL_START_MICROS, start)
            + field(OP_END_REL_MICROS, micros)
            + field(ALL_END_REL_MICROS, micros)
            + field(MEMORY, used),
        )
        start += micros
    costs = field(STEP_STATS, field(DEV_STATS, device))
    return costs + field(FUNCTION_GRAPHS, field(PRE_OPTIMIZATION_GRAPH, graph))


def field(number: int, value: int | bytes) -> bytes:
    """The encoding of one field: an integer, or bytes with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def varint(value: int) -> bytes:
    """The encoding of an integer: seven bits in each byte, the low ones first."""
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


# The only import of tensorboardX, which happens when something is written.


MESSAGES = (
    *("api", "attr_value", "event", "graph", "node_def", "plugin_hparams"),
    *("summary", "tensor", "tensor_shape", "types", "versions"),
)


@functools.cache
def protos() -> SimpleNamespace:
    """The messages and builders of tensorboardX."""
    # tensorboardX imports an installed PyTorch for the name of one type in its annotations,
    # which takes seconds. With None in sys.modules that import fails, and tensorboardX continues.
    if hidden := "torch" not in sys.modules:
        sys.modules["torch"] = None  # type: ignore[assignment]
    try:
        from tensorboardX import summary
        from tensorboardX.crc32c import crc32c
    finally:
        if hidden:
            del sys.modules["torch"]
    modules = {name: importlib.import_module(f"tensorboardX.proto.{name}_pb2") for name in MESSAGES}
    found = {name: value for module in modules.values() for name, value in vars(module).items()}
    # Two messages are called DataType: that of tensors keeps the name.
    more = {"HParamType": modules["api"].DataType, "SessionStatus": modules["api"].Status}
    return SimpleNamespace(**{**found, **more, "summary": summary, "crc32c": crc32c})


# An event file: when `flush` returns, all added events are in the file, in order.


# Distinguishes the files that one process opens within one second.
_serial = itertools.count()


class EventFile:
    """Appends events to a new file in `log_dir`, in the thread of the caller.

    tensorboardX's own writer hands events to a thread through a queue, which its `flush` does not
    drain, and truncates the file of a run that was started in the same second.

    Args:
        log_dir: the directory, created if it does not exist.
        suffix: the end of the file's name.
        flush_secs: the longest time in seconds that an event stays in memory while others follow.
    """

    def __init__(self, log_dir: str, suffix: str = "", flush_secs: float = 120) -> None:
        from nanotorch.serialization.files import naming_file  # slow to import

        directory = Path(log_dir)
        directory.mkdir(parents=True, exist_ok=True)
        self._naming = functools.partial(naming_file, directory)
        self.log_dir = log_dir
        self._flush_secs = flush_secs
        # Readers sort a run's files by name: a run resumed within the second in which it was
        # interrupted must not sort before its first part.
        names = (re.search(r"\.tfevents\.(\d+)\.", path.name) for path in directory.iterdir())
        latest = max((int(found[1]) for found in names if found), default=0)
        seconds = max(int(time.time()), latest + 1)
        where = f"{socket.gethostname()}.{os.getpid()}.{next(_serial)}"
        name = f"events.out.tfevents.{seconds:010d}.{where}{suffix}"
        self._file = (directory / name).open("wb")
        # Unlike atexit, this also closes the file of a writer that is dropped before the end.
        self._close = weakref.finalize(self, _close, self._file)
        self.add(protos().Event(file_version="brain.Event:2"))
        self.flush()

    def add(self, event: Any, step: int | None = None, walltime: float | None = None) -> None:
        """Append an event; `step` and `walltime` default to 0 and now."""
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        with self._naming():
            self._file.write(record(event.SerializeToString()))
        if time.monotonic() > self._flush_due:
            self.flush()

    _flush_due = float("inf")

    def flush(self) -> None:
        """Write all events to the disk."""
        if self._close.alive:
            with self._naming():
                self._file.flush()
                os.fsync(self._file.fileno())
            self._flush_due = time.monotonic() + self._flush_secs

    def close(self) -> None:
        """Flush and close the file; a second call has no effect.

        Raises:
            OSError: if events cannot be written; the file is closed all the same.
        """
        try:
            self.flush()
        finally:
            self._close()


def _close(file: BinaryIO) -> None:
    """Close a file without errors: it has been flushed, or its owner no longer exists."""
    with contextlib.suppress(OSError):
        file.close()


# Values, and parts of messages.


def array_of(value: "Values") -> np.ndarray[Any, np.dtype[Any]]:
    """The array of a tensor, or of any value that NumPy can convert.

    tensorboardX must get no tensor: it treats each type with "torch" in its name as PyTorch's.
    """
    return value.detach().numpy() if isinstance(value, Tensor) else np.asarray(value)


def number_of(value: "Values") -> float:
    """The float of a number, or of a tensor or array of one element.

    Raises:
        ValueError: for several elements.
    """
    array = array_of(value)
    if array.size != 1:
        raise ValueError(f"a scalar has one element, got shape {array.shape}")
    return float(array.item())


# The types of `SummaryWriter`'s arguments. They are checked only after an error, so valid ones cost
# nothing.


def are_numbers(value: Any, count: int | None = None) -> bool:
    """Whether a value is a tensor or array of numbers, with ``count`` elements unless None."""
    try:
        array = array_of(value)
    except ValueError:  # lists of several lengths
        return False
    return array.dtype.kind in "biuf" and count in (None, array.size)


def is_number(value: Any) -> bool:
    """Whether a value is a number, or a tensor or array of one element."""
    return are_numbers(value, 1)


def is_table(value: Any, fits: Callable[[Any], bool] = lambda inner: True) -> bool:
    """Whether a value is a dict from names to values for which ``fits`` is true."""
    named = isinstance(value, Mapping) and all(isinstance(name, str) for name in value)
    return named and all(map(fits, value.values()))


WANTED: Sequence[tuple[str, str, Callable[[Any], bool]]] = (
    ("tag main_tag text_string dataformats", "str", lambda v: isinstance(v, str)),
    ("scalar_value global_step walltime max_bins num_thresholds",
     "a number or a tensor of one element", is_number),
    ("values img_tensor labels predictions weights", "numbers", are_numbers),
    ("tag_scalar_dict", "a dict from names to numbers", lambda v: is_table(v, is_number)),
    # `add_hparams` itself refuses other types than dicts.
    ("metric_dict", "a dict from names to numbers",
     lambda v: not isinstance(v, dict) or is_table(v, is_number)),
    ("hparam_dict", "a dict from names to values",
     lambda v: not isinstance(v, dict) or is_table(v)),
    ("hparam_domain_discrete", "a dict from names to lists", is_table),
    ("model", "Module", lambda v: hasattr(v, "named_modules")),
    ("input_to_model", "Tensor or a sequence of them", lambda v: isinstance(v, Tensor | Sequence)),
    ("layout", "{category: {chart: [kind, tags]}}", lambda v: False),
    ("figure", "a figure of matplotlib, or a list of them", lambda v: False),
)  # fmt: skip
"""Names of arguments, a description of valid values, and a predicate for them."""


def naming_arguments(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method whose errors name the invalid argument."""

    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return method(*args, **kwargs)
        except (TypeError, ValueError, AttributeError):
            parameters = inspect.signature(method).parameters
            given = {**dict(zip(parameters, args, strict=False)), **kwargs}
            for names, wanted, fits in WANTED:
                for name in given.keys() & {*names.split()}:
                    value, position = given[name], [*parameters].index(name)
                    if value is not parameters[name].default and not fits(value):
                        place = method.__name__, name, position
                        error: Exception = wrong_type(value, wanted, place)
                        if wanted.startswith("a number") and are_numbers(value):
                            error = ValueError(f"{error} of shape {array_of(value).shape}")
                        elif wanted.endswith("to numbers") and isinstance(value, Mapping):
                            wrong = (k for k, inner in value.items() if not is_number(inner))
                            told = [f": {key!r} is {value[key]!r:.60}" for key in wrong][:1]
                            error = TypeError(f"{error}{''.join(told)}")
                        raise error from None
            raise

    return call


def metadata(plugin: str, content: bytes = b"") -> Any:
    """The metadata of a summary, which name TensorBoard's plugin for it."""
    data = protos().SummaryMetadata.PluginData(plugin_name=plugin, content=content)
    return protos().SummaryMetadata(plugin_data=data)


def shape_proto(shape: tuple[int, ...]) -> Any:
    """The message of a shape."""
    p = protos()
    return p.TensorShapeProto(dim=[p.TensorShapeProto.Dim(size=int(size)) for size in shape])


# Pictures.


def pixels_of(image: "Values", dataformats: str) -> Any:
    """The pixels of an image as bytes; other dtypes hold numbers from 0 to 1, and are clipped.

    Args:
        dataformats: the order of the dimensions: the letters of `NCHW`, `CHW` or `HW`.

    Raises:
        ValueError: for other letters, or more than 4 channels.
        AssertionError: for a batch of images with other than 1, 3 or 4 channels.
    """
    pixels, order = array_of(image), dataformats.upper()
    if len(set(order)) == pixels.ndim:  # tensorboardX refuses other cases
        if set(order) not in map(set, ("NCHW", "CHW", "HW")):
            raise ValueError(f"dataformats={dataformats!r} is not an order of NCHW, CHW or HW")
        if "N" in order and pixels.shape[order.index("C")] not in (1, 3, 4):
            raise AssertionError(
                f"Input should be a 4D numpy array with 3 channels, got shape {pixels.shape}"
            )
        if "C" in order and pixels.shape[order.index("C")] > 4:
            raise ValueError(f"expected an image of 1, 3 or 4 channels, got shape {pixels.shape}")
    if pixels.dtype == np.uint8:
        return pixels
    return (pixels.astype(np.float32) * 255).clip(0, 255).astype(np.uint8)


# Summaries for TensorBoard's table of hyperparameters and metrics.


Value = bool | float | str
FIELDS = {bool: "bool_value", float: "number_value", str: "string_value"}


def plain(value: Any) -> Value:
    """A hyperparameter as a value of the table: a bool, a float or a string."""
    if isinstance(value, bool | str):
        return value
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, Tensor) and value.numel() == 1:
        return number_of(value)
    return str(value)


def hparams(
    values: Mapping[str, Any], metrics: Iterable[str], domains: Mapping[str, Any] | None = None
) -> list[Any]:
    """The summaries of a row: of the experiment, of its start and of its end.

    Args:
        values: the hyperparameters; those that are None are left out.
        metrics: the tags of the curves whose last values are shown.
        domains: by hyperparameter, the list of its possible values, for the page's filters.

    Raises:
        TypeError: for a domain that is no list of values of its hyperparameter's type.
    """
    for name, domain in (domains or {}).items():
        if not (
            name in values
            and isinstance(domain, list)
            and all(isinstance(value, type(values[name])) for value in domain)
        ):
            raise TypeError(
                f"parameter: hparam_domain_discrete[{name}] should be a list of same type as "
                f"hparam_dict[{name}]."
            )
    p, given = protos(), {name: plain(value) for name, value in values.items() if value is not None}
    rows = list(p.summary.hparams(given, dict.fromkeys(metrics)))
    if domains:
        data = rows[0].value[0].metadata.plugin_data
        content = p.HParamsPluginData.FromString(data.content)
        for info in content.experiment.hparam_infos:
            for other in map(plain, domains.get(info.name, ())):
                setattr(info.domain_discrete.values.add(), FIELDS[type(other)], other)
        data.content = content.SerializeToString()
    return rows
