"""Functions know their arguments by the names that PyTorch knows them by, NumPy's included."""

import json
import pickle
from typing import Any

import pytest

import nanotorch as torch
from nanotorch._core.tensor import wrap
from tests.ops.cases import GOLDEN
from tests.ops.keywords import by_name, found, prepared, spellings
from tests.ops.samples import TABLE
from tests.several import each, in_parts

ANSWERS = json.loads((GOLDEN / "keywords.json").read_text("utf-8"))
# Functions that are more than PyTorch's, or less.
MORE = ("nn.functional.sigmoid", "nn.functional.tanh")  # the operations themselves
LESS = (["scalar1", "scalar2"],)  # of `result_type`, where two numbers may stand


def shown(function: Any, own: Any, named: dict[str, Any]) -> str | None:
    """What a function gives; None if it does not take arguments of these names."""
    torch.manual_seed(0)
    try:
        return repr(function(*own, **named))
    except TypeError:
        return None


def check_names(path: str) -> None:
    """Each argument by each of its names, where PyTorch takes it, and nowhere else."""
    function = found(torch, path)
    assert function is not None
    row = TABLE[path] if path in TABLE else TABLE[path.rpartition(".")[2]]
    for names, number, others in ANSWERS[path]:
        if names in LESS:
            continue

        def arguments(names: Any = names, number: Any = number) -> tuple[Any, dict[str, Any]]:
            args, kwargs = prepared(torch, path, row.samples[number], wrap)
            own, named = by_name(path, args, names)
            return own, named | kwargs

        own, named = arguments()
        expected = shown(function, own, named)
        assert expected is not None
        args, kwargs = prepared(torch, path, row.samples[number], wrap)
        if not set(names) & set(kwargs):  # else the option stands in the place of an argument
            assert shown(function, args, kwargs) == expected
        for position, _ in enumerate(spellings(named)):
            own, named = arguments()
            spelled = list(spellings(named))[position]
            answer = expected if others or path in MORE else None
            assert shown(function, own, spelled) == answer, spelled.keys()


@pytest.mark.filterwarnings("ignore")
@in_parts(ANSWERS, 50)
def test_names_of_arguments(names: list[str]) -> None:
    each(names, check_names)


def refused(call: str) -> str:
    """What the TypeError says."""
    with pytest.raises(TypeError) as raised:
        eval(call, {"torch": torch, "x": torch.ones(2, 2)})
    return str(raised.value)


TWICE_OR_UNKNOWN = [
    "torch.prod(x, axis=0, dim=0)", "torch.prod(x, 0, axis=0)", "torch.max(x, axis=0, dim=0)",
    "torch.add(x, x, x2=x)", "torch.unsqueeze(x, 0, axis=0)", "x.unsqueeze(axis=0, x=1)",
    "torch.add(x, x, bad=1)", "x.unsqueeze(bad=1)", "torch.flatten(x, bad=1)",
    "torch.chunk(x, x=x, chunks=2)", "torch.matmul(x, x, x2=x)", "x.matmul(x, x2=x)",
    "torch.matmul(x, other=x, x2=x)", "torch.div(x, x, x2=x)", "x.div(x, x2=x)",
    "torch.mean(x, 0, axis=0)", "torch.mean(x, dim=0, axis=0)", "x.mean(0, axis=1)",
    "torch.sum(x, 0, axis=0)", "x.sum(0, axis=1)", "x.sum(0, True, keepdims=True)",
    "x.sum(dim=0, axis=0)", "x.sum(named=1)", "torch.mean(a=x, x=x)",
    "x.squeeze(0, axis=0)", "x.squeeze(0, dim=0)", "torch.squeeze(x, dim=0, axis=0)",
    "x.sum(0, False, keepdims=True)", "torch.max(x, x, other=x)", "torch.min(x, 0, other=x)",
    "torch.arange(5, start=1)", "torch.arange(1, 5, start=2)", "torch.arange(1, 2, 3, 4)",
    "torch.arange(end=3, step=2)", "x.view(2, 2, size=(4,))", "x.reshape((4,), shape=(4,))",
    "x.permute(0, 1, dims=(1, 0))", "x.expand(2, 2, size=(2, 2))", "x.tile(2, dims=(2,))",
    "x.flip(0, dims=(0,))", "x.repeat(1, 1, repeats=(2, 2))", "x.sum_to_size(2, size=(2,))",
    "torch.tensor_split(x, 2, sections=2)", "x.to(torch.float64, dtype=torch.float64)",
    "x.to('cpu', device='cpu')", "torch.scatter(x, 0, x.long(), x, value=1.0)",
]  # fmt: skip


