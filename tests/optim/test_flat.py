"""Parameters updated together get what each gets by itself, bit for bit."""

import copy
import pickle
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nanotorch as torch
from nanotorch.optim import flat_buffer as flats

SHAPES = [(4, 3), (4,), (1, 4), (1,), (0,), (2, 1, 3)]
Event = Callable[[list[Any], Any], Any]


def made(alone: bool, kind: str, **options: Any) -> tuple[list[Any], Any]:
    """Parameters and their optimizer, in one group or with a group for each."""
    torch.manual_seed(0)
    params = [torch.nn.Parameter(torch.randn(shape)) for shape in SHAPES]
    groups = [{"params": [p]} for p in params] if alone else params
    return params, getattr(torch.optim, kind)(groups, **{"lr": 0.1, **options})


def train(
    params: list[Any], optimizer: Any, steps: int = 8, events: dict[int, Event] | None = None
) -> None:
    """Steps along gradients that all parameters share; what happens before some of them."""
    generator = torch.Generator().manual_seed(1)
    for number in range(steps):
        if events and number in events:
            events[number](params, optimizer)
        optimizer.zero_grad()
        x = torch.randn(4, 3, generator=generator)
        loss = sum((p * x.sum()).sin().sum() for p in params if p.requires_grad)
        (loss + (params[0] * x).sum()).backward()
        optimizer.step()


def together(optimizer: Any) -> bool:
    """Whether the first group was updated as one in the last step."""
    held = list(optimizer._flats.values())
    return bool(held) and held[0].flat is not None


def bits(params: list[Any], optimizer: Any) -> Any:
    """Everything that a step changes."""
    held = [
        {name: value.numpy().tobytes() for name, value in optimizer.state[p].items()}
        for p in params
    ]
    return [(p.detach().numpy().tobytes(), p._version) for p in params], held


def compare(kind: str, events: dict[int, Event] | None = None, **options: Any) -> Any:
    """Train both ways; the optimizer that may update the parameters together."""
    one, each = made(False, kind, **options), made(True, kind, **options)
    for way in (one, each):
        train(*way, events=events)
    assert bits(*one) == bits(*each)
    assert not together(each[1])
    return one[1]


def freeze(params: list[Any], optimizer: Any) -> None:
    params[1].requires_grad_(False)
    params[1].grad = None


def write(params: list[Any], optimizer: Any) -> None:
    with torch.no_grad():
        params[0].add_(1)
        params[3][0] = 7.0


def change_rate(params: list[Any], optimizer: Any) -> None:
    for group in optimizer.param_groups:
        group["lr"] = 0.01


EVENTS: dict[str, Event] = {
    "data": lambda params, optimizer: setattr(params[1], "data", torch.ones(4)),
    "state": lambda params, o: o.state[params[0]].update(exp_avg=torch.ones(4, 3)),
    "count": lambda params, o: o.state[params[2]]["step"].fill_(100),
    "clear": lambda params, optimizer: optimizer.state.clear(),
    "load": lambda params, o: o.load_state_dict(copy.deepcopy(o.state_dict())),
    "freeze": freeze, "rate": change_rate, "write": write,
}  # fmt: skip


@pytest.mark.parametrize("name", EVENTS)
def test_what_users_do_meanwhile(name: str) -> None:
    compare("Adam", {4: EVENTS[name]})
    compare("Adam", {1: EVENTS[name], 6: EVENTS[name]}, weight_decay=0.1)


def test_gradients_in_any_memory_order() -> None:
    def turned(params: list[Any], optimizer: Any) -> None:
        params[0].register_hook(lambda g: torch.tensor(np.asfortranarray(g.numpy())))

    assert together(compare("Adam", {0: turned}))


def test_memory_of_a_buffer_or_a_file_stays_where_it_is(tmp_path: Path) -> None:
    buffer, path = bytearray(48), tmp_path / "parameter"
    path.write_bytes(buffer)
    params = [
        torch.nn.Parameter(torch.frombuffer(buffer, dtype=torch.float32).view(4, 3)),
        torch.nn.Parameter(torch.from_numpy(np.memmap(path, np.float32, "r+"))),
        torch.nn.Parameter(torch.ones(1, 4)),
    ]
    optimizer = torch.optim.Adam(params, lr=0.1)
    train(params, optimizer)
    assert bytes(buffer) == params[0].detach().numpy().tobytes() != bytes(48)
    assert path.read_bytes() == params[1].detach().numpy().tobytes() != bytes(48)


def test_a_parameter_owns_its_memory_only() -> None:
    params, optimizer = made(False, "Adam")
    train(params, optimizer, 3)
    assert together(optimizer)
    assert params[0].untyped_storage().nbytes() == 48
    assert len(pickle.dumps(params[1])) < 1000


def test_copies_have_memory_of_their_own() -> None:
    params, optimizer = made(False, "Adam")
    train(params, optimizer, 3)
    copied, other = copy.deepcopy((params, optimizer))
    before = bits(params, optimizer)
    train(copied, other, 3)
    assert together(other)
    assert bits(params, optimizer) == before
    train(params, optimizer, 3)
    for p, q in zip(params, copied, strict=True):
        assert torch.equal(p, q)


def test_groups_that_are_gone_hold_no_parameters() -> None:
    params, optimizer = made(False, "Adam")
    train(params, optimizer, 3)
    old = weakref.ref(params[0])
    optimizer.param_groups.clear()
    optimizer.state.clear()
    params = made(False, "Adam")[0]
    optimizer.add_param_group({"params": params})
    train(params, optimizer, 3)
    assert together(optimizer)
    assert old() is None


def test_large_parameters_are_updated_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flats, "LIMIT", 8)
    assert not together(compare("Adam"))


def test_a_difference_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flats.Flat, "gather", lambda *args: True)  # old gradients
    with pytest.raises(AssertionError):
        compare("Adam")
