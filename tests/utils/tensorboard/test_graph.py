"""The model's graph: what is in it, where it stands, and that the model is left as it was."""

from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.compat.proto.config_pb2 import RunMetadata
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.node_def_pb2 import NodeDef

import nanotorch as torch
from nanotorch import nn
from nanotorch.utils.tensorboard import SummaryWriter
from nanotorch.utils.tensorboard.files import OpStats, run_metadata
from nanotorch.utils.tensorboard.graph import Scopes, operation
from tests.autograd.watching import line_of
from tests.utils.tensorboard.records import (
    Own,
    behind,
    complete,
    costs_of,
    drawn,
    events,
    graph_of,
    profiles_of,
    shapes,
)


class Net(nn.Module):
    """A nested container, a module used twice, a residual, running statistics, a bare parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 6)
        self.norm = nn.BatchNorm1d(6)
        self.layers = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Sequential(nn.Linear(8, 8)))
        self.drop = nn.Dropout(0.5)
        self.scale = nn.Parameter(torch.ones(8))

    def forward(self, image: Any) -> Any:
        hidden = self.norm(self.first(image.flatten(1))).relu()
        hidden = self.layers(hidden)
        hidden = hidden + self.drop(self.layers[2](hidden))
        return hidden * self.scale


def check(directory: Path, model: nn.Module, *inputs: Any) -> dict[str, Any]:
    """Fail unless the graph is one that TensorBoard draws whole; return its nodes by name."""
    nodes = complete(drawn(directory, model, *inputs)["forward"])
    assert list(nodes) == [node.name for node in graph_of(directory).node]
    paths = Scopes(model).paths
    for dotted, parameter in model.named_parameters():
        owner, _, attribute = dotted.rpartition(".")
        node = nodes[f"{paths[model.get_submodule(owner)]}/{attribute}"]
        assert node.op == "Parameter"
        assert shapes(node) == [tuple(parameter.shape)]
    return nodes


def scopes(nodes: dict[str, Any]) -> set[str]:
    places = [PurePosixPath(name) for name in nodes]
    return {str(parent) for place in places for parent in place.parents} - {"input", "output", "."}


def test_scopes_are_the_modules(tmp_path: Path) -> None:
    """One that is called twice shows both calls; the caller's lines are noted."""
    model = Net()
    nodes = check(tmp_path, model, torch.rand(2, 2, 2))
    assert scopes(nodes) == {
        "Net", "Net/first_Linear", "Net/norm_BatchNorm1d", "Net/layers_Sequential",
        "Net/layers_Sequential/0_Linear", "Net/layers_Sequential/1_ReLU",
        "Net/layers_Sequential/2_Sequential", "Net/layers_Sequential/2_Sequential/0_Linear",
        "Net/drop_Dropout",
    }  # fmt: skip
    inner = "Net/layers_Sequential/2_Sequential/0_Linear"
    users = [name for name, node in nodes.items() if f"{inner}/bias" in node.input]
    assert len(users) == 2
    assert all(name.startswith(inner) for name in users)
    wanted = line_of(__file__, "hidden * self.scale")
    assert nodes["Net/mul"].attr["source"].s.decode() == f"{Path(__file__).name}:{wanted}"


def test_edges_shapes_and_labels(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(3, 5), nn.Tanh())
    nodes = check(tmp_path, model, torch.rand(2, 3))
    described = {
        name: (node.op, set(node.input), shapes(node), node.attr["backward"].s.decode())
        for name, node in nodes.items()
    }
    linear = "Sequential/0_Linear"
    tanh = "Sequential/1_Tanh/tanh"
    assert described["input/input"] == ("Placeholder", set(), [(2, 3)], "")
    assert described[f"{linear}/weight"] == ("Parameter", set(), [(5, 3)], "")
    assert described[tanh] == ("Tanh", {*nodes[tanh].input}, [(2, 5)], "TanhBackward0")
    assert described["output/output"] == ("Output", {tanh}, [(2, 5)], "")
    (source,) = nodes[tanh].input
    assert source.startswith(f"{linear}/")
    assert {"input/input", f"{linear}/weight", f"{linear}/bias"} <= behind(nodes, source)


