"""Whole modules in files: rebuilt from their class and attributes, of which nothing is called."""

import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import load as load_arrays

import nanotorch as torch
from nanotorch import nn
from nanotorch._core.bfloat16 import from_bits
from nanotorch.nn import functional as F
from nanotorch.serialization import add_safe_globals, clear_safe_globals, safe_globals
from tests.serialization.test_files import loaded, written
from tests.serialization.test_forged import described

CALLS: list[str] = []


@dataclass
class Options:
    """What a program keeps beside its layers."""

    width: int = 2
    name: str = "small"


def hook(*args: Any) -> None:
    CALLS.append("hook")


class Restored:
    """An object that its own code puts together."""

    def __setstate__(self, state: Any) -> None:
        CALLS.append("setstate")


class Net(nn.Module):
    """Shared layers and weights, a cycle, functions, a frozen bias, a buffer that has no state."""

    def __init__(self) -> None:
        CALLS.append("init")
        super().__init__()
        self.options = Options()
        self.first = nn.Linear(2, 2)
        self.again = self.first
        self.tied = nn.Linear(2, 2)
        self.tied.weight = self.first.weight
        self.first.bias.requires_grad_(False)
        self.norm = nn.BatchNorm1d(2).half().float()
        self.layers = nn.ModuleList([nn.GELU(), nn.LSTM(2, 2, dtype=torch.float64)])
        self.register_buffer("steps", torch.arange(3), persistent=False)
        self.act, self.kind, self.log = F.relu, nn.LayerNorm, torch.log
        self.parents = [self]

    def __setstate__(self, state: Any) -> None:
        CALLS.append("setstate")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.act(self.tied(self.again(self.first(x)))) + self.norm(x)
        return found


def test_a_module_of_a_program_comes_back_as_it_was() -> None:
    net = Net().eval()
    handle = net.register_forward_hook(hook)
    x, data = torch.ones(3, 2), written({"net": net, "epoch": 3})
    CALLS.clear()
    found = loaded(data, weights_only=False)["net"]
    assert CALLS == []
    assert torch.equal(found(x), net(x))
    assert CALLS == ["hook", "hook"]
    handle.remove()
    assert repr(found) == repr(net)
    assert found.state_dict().keys() == net.state_dict().keys()
    assert found.first is found.again
    assert found.first.weight is found.tied.weight
    assert found.parents[0] is found
    assert (found.options, found.training) == (Options(), False)
    assert (found.act, found.kind, found.log) == (F.relu, nn.LayerNorm, torch.log)
    assert not found.first.bias.requires_grad
    assert found.layers[1].weight_ih_l0.dtype is torch.float64
    assert found.steps.tolist() == [0, 1, 2]
    found.train()(x).sum().backward()
    assert found.first.weight.grad is not None


def test_other_libraries_find_the_names_of_the_state() -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    assert load_arrays(written(model)).keys() == model.state_dict().keys()


def test_classes_of_nanotorch_need_no_leave() -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.Dropout(0.3), nn.TransformerEncoderLayer(3, 1, 4))
    found = loaded(written(model), weights_only=True)
    assert repr(found) == repr(model)
    x = torch.ones(1, 2, 2)
    assert torch.equal(found.eval()(x), model.eval()(x))


def test_classes_of_a_program_need_leave() -> None:
    data = written(Net())
    for options in ({}, {"weights_only": True}):
        with pytest.raises(pickle.UnpicklingError, match=r"add_safe_globals.*modules\.Net"):
            loaded(data, **options)
    with safe_globals([Net]), pytest.raises(pickle.UnpicklingError, match="Options"):
        loaded(data)
    add_safe_globals([Net, (Options, f"{__name__}.Options")])
    assert isinstance(loaded(data), Net)
    clear_safe_globals()


def test_objects_are_held_with_a_module_or_without_one() -> None:
    model, options = nn.Linear(1, 1), Options(3)
    for saved in (
        {"m": model, "o": options},
        {"o": options, "m": model},
        {"o": options, "f": F.relu},
    ):
        with pytest.raises(pickle.UnpicklingError, match="which was not an allowed global"):
            loaded(written(saved))
        with safe_globals([Options]):
            found = loaded(written(saved))
        assert found["o"] == options
    assert found["f"] is F.relu


