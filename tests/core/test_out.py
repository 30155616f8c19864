"""`out=` as PyTorch has it."""

import gc
from typing import Any

import pytest

import nanotorch as torch
from nanotorch._core.tensor import wrap
from nanotorch.ops import RULES
from tests.ops.keywords import found, prepared
from tests.ops.samples import TABLE


@pytest.fixture(scope="module", autouse=True)
def _few_objects() -> None:
    """Who shares memory that grows is searched for among all objects that are not frozen."""
    gc.collect()
    gc.freeze()


def test_the_warning_of_another_shape_names_the_users_line() -> None:
    out = torch.zeros(7)
    with pytest.warns(UserWarning, match="resized") as caught:
        torch.logaddexp2(torch.ones(3), torch.ones(3), out=out)
    assert caught[0].filename == __file__


def test_memory_that_numpy_shares_does_not_grow_behind_it() -> None:
    base = torch.arange(2.0)
    part, array = base[:1], base.numpy()
    for shared in (base, part, torch.from_numpy(array)):
        with pytest.raises(RuntimeError, match="storage that is not resizable"):
            shared.resize_(9)
    assert base.shape == (2,)
    assert array.tolist() == [0, 1]
    assert torch.empty(0).resize_(2, 3).shape == (2, 3)


WRITING = {name for names, _ in RULES for name in names}
LAYOUTS: dict[str, Any] = {
    "columns": lambda: torch.zeros(5, 4).t(),
    "steps": lambda: torch.zeros(4, 10)[:, ::2],
    "inner": lambda: torch.zeros(6, 7)[1:5, 1:6],
    "larger": lambda: torch.zeros(7, 6).t(),
}
MEANS: Any = torch.arange(20.0).view(5, 4).t()
DRAWN: dict[str, Any] = {
    "torch.rand(4, 5, out=out)": lambda out: out.uniform_(),
    "torch.randn(4, 5, out=out)": lambda out: out.normal_(),
    "torch.randint(2, 9, (4, 5), out=out)": lambda out: out.random_(2, 9),
    "torch.normal(1.0, 2.0, (4, 5), out=out)": lambda out: out.normal_(1, 2),
    "torch.normal(means, 1.0, out=out)": lambda out: out.normal_().add_(MEANS),
    "torch.normal(0.0, means, out=out)": lambda out: out.normal_().mul_(MEANS),
    "torch.normal(means, means, out=out)": lambda out: out.normal_().mul_(MEANS).add_(MEANS),
    "torch.bernoulli(means / 20, out=out)": lambda out: out.bernoulli_(MEANS / 20),
}
# Drawn, or called otherwise.
ELSEWHERE = ("bernoulli", "empty", "lu_unpack", "multinomial", "normal")


@pytest.mark.filterwarnings("ignore:An output with one or more")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_random_numbers_are_drawn_in_the_order_of_the_memory(layout: str) -> None:
    """As for filling what lies there in place, once it has the shape."""
    for call, fill in DRAWN.items():
        out = LAYOUTS[layout]()
        torch.manual_seed(3)
        eval(call, {"torch": torch, "out": out, "means": MEANS})
        after = torch.rand(1)
        expected = LAYOUTS[layout]()
        if expected.shape != (4, 5):
            expected.resize_(4, 5)
        torch.manual_seed(3)
        fill(expected)
        assert out.tolist() == expected.tolist(), call
        assert after == torch.rand(1)


@pytest.mark.parametrize("name", ["sum", "prod", "median"])
def test_nothing_is_written_without_a_dimension(name: str) -> None:
    with pytest.raises(TypeError, match=f'^{name}.* missing 1 .*: "dim"$'):
        getattr(torch, name)(torch.ones(2, 2), out=torch.zeros(()))
    if name in ("sum", "prod"):
        for named in ({"dim": 0}, {"axis": 0}):
            out = torch.zeros(2)
            assert getattr(torch, name)(torch.ones(2, 2), **named, out=out) is out


@pytest.mark.parametrize("function", [torch.median, torch.kthvalue])
def test_indices_of_another_dtype(function: Any) -> None:
    """The text is about the result that does not fit."""
    with pytest.raises(RuntimeError, match="have dtype long int, but got float instead"):
        function(torch.ones(2, 3), 1, out=(torch.zeros(0), torch.zeros(0)))


def placed(result: Any, layout: str) -> tuple[Any, Any]:
    """Memory of sevens, and a view of it with the shape and dtype of a result."""
    shape = result.shape
    if layout == "columns":
        base = result.new_full(shape[::-1], 7)
        return base, base.permute(*range(len(shape))[::-1])
    base = result.new_full((*shape[:-1], 2 * shape[-1] + 1), 7)
    return base, base[..., 1::2]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("layout", ["columns", "steps"])
def test_every_function_writes_to_views_and_nothing_else(layout: str) -> None:
    """What it answers otherwise."""
    count = 0
    for name, row in TABLE.items():
        function: Any = found(torch, name)
        takes = name in WRITING and function is not None and name not in ELSEWHERE
        sample = next((s for s in row.samples if takes and not s.fails), None)
        if sample is None:
            continue
        args, named = prepared(torch, name, sample, wrap)
        with torch.no_grad():
            result = function(*args, **named)
            if not isinstance(result, torch.Tensor) or not result.ndim:
                continue
            base, out = placed(result, layout)
            assert function(*args, **named | {"out": out}) is out, name
        assert torch.equal(torch.nan_to_num(out), torch.nan_to_num(result)), name
        out.fill_(7)
        assert (base == base.new_full((), 7)).all(), name
        count += 1
    assert count > 130