def test_tensorboard_reads_graph_and_profile(tmp_path: Path) -> None:
    nodes = check(tmp_path, Net(), torch.rand(2, 2, 2))
    accumulator = EventAccumulator(str(tmp_path)).Reload()
    assert [node.name for node in accumulator.Graph().node] == [*nodes]
    assert set(accumulator.Tags()["tensors"]) == {"forward", "backward"}
    costs = costs_of(profiles_of(tmp_path)["forward"])
    operations = {name for name, node in nodes.items() if "backward" in node.attr}
    assert {name for name, (micros, _) in costs.items() if micros} == operations
    assert costs["Net/first_Linear/weight"][1] == 4 * 6 * 4
    assert costs["Net/layers_Sequential/1_ReLU/relu"][1] == 2 * 8 * 4


LEAF = torch.ones(3, requires_grad=True)
# A model, its inputs, and the inputs of nodes.
SMALL: dict[str, tuple[nn.Module, list[Any], dict[str, list[str]]]] = {
    "modules that hand on their inputs": (
        nn.Sequential(nn.Linear(2, 2), nn.Dropout(), nn.Identity()), [torch.rand(1, 2)],
        {
            "Sequential/2_Identity/identity": ["Sequential/1_Dropout/identity"],
            "output/output": ["Sequential/2_Identity/identity"],
        },
    ),
    "a write to the input": (
        Own(lambda _, x: x.mul_(2.0)), [torch.ones(3)], {"Own/mul": ["input/x"]}
    ),
    "neither modules nor inputs": (
        Own(lambda own: (own.x**2).sum(), x=torch.ones(2)), [],
        {"Own/x": [], "Own/pow": ["Own/x"], "Own/sum": ["Own/pow"], "output/output": ["Own/sum"]},
    ),
    "what no module owns": (  # an unused parameter, a leaf from outside, results without a graph
        Own(lambda _, x: (x * LEAF, x.argmax(), torch.zeros(2)), unused=torch.zeros(2)),
        [torch.rand(3)],
        {
            "Own/mul": ["input/x", "Own/leaf"], "Own/unused": [],
            "output/output_1": [], "output/output_2": [],
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SMALL)
def test_small_models(tmp_path: Path, case: str) -> None:
    model, inputs, expected = SMALL[case]
    before = [value.clone() for value in inputs]
    nodes = check(tmp_path, model, *inputs)
    assert {name: list(nodes[name].input) for name in expected} == expected
    assert all(map(torch.equal, inputs, before))
    assert all(node.op == "Leaf" for name, node in nodes.items() if name == "Own/leaf")
    assert case != "neither modules nor inputs" or set(nodes) == set(expected)


@pytest.mark.parametrize("inference", [False, True])
def test_frozen_models_and_no_grad(tmp_path: Path, inference: bool) -> None:
    model = Net().requires_grad_(not inference)
    image = torch.rand(2, 2, 2)
    with torch.no_grad():
        nodes = check(tmp_path, model, image)
        with SummaryWriter(tmp_path / "failed") as writer, pytest.raises(RuntimeError):
            writer.add_graph(model, torch.rand(2, 3))
    assert "Net/layers_Sequential/0_Linear/weight" in behind(nodes, "output/output")
    assert "input/image" in behind(nodes, "output/output")
    assert not image.requires_grad
    assert all(p.requires_grad is not inference for p in model.parameters())


def test_the_model_is_left_as_it_was(tmp_path: Path) -> None:
    """Also when it fails."""
    model = Net()
    model.norm.eval()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    training = {name: module.training for name, module in model.named_modules()}
    image = torch.rand(2, 2, 2)
    state = torch.get_rng_state()
    check(tmp_path / "whole", model, image)
    assert torch.equal(torch.get_rng_state(), state)
    with SummaryWriter(tmp_path / "failed") as writer, pytest.raises(RuntimeError):
        writer.add_graph(model, torch.rand(2, 3))
    assert not any(event.graph_def for event in events(tmp_path / "failed"))
    assert {name: m.training for name, m in model.named_modules()} == training
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name]), name
    for module in model.modules():
        assert not module._forward_hooks
        assert not module._forward_pre_hooks
    assert all(parameter.grad is None for parameter in model.parameters())


