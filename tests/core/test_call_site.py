"""Where warnings and errors point: the user's line, and who did what to a value, and where."""

import _thread
import copy
import inspect
import re
import warnings
import weakref
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import nanotorch as torch
from nanotorch import nn
from nanotorch._core import call_site
from nanotorch._core.call_site import WHERE
from nanotorch.nn import functional as F
from nanotorch.utils.data import DataLoader, random_split
from tests import answers
from tests.answers import cases
from tests.patience import wait_until

CASES = cases("core_origins")
SOURCE = Path(__file__).with_name("golden_origins.py").read_text("utf-8").splitlines()
# What follows PyTorch's text; @word stands for the line of the case that ends in `# word`.
MUL = ["mul saved it as `other`@saved", "mul_ changed it@changed"]
FREED = "a backward pass used and freed them@freed"
UNRECORDED = "not made by a recorded operation"
TOLD = {
    "result_changed": ["exp saved it as its result@saved", "add_ changed it@changed"],
    "input_changed_by_a_view": ["sin saved it as `input`@saved", "fill_ changed it@changed"],
    "changed_without_a_graph": [MUL[0], "zero_ changed it@changed"],
    "weights_stepped": ["addmm saved it as `mat2`@saved", "SGD.step changed it@changed"],
    "saved_in_a_users_module": MUL,
    "saved_in_a_hook_of_a_child": MUL,
    "saved_in_a_forward_put_on_a_layer": MUL,
    "saved_after_a_switch_left_by_a_hook": MUL,
    "saved_in_a_part_of_a_layer_put_anew": [
        "sigmoid saved it as its result@saved", "add_ changed it@changed",
    ],
    "index_changed": ["zero_ changed it@changed"],
    "saved_by_a_users_function": [
        "CubeBackward saved it as a value@saved", "add_ changed it@changed",
    ],
    "second_backward": ["mul saved values@saved", FREED],
    "backward_after_grad": ["exp saved values@saved", FREED],
    "state_kept_over_steps": ["tanh saved values@saved", FREED],
    "freed_values_asked_for": ["exp saved values@saved", FREED],
    "shapes_that_do_not_broadcast": [
        "input (y) has shape [2, 3], made by exp@made", f"other has shape [4], {UNRECORDED}",
    ],
    "matrices_that_do_not_fit": [
        "input (b) has shape [3, 2], made by mul@made",
        "mat2 (b) has shape [3, 2], made by mul@made",
    ],
    "a_layer_of_another_size": [
        "in module Linear@call", "bias (second.bias) has shape [1], a leaf",
        "mat1 (hidden) has shape [2, 4], made by addmm@made",
        "mat2 (a view of second.weight) has shape [5, 1], made by t on the same line",
    ],
    "a_target_of_another_size": [
        "in module NLLLoss@target", "input (score) has shape [3, 4], made by mul@made",
        f"target has shape [5] and dtype int64, {UNRECORDED}",
    ],
    "tensors_that_cannot_be_joined": [
        "tensors[0] (y) has shape [2, 3], made by mul@made",
        f"tensors[1] has shape [2, 4], {UNRECORDED}",
    ],
}  # fmt: skip


def located(name: str, part: str) -> str:
    """A line of a message, with its place in the source of the case."""
    text, at, marker = part.partition("@")
    if not at:
        return f"\n  {text}"
    first = SOURCE.index(name)
    number = next(k for k in range(first, len(SOURCE)) if SOURCE[k].endswith(f"  # {marker}"))
    where = f"tests/core/golden_origins.py:{number + 1}"
    return f"\n  {text} at {where}\n      {SOURCE[number].strip()}"


@pytest.mark.parametrize("name", TOLD)
def test_where(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "BEYOND", re.compile("$^"))  # leave the message whole
    message = CASES[name](torch)
    monkeypatch.undo()
    expected = WHERE + "".join(located(name, part) for part in TOLD[name])
    assert message[message.index(WHERE) :] == expected