def test_what_is_given_twice_or_unknown() -> None:
    """PyTorch refuses it with a TypeError, too."""
    assert [call for call in TWICE_OR_UNKNOWN if "argument" not in refused(call)] == []


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "min", "median"])
def test_no_dimensions_are_kept_where_none_is_given(name: str) -> None:
    """Neither by the name of PyTorch nor by NumPy's, nor where it says that none is to be kept."""
    x = torch.ones(2, 2)
    for kept in ({"keepdim": True}, {"keepdim": False}, {"keepdims": True}):
        for call in (getattr(torch, name), getattr(torch.Tensor, name)):
            with pytest.raises(TypeError, match=rf'^{name}\(\) missing 1 .*: "dim"$'):
                call(x, **kept)


@pytest.mark.filterwarnings("ignore:This overload")
def test_numbers_before_tensors_may_be_tensors_without_dimensions() -> None:
    """And the first operand a number, in the order that arguments had formerly."""
    x, m = torch.tensor([1.0, 2.0]), torch.ones(2, 2)
    three = torch.tensor(3.0)
    assert torch.add(x, three, x).tolist() == [4.0, 8.0]
    assert torch.sub(x, torch.tensor(3), x).tolist() == [-2.0, -4.0]
    assert torch.add(2, 2, x).tolist() == [4.0, 6.0]
    assert torch.add(2, 2, 3.0).tolist() == 8.0
    assert torch.addcmul(x, three, x, x).tolist() == [4.0, 14.0]
    assert torch.addcdiv(x, three, x, x).tolist() == [4.0, 5.0]
    assert torch.addmm(three, m, m, m).tolist() == [[5.0, 5.0]] * 2
    for refused in (three.detach().requires_grad_(), torch.ones(1)):
        with pytest.raises(TypeError, match="takes 2 positional arguments but 3 were given"):
            torch.add(x, refused, x)
    with pytest.raises(RuntimeError, match="Boolean alpha only supported for Boolean results"):
        torch.add(x, torch.tensor(True), x)
    with pytest.raises(TypeError, match="takes 3 positional arguments but 4 were given"):
        torch.addcmul(2, 2, x, x)


REFUSALS = {
    **{
        f"torch.{name}(2, x)": f"{name}(): argument 'input' (position 1) must be T"
        for name in ("eq", "ne", "lt", "le", "gt", "ge")
    },
    "torch.fmod(2, x)": "fmod() received an invalid combination of arguments - got (int, Tensor)",
    "x.unsqueeze()": 'unsqueeze() missing 1 required positional arguments: "dim"',
    "torch.unsqueeze(x=x)": 'unsqueeze() missing 1 required positional arguments: "dim"',
    "torch.mm(x)": 'mm() missing 1 required positional arguments: "mat2"',
    "torch.exp(x, x)": "exp() takes 1 positional argument but 2 were given",
    "torch.exp(x, x, x)": "exp() takes 1 positional argument but 3 were given",
    "torch.atan2(x, x, x)": "atan2() takes 2 positional arguments but 3 were given",
    "torch.unsqueeze(x, 0, 0)": "unsqueeze() takes 2 positional arguments but 3 were given",
    "x.unsqueeze(0, 0)": "unsqueeze() takes 1 positional argument but 2 were given",
    "torch.add(x, x, x, x)": "add() takes 2 positional arguments but 4 were given",
    "torch.add(x, x, None)": "add() takes 2 positional arguments but 3 were given",
    "torch.add(x, x, None, 5)": "add() takes 2 positional arguments but 4 were given",
    "torch.add(x, None, x)": "add() takes 2 positional arguments but 3 were given",
    "x.add_(None, x)": "add_() takes 1 positional argument but 2 were given",
    "torch.sub(x, x, None, 5)": "sub() takes 2 positional arguments but 4 were given",
    "torch.addmm(x, x, x, None, None, 0, 7)": "addmm() takes ",
    "torch.addmm(x, x, x, None)": "addmm() ",
    "torch.addmm(x, x, x, former_beta=None)": "addmm() ",
    "torch.addcmul(x, x, x, former_value=None)": "addcmul() ",
    'x.unsqueeze(axis="a")': "unsqueeze(): argument 'dim' (position 1) must be",
    'torch.sin(x="a")': "sin(): argument 'input' (position 1) must be Ten",
}


def test_missing_further_and_wrong_arguments() -> None:
    """Refused as in PyTorch; where its words are others, they begin like this."""
    told = {call: refused(call) for call in REFUSALS}
    assert {c: t for c, t in told.items() if not t.startswith(REFUSALS[c])} == {}


@pytest.mark.parametrize(
    "path",
    [
        "sum", "stack", "cat", "max", "exp", "flatten", "add", "conv1d", "layer_norm",
        "norm", "einsum", "linalg.norm", "linalg.det", "special.expit",
        "nn.functional.gelu", "nn.functional.linear", "nn.functional.relu",
        "nn.functional.avg_pool2d", "Tensor.sum", "Tensor.max", "Tensor.unsqueeze",
    ],
)  # fmt: skip
def test_functions_go_through_pickle(path: str) -> None:
    """As they must, to be the `collate_fn` of a loader whose workers are spawned."""
    function = found(torch, path)
    assert pickle.loads(pickle.dumps(function)) is function
