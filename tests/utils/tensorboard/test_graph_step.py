"""Graphs of both directions: of a model, and of training steps as they really ran."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import nanotorch as torch
from nanotorch import nn
from nanotorch.utils.tensorboard import SummaryWriter
from nanotorch.utils.tensorboard.graph import Scopes
from tests.autograd.golden_function import make
from tests.utils.tensorboard.records import (
    Own,
    behind,
    complete,
    costs_of,
    drawn,
    nodes_of,
    profiles_of,
    shapes,
    sources,
)


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
