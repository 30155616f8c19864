"""Everyday code does and says what it does and says with PyTorch."""

import importlib
import warnings

import pytest

import nanotorch as torch
from nanotorch._core import call_site
from nanotorch.nn import module_call as module


def test_former_backward_hooks_of_all_modules() -> None:
    """PyTorch allows them in processes only that never had full ones."""
    seen: list[str] = []
    with module.register_module_backward_hook(lambda m, *_: seen.append(type(m).__name__)):
        with pytest.raises(RuntimeError, match="Cannot use both regular backward hooks and full"):
            module.register_module_full_backward_hook(print)
        torch.nn.Tanh()(torch.ones(1, requires_grad=True) * 2).sum().backward()
    assert seen == ["Tanh"]


def test_a_number_of_what_is_recorded_is_warned_of_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_site, "said", set())
    x = torch.ones((), requires_grad=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert [int(x), x.item(), float(x.detach()), f"{x:.1f}"] == [1, 1.0, 1.0, "1.0"]
        assert not caught
        assert [float(x), float(x * 2)] == [1.0, 2.0]
    assert [str(w.message).splitlines()[1] for w in caught] == [
        "Consider using tensor.detach() first."
    ]
    assert caught[0].filename == __file__


def test_uneven_padding_and_projections_are_warned_of_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_site, "said", set())
    x, w = torch.ones(1, 1, 5), torch.ones(1, 1, 2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.nn.functional.conv1d(x, w[:, :, :1], padding="same")
        assert not caught
        for _ in range(2):
            torch.nn.functional.conv1d(x, w, padding="same")
            torch.nn.LSTM(5, 3, proj_size=2)(x)
            torch.nn.LSTM(5, 3, proj_size=2).double()(x.double())
    assert [str(w.message)[:34] for w in caught] == [
        "Using padding='same' with even ker", "LSTM with projections is not suppo",
    ]  # fmt: skip
    assert caught[0].filename == __file__


def test_the_former_place_of_functional_call() -> None:
    layer = torch.nn.Linear(2, 2)
    call = importlib.import_module("nanotorch.nn.utils.stateless").functional_call
    out = call(layer, {"weight": torch.zeros(2, 2)}, torch.ones(1, 2))
    assert out.tolist() == [layer.bias.tolist()]
    assert torch.nn.utils.stateless.functional_call is call is torch.func.functional_call