def test_a_call_that_no_python_code_makes_is_recorded_all_the_same() -> None:
    x = torch.ones(2, requires_grad=True) * 2
    _thread.start_new_thread(x.add_, (1.0,))
    wait_until(lambda: x.grad_fn.name() == "AddBackward0")


class Net(nn.Module):
    """A module of the user's, with a call of each kind of module that may refuse its input."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Tanh(), nn.Conv2d(3, 2, 1))
        self.table, self.norm, self.lstm = nn.Embedding(4, 2), nn.BatchNorm1d(3), nn.LSTM(2, 2)
        self.loss, self.pool = nn.CrossEntropyLoss(), nn.MaxPool2d(9)
        self.plain = nn.Linear(3, 1, bias=False)

    def forward(self, part: str, *inputs: Any) -> Any:
        return getattr(self, part)(*inputs)  # called


INTEGERS = f"and dtype int64, {UNRECORDED}"
# What a part of `Net` is called with; the path of the module that refuses it; what is told besides.
REFUSED: dict[str, tuple[Callable[[Any, Any], Any], str, list[str]]] = {
    "channels": (
        lambda net, x: net("body", torch.ones(1, 1, 4, 4)), "body.2 (Conv2d)",
        ["input has shape [1, 2, 2, 2], made by tanh on the same line",
         "weight (self.body.2.weight) has shape [2, 3, 1, 1], a leaf"],
    ),
    "dtype of a picture": (
        lambda net, x: net("body", torch.ones(1, 1, 4, 4).double()), "body.0 (Conv2d)",
        [f"input has shape [1, 1, 4, 4] and dtype float64, {UNRECORDED}"],
    ),
    "dtype": (
        lambda net, x: net("plain", x.long()), "plain (Linear)",
        [f"input has shape [2, 3] {INTEGERS}",
         "mat2 (a view of self.plain.weight) has shape [3, 1], made by t on the same line"],
    ),
    "row": (
        lambda net, x: net("table", torch.tensor([1, 4])), "table (Embedding)",
        ["weight has 4 rows, 0 to 3", "input has values from 1 to 4"],
    ),
    "class": (
        lambda net, x: net("loss", x, torch.tensor([1, 3])), "loss (CrossEntropyLoss)",
        ["input has 3 classes, 0 to 2", "target has values from 1 to 3"],
    ),
    "features": (
        lambda net, x: net("norm", x[:, :2]), "norm (BatchNorm1d)",
        [f"input has shape [2, 2], {UNRECORDED}"],
    ),
    "sequence": (
        lambda net, x: net("lstm", x), "lstm (LSTM)", [f"input has shape [2, 3], {UNRECORDED}"],
    ),
    "window": (
        lambda net, x: net("pool", x[None]), "pool (MaxPool2d)",
        [f"input has shape [1, 2, 3], {UNRECORDED}"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_an_error_of_a_layer_names_it(name: str) -> None:
    """After PyTorch's text: the path of the module, the user's line, and what it was given."""
    call, path, others = REFUSED[name]
    lines, first = inspect.getsourcelines(Net.forward)
    place = f"at tests/core/test_call_site.py:{first + 1}\n      {lines[1].strip()}"
    with pytest.raises((RuntimeError, ValueError, IndexError)) as refused:
        call(Net(), torch.ones(2, 3))
    text, _, about = str(refused.value).partition(WHERE)
    assert text
    assert about == "".join(f"\n  {part}" for part in (f"in module Net.{path} {place}", *others))


def test_an_error_of_the_users_keeps_its_text() -> None:
    class Own(nn.Module):
        def forward(self, x: Any) -> Any:
            raise ValueError("mine")

    with pytest.raises(ValueError, match=r"^mine$"):
        nn.Sequential(Own())(1)
    with pytest.raises(TypeError, match=r"^.*missing 1 .*\n\nWhere:\n  in module Own at "):
        Own()()
    with pytest.raises(TypeError) as refused:
        nn.Sequential()(torch.ones(2), torch.ones(3))
    assert "input has shape [2]" in str(refused.value)
    assert "has shape [3]" not in str(refused.value)  # there is no argument for it


def test_leaves_in_errors_have_their_names() -> None:
    w = torch.ones(3, requires_grad=True)
    layer = nn.Linear(2, 1)
    with pytest.raises(RuntimeError, match=r"\n  input \(w\) has shape \[3\], a leaf\n"):
        w.add_(1)
    with pytest.raises(RuntimeError, match=r"input \(a view of layer.bias\) has shape \[\], made"):
        layer.bias[0] = 1.0
    loss = w.detach().sum()
    with pytest.raises(RuntimeError, match=rf"element 0 \(loss\) has shape \[\], {UNRECORDED}\n"):
        loss.backward()
    with pytest.raises(RuntimeError, match=rf"inputs\[0\] \(loss\) has shape \[\], {UNRECORDED}$"):
        torch.autograd.grad(w.sum(), loss)


def test_a_view_whose_history_is_lost_is_told_of() -> None:
    base = torch.ones(2, 3, requires_grad=True) * 1
    row, _ = base.unbind(0)
    base.add_(1)
    with pytest.raises(
        RuntimeError, match=r"modified inplace[^$]*in module Linear at [^$]*\(row\)"
    ):
        nn.Linear(2, 2)(row)


@pytest.mark.parametrize("held", [True, False])
def test_names_are_read_without_holding_variables(held: bool) -> None:
    """The frame's copy of its variables is let go, unless the user has it."""
    tensor = torch.ones(2)
    gone = weakref.ref(tensor)
    variables = locals() if held else None
    assert call_site.names_in(inspect.currentframe())[id(tensor)] == "tensor"
    if variables is not None:
        assert variables.pop("tensor") is tensor
    del tensor
    assert gone() is None