class Several(nn.Module):
    """Nested arguments and results, an integer input, several outputs of one operation."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.rand(10, 6))

    def forward(self, index: Any, *rest: Any, pair: Any = None) -> Any:
        left, right = self.table.index_select(0, index).chunk(2, dim=-1)
        return {"both": (left * right, right.exp()), "rest": rest[0], "number": 3}


def test_nested_inputs_and_outputs(tmp_path: Path) -> None:
    model = Several()
    index, other = torch.tensor([1, 2]), torch.rand(4)
    nodes = check(tmp_path, model, index, other)
    assert nodes["input/index"].attr["T"].type == 9  # DT_INT64
    assert {"output/output_both_0", "output/output_both_1", "output/output_rest"} <= set(nodes)
    assert list(nodes["output/output_rest"].input) == ["input/rest_0"]
    (lookup,) = (n for n in nodes.values() if "Several/table" in n.input)
    assert "input/index" in lookup.input
    (split,) = (n for n in nodes.values() if len(shapes(n)) == 2)
    assert shapes(split) == [(2, 3), (2, 3)]
    assert list(nodes["Several/exp"].input) == [f"{split.name}:1"]


def test_names_lose_the_word_that_tensorboard_draws_as_a_dot() -> None:
    names = {"ConstantPadNdBackward0": "PadNd", "AddBackward0": "Add", "Const": "Op"}
    for name, expected in names.items():
        node = type("Named", (), {"name": lambda self, name=name: name})()
        assert operation(node) == expected


@pytest.mark.parametrize(
    ("count", "last"), [(5, "add_4"), (6, "add[5]"), (40, "add_39"), (1100, "add_1099")]
)
def test_only_loops_are_stacked(tmp_path: Path, count: int, last: str) -> None:
    """TensorBoard stacks nodes from five on whose names differ in the number at their end."""

    def adds(_: nn.Module, x: Any) -> Any:
        for _ in range(count):
            x = x + 1
        return x

    nodes = check(tmp_path, Own(adds), torch.zeros(2))
    assert list(nodes["output/output"].input) == [f"Own/{last}"]
    assert len(nodes) == count + 2


def test_verbose_prints_the_nodes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_graph(nn.ReLU(), torch.rand(2), verbose=True)
    assert "ReLU/relu = Relu(input/input)" in capsys.readouterr().out.splitlines()


def test_run_metadata_is_tensorflows() -> None:
    stats = [OpStats("a/b", 1_499, 300), OpStats("weight", 0, 8), OpStats("c", 10**9, 2**40)]
    drawn = GraphDef(node=[NodeDef(name="a/b", op="Add")])
    parsed = RunMetadata.FromString(run_metadata(stats, drawn.SerializeToString()))
    assert parsed.function_graphs[0].pre_optimization_graph == drawn
    (device,) = parsed.step_stats.dev_stats
    assert device.device == "/device:CPU:0"
    found = [
        (n.node_name, n.all_start_micros, n.all_end_rel_micros, n.memory[0].total_bytes)
        for n in device.node_stats
    ]
    after = 2 + 10**6
    assert found == [("a/b", 1, 1, 300), ("c", 2, 10**6, 2**40), ("weight", after, 0, 8)]


def test_the_time_of_a_box_is_the_sum_of_its_operations() -> None:
    """TensorBoard takes for it the time from the first start to the last end."""
    names = ["Net/a/x", "Net/b/x", "Net/a/y", "loss/x", "Net/add", "Net/a/b/z", "Net/a-c/x"]
    stats = [OpStats(name, 1000 * (i + 1), 0) for i, name in enumerate(names)]
    (device,) = RunMetadata.FromString(run_metadata(stats, b"")).step_stats.dev_stats
    for box in ("Net/", "Net/a/", "Net/b/", "Net/a/b/", "loss/", "Net/a-c/"):
        inside = [n for n in device.node_stats if n.node_name.startswith(box)]
        start = min(n.all_start_micros for n in inside)
        end = max(n.all_start_micros + n.all_end_rel_micros for n in inside)
        assert end - start == sum(n.all_end_rel_micros for n in inside)
