"""What modules, layers and losses do besides their golden answers."""

import inspect
import warnings
from xml.etree import ElementTree

import pytest

import nanotorch as torch
from nanotorch import nn
from nanotorch._core import call_site
from nanotorch.nn.module_call import register_module_forward_hook, register_module_forward_pre_hook


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


def test_layers_of_users_inherit_as_always() -> None:
    """Only nanotorch's own layers bear their names on methods that they inherit."""

    class Mine(torch.nn.Conv2d):
        pass

    assert Mine.__init__ is torch.nn.Conv2d.__init__
    assert torch.nn.Conv1d.__init__ is not torch.nn.Conv2d.__init__
    with pytest.raises(TypeError, match=r"^Conv2d.__init__\(\) missing"):
        Mine()  # type: ignore[call-arg]


def test_a_length_beyond_the_padding_is_refused() -> None:
    """PyTorch lets it pass, and gives sizes of which there are no data."""
    with pytest.raises(RuntimeError, match="a length of 5 exceeds the number of steps"):
        torch.nn.utils.rnn.pack_padded_sequence(torch.ones(4, 2), [5, 2])


def test_forward_hooks_of_all_modules_come_before_a_modules_own() -> None:
    seen: list[str] = []
    net = torch.nn.Sequential(torch.nn.Linear(1, 1))
    net.register_forward_hook(lambda *_: seen.append("own"))
    before = register_module_forward_pre_hook(lambda m, args: seen.append(f"{type(m).__name__}("))
    after = register_module_forward_hook(lambda m, args, out: out + 1 if m is net else None)
    shifted = net(torch.ones(1))
    before.remove()
    after.remove()
    assert seen == ["Sequential(", "Linear(", "own"]
    assert torch.equal(net(torch.ones(1)) + 1, shifted)


def test_sparse_gradients_are_refused() -> None:
    weight, index = torch.ones(2, 2), torch.tensor([1])
    for call in (
        lambda: torch.nn.Embedding(2, 2, sparse=True),
        lambda: torch.nn.EmbeddingBag(2, 2, sparse=True),
        lambda: torch.nn.functional.embedding(index, weight, sparse=True),
        lambda: torch.nn.functional.embedding_bag(index, weight, index * 0, sparse=True),
    ):
        with pytest.raises(NotImplementedError, match="use sparse=False"):
            call()


def test_offsets_must_not_decrease() -> None:
    with pytest.raises(RuntimeError, match="not decrease"):
        torch.nn.functional.embedding_bag(
            torch.tensor([1, 0, 1]), torch.ones(2, 2), torch.tensor([0, 2, 1])
        )


def test_options_are_the_arguments_of_the_constructor() -> None:
    assert str(inspect.signature(nn.LeakyReLU)) == (
        "(negative_slope: float = 0.01, inplace: bool = False) -> None"
    )
    made = nn.LeakyReLU(0.5)
    assert (made.negative_slope, made.inplace) == (0.5, False)
    assert made(torch.tensor([-2.0, 2.0])).tolist() == [-1.0, 2.0]
    assert not hasattr(nn.LeakyReLU, "negative_slope")
    with pytest.raises(TypeError, match=r"^PixelShuffle.__init__\(\) missing 1 required"):
        nn.PixelShuffle()
    with pytest.raises(TypeError, match=r"^GaussianNLLLoss.__init__\(\) takes 1 positional"):
        nn.GaussianNLLLoss(True)
    with pytest.raises(TypeError, match=r"^ReLU.forward\(\) missing 1 required"):
        nn.ReLU()()


def test_a_notebook_shows_a_table_of_modules_and_parameters() -> None:
    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.factor = nn.Parameter(torch.ones(()))
            self.inner = nn.Sequential(nn.Linear(2, 3, bias=False), nn.Hardtanh(0.1, 20))

        def extra_repr(self) -> str:
            return "a < b"

    table = ElementTree.fromstring(Scaled()._repr_html_())
    rows = [[cell.text or "" for cell in row] for row in table]
    assert rows == [
        ["module", "layer", "parameters", "elements"],
        ["", "Scaled(a < b)", "factor []", "1"],
        ["inner", "Sequential()", "", ""],
        ["inner.0", "Linear(in_features=2, out_features=3, bias=False)", "weight [3, 2]", "6"],
        ["inner.1", "Hardtanh(min_val=0.1, max_val=20)", "", ""],
        ["all", "", "", "7"],
    ]


def test_means_of_neighbouring_channels_of_integers_are_whole_as_in_pytorch() -> None:
    x = torch.arange(24).reshape(2, 4, 3)
    out = nn.functional.local_response_norm(x, 2, 1.0, 1.0, 0.0)
    assert out.dtype == torch.float32
    assert out[1, 1].tolist() == pytest.approx([15 / 184, 16 / 212, 17 / 242])
    for dtype in (torch.int32, torch.bool):
        with pytest.raises(NotImplementedError, match="avg_pool2d"):
            nn.functional.local_response_norm(x.to(dtype), 2)
    for size in (0, -2):
        with pytest.raises(RuntimeError, match="size must be greater than zero"):
            nn.functional.local_response_norm(x.float(), size)