Cause = Callable[[], Any]
x, byte = torch.ones(2, 3), torch.ones(2, 3, dtype=torch.uint8)
picture = torch.ones(1, 1, 2, 2)


def leaf() -> Any:
    return torch.ones(1, requires_grad=True)


def scheduler() -> Any:
    return torch.optim.lr_scheduler.StepLR(torch.optim.SGD([leaf()], 0.1), 1)


# Each on one line, which is where the warning has to point.
# fmt: off
EACH_TIME: dict[str, Cause] = {
    "byte index": lambda: x[byte],
    "copy": lambda: torch.tensor(x),
    "resized": lambda: torch.add(x, x, out=torch.ones(2)),
    "list index": lambda: torch.ones(3, 3)[[[0, 1], [1, 2]]],
    "grad of no leaf": lambda: (leaf() * 2).grad,
    "too early": lambda: scheduler().step(),
    "epoch": lambda: scheduler().step(1),
    "get_lr": lambda: scheduler().get_lr(),
    "softmax": lambda: F.softmax(x),
    "Softmax": lambda: nn.Softmax()(x),
    "Sequential": lambda: nn.Sequential(nn.Sequential(nn.LogSoftmax()))(x),
    "mse_loss": lambda: F.mse_loss(x, torch.ones(2, 1)),
    "MSELoss": lambda: nn.MSELoss()(x, torch.ones(2, 1)),
    "size_average": lambda: nn.MSELoss(size_average=True),
    "reduce": lambda: F.mse_loss(x, x, reduce=True),
    "kl_div": lambda: nn.KLDivLoss()(x, x),
    "grid_sample": lambda: F.grid_sample(picture, torch.zeros(1, 2, 2, 2)),
    "affine_grid": lambda: F.affine_grid(torch.zeros(1, 2, 3), (1, 1, 2, 2)),
    "gumbel_softmax": lambda: F.gumbel_softmax(x, eps=1.0),
    "dropout2d": lambda: F.dropout2d(torch.ones(2, 3, 4)),
    "upsample": lambda: F.upsample(picture, scale_factor=2),
    "empty weights": lambda: nn.Linear(0, 1),
    "normal": lambda: nn.init.normal(torch.ones(2)),
    "recurrent dropout": lambda: nn.LSTM(2, 2, dropout=0.5),
    "hardtanh": lambda: nn.Hardtanh(min_value=0.0),
    "clip_grad_norm": lambda: nn.utils.clip_grad_norm(leaf(), 1.0),
    "weight_norm": lambda: nn.utils.weight_norm(nn.Linear(2, 2)),
    "matmul precision": lambda: torch.set_float32_matmul_precision("x"),
    "volatile": lambda: torch.autograd.Variable(x, volatile=True),
    "grad_variables": lambda: torch.autograd.backward(leaf().sum(), grad_variables=torch.tensor(1.0)),  # noqa: E501
    "autocast": lambda: torch.autocast("cuda"),
    "former autocast": lambda: torch.cuda.amp.autocast(),
    "former scaler": lambda: torch.cuda.amp.GradScaler(),
    "empty split": lambda: random_split([1, 2], [1.0, 0.0]),
    "workers": lambda: DataLoader([1], num_workers=1000),
    "transformer": lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(2, 1, 2), 1),
    "covariance": lambda: torch.ones(3, 2)[:, :1].cov(),
    "hook lost": lambda: copy.copy(hooked()),
}
ONCE: dict[str, Cause] = {
    "former order": lambda: x.add(2, x),
    "T": lambda: torch.ones(3, 2, 2).T,
    "read-only": lambda: torch.from_numpy(np.broadcast_to(np.ones(3), (3,))),
    "bytes": lambda: torch.frombuffer(b"ab", dtype=torch.uint8),
    "create_graph": lambda: leaf().sum().backward(create_graph=True),
    "arrays": lambda: torch.tensor([np.ones(3), np.ones(3)]),
    "even": lambda: F.conv1d(torch.ones(1, 1, 4), torch.ones(1, 1, 2), padding="same"),
    "number": lambda: float(leaf()),
    "meshgrid": lambda: torch.meshgrid(x[0], x[0]),
    "tensor type": lambda: torch.set_default_tensor_type(torch.FloatTensor),
}
# fmt: on


