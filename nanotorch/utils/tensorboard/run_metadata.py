"""TensorFlow's `RunMetadata` with the time and memory of each operation, in protobuf's encoding.

tensorboardX has no classes for these messages. The numbers are those of the fields in TensorFlow's
`config.proto` and `step_stats.proto`; there is nothing else to know of them.
"""

from collections.abc import Iterable
from dataclasses import dataclass

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
    """Return a serialised `RunMetadata` in which the operations run one after another.

    They do so box by box, whatever their true order: TensorBoard takes for the time of a box that
    from the first start to the last end in it, which so is the sum of its operations' times.

    Args:
        graph: the serialised graph whose nodes they are.
    """
    # TensorBoard takes a time of 0 for none, at the start of an operation and in its duration.
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
    """Encode one field: an integer, or bytes with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def varint(value: int) -> bytes:
    """Encode an integer seven bits at a time, the low ones first."""
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
