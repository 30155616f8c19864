"""Calls that are replaced by faster ones give the same bits."""

from collections.abc import Callable
from typing import Any

import pytest

import nanotorch as torch
from tests.compile.beside import array, compare

SPECIAL = torch.tensor([0.0, -0.0, float("inf"), float("nan")])
OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "rsub": lambda a, b: b - a,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "maximum": torch.maximum,
    "twice": lambda a, b: (a + b) * b + b,
}
OFTEN = ("add", "rsub", "twice")


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (n not in OFTEN)) for n in OPERATIONS]
)
@pytest.mark.parametrize(
    ("whole", "row"),
    [((32, 1), (1,)), ((5,), (1,)), ((1, 1), (1,)), ((64, 16), (16,)), ((20, 7), (1, 7)),
     ((3, 4), (4,)), ((300, 300), (300,)), ((64, 1), (1, 16))],
)  # fmt: skip
def test_rows_and_single_elements(name: str, whole: tuple[int, ...], row: tuple[int, ...]) -> None:
    def make() -> Any:
        base, b = array(*whole), array(*row, seed=1)

        @torch.no_grad()
        def step(x: Any) -> Any:
            b.mul_(1.5)
            made = torch.tanh(base * 2)
            return OPERATIONS[name](made, b), OPERATIONS[name](x, b), made

        return step, lambda: [b]

    def arguments(n: int) -> tuple[Any, ...]:
        x = array(*whole, seed=n)
        x.view(-1)[: min(4, x.numel())] = SPECIAL[: min(4, x.numel())]
        return (x,)

    compare(make, arguments=arguments)