def hooked() -> Any:
    tensor = leaf()
    tensor.register_hook(print)
    return tensor


@pytest.fixture(autouse=True)
def _as_if_new(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_site, "said", set())


def given(*causes: Cause) -> list[warnings.WarningMessage]:
    """The warnings that calls give, each of which Python shows once a line."""
    with warnings.catch_warnings(record=True, action="default") as caught:
        for cause in causes:
            cause()
    return [w for w in caught if "gave nan" not in str(w.message)]


@pytest.mark.parametrize("name", EACH_TIME)
def test_each_line_is_told_of(name: str) -> None:
    """Two lines give two warnings, of which each points at its own."""
    cause = EACH_TIME[name]
    globals().pop("__warningregistry__", None)
    places = [(w.filename, w.lineno) for w in given(cause, cause)]
    assert set(places) == {(__file__, cause.__code__.co_firstlineno)}
    elsewhere = FunctionType(cause.__code__.replace(co_firstlineno=1), globals())
    assert [w.lineno for w in given(elsewhere)][:1] == [1]


@pytest.mark.parametrize("name", ONCE)
def test_some_are_told_once(name: str) -> None:
    """What PyTorch says but once says which line was the first."""
    cause = ONCE[name]
    places = [(w.filename, w.lineno) for w in given(cause, cause)]
    assert places == [(__file__, cause.__code__.co_firstlineno)]
    with warnings.catch_warnings(action="error"):
        cause()


def test_what_is_told_once_can_be_told_always() -> None:
    torch.set_warn_always(True)
    try:
        first, second = given(lambda: x.add(2, x), lambda: x.sub(2, x))
    finally:
        torch.set_warn_always(False)
    assert first.lineno == second.lineno
    assert not torch.is_warn_always_enabled()
