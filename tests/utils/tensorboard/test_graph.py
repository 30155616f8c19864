"""Graphs of models, and of steps as they really ran; models and profilers go on as they were."""

import cProfile
import profile
import sys
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from types import FrameType
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
from tests.autograd.golden_function import make
from tests.autograd.watching import line_of
from tests.utils.tensorboard.records import (
    Own,
    behind,
    complete,
    costs_of,
    drawn,
    events,
    graph_of,
    nodes_of,
    profiles_of,
    shapes,
    sources,
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


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.norm = nn.BatchNorm1d(8)
        self.drop = nn.Dropout(0.5)
        self.last = nn.Linear(8, 3)

    def forward(self, x: Any) -> Any:
        hidden = self.norm(self.first(x)).relu()
        return self.last(hidden + self.drop(hidden))


def squared(ctx: Any, x: Any) -> Any:
    ctx.save_for_backward(x)
    return x * x


Square = make(torch, squared, lambda ctx, g: 2 * ctx.saved_tensors[0] * g)


def check_both(directory: Path, model: nn.Module, prefix: str = "") -> None:
    """Both graphs are whole, lie in the modules' boxes and lead to every parameter."""
    profiles = profiles_of(directory)
    forward, backward = (complete(profiles[prefix + d]) for d in ("forward", "backward"))
    paths = Scopes(model).paths
    boxes = {*paths.values(), "input", "output", "gradient", ""}
    for name in {*forward, *backward}:
        assert name.rpartition("/")[0] in boxes, name
    costs = costs_of(profiles[prefix + "backward"])
    (root, *others) = [name for name in backward if name.startswith("gradient/")]
    for dotted, parameter in model.named_parameters():
        owner, _, attribute = dotted.rpartition(".")
        name = f"{paths[model.get_submodule(owner)]}/{attribute}"
        assert forward[name].op == "Parameter"
        assert {root, *others} & behind(backward, f"{name}.grad"), name
        assert costs[f"{name}.grad"][1] == parameter.numel() * 4
    untimed = {n for n, (micros, _) in costs.items() if not micros}
    assert all(n.startswith("gradient/") or n.endswith(".grad") for n in untimed), untimed


def convolution() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(36, 2),
    )  # fmt: skip


LAYERS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "residual": (Residual, (5, 4)),
    "convolution": (convolution, (2, 3, 8, 8)),
    "recurrent": (lambda: nn.LSTM(4, 5, num_layers=2, batch_first=True), (2, 6, 4)),
    "attention": (lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (2, 5, 8)),
}


def first(output: Any) -> Any:
    return output[0] if isinstance(output, tuple) else output


@pytest.mark.parametrize("name", LAYERS)
def test_both_directions_of_a_model(tmp_path: Path, name: str) -> None:
    build, shape = LAYERS[name]
    model = build()
    drawn(tmp_path, model, torch.rand(*shape))
    check_both(tmp_path, model)
    assert all(parameter.grad is None for parameter in model.parameters())


@pytest.mark.parametrize("name", LAYERS)
def test_a_step_is_shown_and_computes_the_same(tmp_path: Path, name: str) -> None:
    build, shape = LAYERS[name]
    results = []
    for watched in (False, True):
        torch.manual_seed(0)
        model, x = build(), torch.rand(*shape)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

        def step(model: Any = model, x: Any = x, optimizer: Any = optimizer) -> Any:
            loss = first(model(x)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss

        step()  # the first step is not like the others
        if watched:
            with SummaryWriter(tmp_path) as writer, writer.trace_step(model, 7):
                loss = step()
            check_both(tmp_path, model, "step_7/")
        else:
            loss = step()
        results.append([loss, torch.get_rng_state(), *model.state_dict().values()])
        assert not any(module._forward_hooks for module in model.modules())
    assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))


@pytest.mark.parametrize(
    ("criterion", "box"),
    [
        (nn.CrossEntropyLoss(), "CrossEntropyLoss/"),
        (nn.functional.cross_entropy, "cross_entropy/"),
        (lambda x, y: nn.functional.nll_loss(x.log_softmax(1), y), ""),
    ],
)
def test_losses_stand_beside_the_model_under_their_names(
    tmp_path: Path, criterion: Any, box: str
) -> None:
    model = Residual()
    with SummaryWriter(tmp_path) as writer, writer.trace_step(model):
        criterion(model(torch.rand(5, 4)), torch.tensor([0, 1, 2, 0, 1])).backward()
    nodes = complete(profiles_of(tmp_path)["forward"])
    assert {f"{box}log_softmax", f"{box}nll_loss", "output/loss", "input/x"} <= set(nodes)
    assert sources(nodes["output/loss"]) == [f"{box}nll_loss"]
    assert "input/x" in sources(nodes["Residual/first_Linear/addmm"])
    backward = nodes_of(profiles_of(tmp_path)["backward"])
    assert sources(backward[f"{box}nll_loss_backward"]) == ["gradient/loss"]
    assert backward[f"{box}nll_loss_backward"].op == "NllLossBackward0"


def test_modules_that_are_called_but_not_held_have_boxes(tmp_path: Path) -> None:
    model = Own(lambda own, x: nn.Sequential(nn.Tanh())(Square.apply(own.x * x)), x=torch.ones(3))
    profiles = drawn(tmp_path, model, torch.rand(3))
    assert "Own/Sequential/Tanh/tanh" in nodes_of(profiles["forward"])
    assert costs_of(profiles["forward"])["Own/mine"][0] > 0  # a user's function is timed
    assert costs_of(profiles["backward"])["Own/mine_backward"][0] > 0