@pytest.mark.parametrize("value", [print, int, torch.finfo, Options, torch.Tensor.add])
def test_classes_and_functions_are_loaded_once_allowed(value: Any) -> None:
    file = written({"f": value})
    with pytest.raises(pickle.UnpicklingError, match=r"add_safe_globals\(\[.*weights_only=False"):
        loaded(file)
    with safe_globals([value]):
        assert loaded(file)["f"] is value
    assert loaded(file, weights_only=False)["f"] is value


def test_what_a_module_cannot_hold(tmp_path: Path) -> None:
    net = nn.Sequential(Net())
    with (tmp_path / "log").open("w") as file:
        for value, message in (
            (lambda x: x, r"cannot save obj\['0'\]\.act: '<lambda>' is code"),
            (file, r"obj\['0'\]\.act: TextIOWrapper cannot be in a file"),
            (Restored(), r"obj\['0'\]\.act: Restored cannot be in a file"),
            ({"k": [iter(())]}, r"obj\['0'\]\.act\['k'\]\[0\]: tuple_iterator cannot be in"),
            (torch.optim.SGD(net.parameters()), "a whole SGD .* of a new SGD"),
        ):
            net[0].act = value
            with pytest.raises(TypeError, match=message):
                written(net)

    class Local(nn.Module):
        pass

    with pytest.raises(TypeError, match=r"its class .*Local is not found by its name"):
        written(Local())


@pytest.mark.parametrize(
    "name",
    ["builtins:eval", "os:system", "nanotorch.nn.module:np", "nanotorch.nn.absent:X", "x", "a:b:c"],
)
@pytest.mark.parametrize("weights_only", [True, False])
def test_a_forged_name_runs_nothing(name: str, weights_only: bool) -> None:
    file = described(written(nn.Linear(1, 1)), ("nanotorch.nn.linear:Linear", name))
    with pytest.raises((pickle.UnpicklingError, RuntimeError)):
        loaded(file, weights_only=weights_only)


def test_a_file_of_before_names_what_has_moved() -> None:
    model = nn.SyncBatchNorm(2)
    model.attend, model.product = F.scaled_dot_product_attention, torch.outer
    moved = ("parallel:Sync", "synchronized:Sync"), ("activation:sc", "attention:sc")
    file = described(written(model), *moved, ("nanotorch:outer", "nanotorch:ger"))
    again = loaded(file, weights_only=False)
    assert type(again) is nn.SyncBatchNorm
    assert again.attend is F.scaled_dot_product_attention
    assert again.product is torch.outer


def test_pickles_of_before_name_what_has_moved() -> None:
    home = "nanotorch.optim.lr_scheduler"
    for module, name, now in (
        (f"{home}.scheduler", "StepLR", torch.optim.lr_scheduler.StepLR),
        (f"{home}.cycles", "OneCycleLR", torch.optim.lr_scheduler.OneCycleLR),
        ("nanotorch._core.bfloat16", "of_bits", from_bits),
    ):
        assert pickle.loads(f"c{module}\n{name}\n.".encode()) is now


@pytest.mark.parametrize(
    "name",
    [
        "nanotorch.nn.layer:executed",  # executes the name of what it is given
        "nanotorch.nn.layer:Layer.__init_subclass__",
        "nanotorch.nn.parameter:_BufferType",
        "nanotorch.ops.storage:UntypedStorage.from_file",
        "nanotorch.nn.functional.activation:check_probability",
    ],
)
def test_a_forged_hook_is_none_of_the_inner_functions(name: str) -> None:
    model = nn.Identity()
    model.register_forward_hook(F.relu)
    file = described(written(model), ("nanotorch.nn.functional.activation:relu", name))
    with pytest.raises(pickle.UnpicklingError, match="not an allowed global"):
        loaded(file)
