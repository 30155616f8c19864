"""An event file's records, read without the library that wrote them."""

import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tensorboard.compat.proto.config_pb2 import RunMetadata
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.graph_pb2 import GraphDef

from nanotorch import nn
from nanotorch.utils.tensorboard import SummaryWriter


class Own(nn.Module):
    """A module of a function, which is given the module and its input, if there is one."""

    def __init__(self, function: Callable[..., Any], **parameters: Any) -> None:
        super().__init__()
        self.function = function
        for name, value in parameters.items():
            setattr(self, name, nn.Parameter(value))

    def forward(self, x: Any = None) -> Any:
        return self.function(self) if x is None else self.function(self, x)


def drawn(directory: Path, model: nn.Module, *inputs: Any) -> dict[str, Any]:
    """Return the graphs of a model, as `profiles_of` does."""
    with SummaryWriter(directory) as writer:
        writer.add_graph(model, inputs)
    return profiles_of(directory)


def masked_crc32c(data: bytes) -> int:
    """Return the checksum of RFC 3720, bit by bit, under TensorFlow's mask."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(path: Path) -> Iterator[bytes]:
    """Yield the payloads of the records in a file; fail on a wrong length or checksum."""
    content = path.read_bytes()
    while content:
        header, header_crc = content[:8], content[8:12]
        assert struct.unpack("<I", header_crc) == (masked_crc32c(header),)
        (length,) = struct.unpack("<Q", header)
        data, data_crc = content[12 : 12 + length], content[12 + length : 16 + length]
        assert struct.unpack("<I", data_crc) == (masked_crc32c(data),)
        yield data
        content = content[16 + length :]


def event_files(directory: Path) -> list[Path]:
    """Return the event files that stand in a directory itself, in the order of their names."""
    return sorted(directory.glob("events.out.tfevents.*"))


def events(directory: Path) -> list[Any]:
    """Return all events of a run, in the order in which TensorBoard reads them."""
    return [Event.FromString(data) for path in event_files(directory) for data in records(path)]


def graph_of(directory: Path) -> Any:
    """Return the graph that a run shows: the last one written."""
    found = [event.graph_def for event in events(directory) if event.graph_def]
    return GraphDef.FromString(found[-1])


def profiles_of(directory: Path) -> dict[str, Any]:
    """Return the graphs of a run that have times, with those: a `RunMetadata` for each tag."""
    values = [value for event in events(directory) for value in event.summary.value]
    return {
        value.tag: RunMetadata.FromString(value.tensor.string_val[0])
        for value in values
        if value.metadata.plugin_data.plugin_name == "graph_run_metadata"
    }


def nodes_of(profile: Any) -> dict[str, Any]:
    """Return the nodes of the graph in a `RunMetadata`, by name."""
    (graphs,) = profile.function_graphs
    return {node.name: node for node in graphs.pre_optimization_graph.node}


def costs_of(profile: Any) -> dict[str, tuple[int, int]]:
    """Return microseconds and bytes of the nodes in a `RunMetadata`, by name."""
    (device,) = profile.step_stats.dev_stats
    return {
        node.node_name: (node.all_end_rel_micros, node.memory[0].total_bytes)
        for node in device.node_stats
    }


def shapes(node: Any) -> list[tuple[int, ...]]:
    """Return the shapes of the outputs of a node."""
    found = node.attr["_output_shapes"].list.shape
    return [tuple(dim.size for dim in shape.dim) for shape in found]


def sources(node: Any) -> list[str]:
    """Return the names of the nodes whose outputs a node takes."""
    return [name.partition(":")[0] for name in node.input]


def behind(nodes: dict[str, Any], name: str) -> set[str]:
    """Return the names of the nodes that lead to one, which is among them."""
    found: set[str] = set()
    queue = [name]
    while queue:
        if (next_one := queue.pop()) not in found:
            found.add(next_one)
            queue += sources(nodes[next_one])
    return found


def complete(profile: Any) -> dict[str, Any]:
    """Fail unless the graph of a profile is whole and its operations have times; its nodes."""
    (graphs,) = profile.function_graphs
    nodes = nodes_of(profile)
    assert len(nodes) == len(graphs.pre_optimization_graph.node), "names are unique"
    for node in nodes.values():
        assert set(sources(node)) <= set(nodes), node.name
        assert "Const" not in node.op
        assert "_output_shapes" in node.attr
    assert set(costs_of(profile)) == set(nodes)
    return nodes