def test_shapes_of_gradients(tmp_path: Path) -> None:
    nodes = complete(drawn(tmp_path, nn.Linear(3, 2), torch.rand(4, 3))["backward"])
    assert shapes(nodes["gradient/output"]) == [(4, 2)]
    assert shapes(nodes["Linear/addmm_backward"]) == [(2,), (4, 3), (3, 2)]
    assert shapes(nodes["Linear/weight.grad"]) == [(2, 3)]
    assert shapes(nodes["input/input.grad"]) == [(4, 3)]
    assert list(nodes["input/input.grad"].input) == ["Linear/addmm_backward:1"]


def test_times_are_those_of_the_work(tmp_path: Path) -> None:
    """A product of matrices that are a hundred times as many numbers takes longer."""
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2000), nn.Linear(2000, 4))
    measured = []
    for attempt in map(str, range(5)):  # whatever else the machine does meanwhile
        costs = costs_of(drawn(tmp_path / attempt, model, torch.rand(500, 4))["forward"])
        measured.append([costs[f"Sequential/{i}_Linear/addmm"][0] for i in (0, 2)])
    small, large = map(min, zip(*measured, strict=True))
    assert large > 3 * small


def test_an_operator_of_a_parameter_is_not_counted_to_its_gradient(tmp_path: Path) -> None:
    model, x = Own(lambda own, x: own.weight + x, weight=torch.ones(1)), torch.rand(2_000_000)
    with SummaryWriter(tmp_path) as writer, writer.trace_step(model):
        model(x).sum().backward()
    profiles = profiles_of(tmp_path)
    forward = costs_of(profiles["forward"])["Own/add"][0]
    assert costs_of(profiles["backward"])["Own/weight.grad"][0] < forward / 4


def test_without_derivative_there_is_only_one_direction(tmp_path: Path) -> None:
    function = make(torch, lambda ctx, x: x + 1)
    with pytest.warns(UserWarning, match="add_graph shows no backward pass"):
        drawn(tmp_path, Own(lambda _, x: function.apply(x)), torch.rand(2))
    assert set(drawn(tmp_path, nn.Flatten(), torch.tensor([[1, 2]]))) == {"forward"}


def test_a_step_without_operations_is_told(tmp_path: Path) -> None:
    model = nn.Linear(2, 2)
    with SummaryWriter(tmp_path) as writer:
        with (
            pytest.raises(RuntimeError, match="no operation was recorded"),
            writer.trace_step(model),
            torch.no_grad(),
        ):
            model(torch.rand(1, 2))
        with pytest.raises(ZeroDivisionError), writer.trace_step(model):
            raise ZeroDivisionError
        assert not model._forward_pre_hooks
        with writer.trace_step(model, 1):
            model(torch.rand(1, 2))
    assert set(profiles_of(tmp_path)) == {"step_1/forward"}


def test_gradients_of_shared_parameters_and_several_losses(tmp_path: Path) -> None:
    model = nn.Linear(3, 3, bias=False)
    x = torch.rand(2, 3)
    with SummaryWriter(tmp_path) as writer, writer.trace_step(model):
        model(model(x)).sum().backward()
        model(x).exp().sum().backward()
    nodes = complete(profiles_of(tmp_path)["backward"])
    assert len(nodes["Linear/weight.grad"].input) == 3
    assert {"gradient/loss_0", "gradient/loss_1"} <= set(nodes)


def draw(directory: Path) -> None:
    with SummaryWriter(directory) as writer:
        writer.add_graph(nn.Sequential(nn.Linear(4, 3), nn.ReLU()), torch.ones(2, 4))
    afterwards()


def afterwards() -> None:
    """What is called when the graph is drawn."""


def operations(directory: Path) -> tuple[set[str], bool]:
    """Return the names of the nodes, and whether any has a time."""
    costs = costs_of(profiles_of(directory)["forward"])
    return set(costs), any(micros for micros, _ in costs.values())


@pytest.mark.parametrize("kind", [cProfile.Profile, profile.Profile])
def test_pythons_profilers_go_on(kind: Any, tmp_path: Path) -> None:
    profiler = kind()
    profiler.runcall(draw, tmp_path / "profiled")
    assert sys.getprofile() is None
    profiler.create_stats()
    called = {name for _, _, name in profiler.stats}
    assert {"draw", "add_graph", "forward", "afterwards"} <= called
    draw(tmp_path / "plain")
    names, _ = operations(tmp_path / "profiled")
    assert names == operations(tmp_path / "plain")[0]
    assert operations(tmp_path / "plain")[1]


def test_a_profiler_sees_every_call_and_return(tmp_path: Path) -> None:
    events: list[str] = []

    def see(frame: FrameType, event: str, argument: Any) -> None:
        events.append(event)

    sys.setprofile(see)
    try:
        draw(tmp_path)
        assert sys.getprofile() is see
    finally:
        sys.setprofile(None)
    calls = events.count("call"), events.count("return")
    assert abs(calls[0] - calls[1]) <= 1  # the test itself was not called under the profiler
    assert operations(tmp_path)[1]  # times are measured beside it
