"""Random programs whose functions are compiled or not, and whose graphs outlive a step."""

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import nanotorch as torch
from tests.compile.beside import alike, array, bits

UNARY: list[Callable[[Any], Any]] = [
    torch.tanh, torch.sigmoid, torch.relu, torch.clone, lambda a: a * 2, lambda a: a + 1,
    lambda a: -a, lambda a: a**2, lambda a: a.t(), lambda a: a.exp() * 0.1,
    lambda a: a.sum(0, keepdim=True) + torch.zeros(3, 3), lambda a: torch.softmax(a, 1),
    lambda a: a.detach() * 1, lambda a: a.abs().sqrt(),
]  # fmt: skip
BINARY: list[Callable[[Any, Any], Any]] = [
    lambda a, b: a + b, lambda a, b: a * b, lambda a, b: a - b, lambda a, b: a @ b * 0.3,
    torch.maximum, lambda a, b: torch.cat([a[:1], b[1:]]), lambda a, b: torch.where(a > 0, a, b),
    lambda a, b: a / (b.abs() + 1),
]  # fmt: skip


def function(choose: random.Random, leaves: list[Any], others: list[Any]) -> Any:
    """A function of two tensors, one of which it may leave unused; it may call ``others``."""
    lines: list[tuple[Any, list[Any]]] = []
    count = first = choose.randint(1, 2)
    for _ in range(choose.randint(1, 5)):
        kind = choose.random()
        calls = UNARY if kind < 0.45 else others if others and kind > 0.85 else BINARY
        places: list[Any] = [choose.randrange(count) for _ in range(1 + (calls is not UNARY))]
        if calls is BINARY and choose.random() < 0.3:
            places[1] = leaves[choose.randrange(3)]
        lines.append((choose.choice(calls), places))
        count += 1
    results = [max(count - 1 - n, first) for n in range(choose.choice([1, 1, 1, 2, 2, 3]))]

    def run(*arguments: Any) -> Any:
        made = list(arguments[:first])
        for call, places in lines:
            out = call(*[made[p] if isinstance(p, int) else p for p in places])
            made.append(out[0] if isinstance(out, tuple) else out)
        return made[results[0]] if len(results) == 1 else tuple(made[n] for n in results)

    return run


def go_backward(choose: random.Random, total: Any, leaves: list[Any]) -> Any:
    """A pass to all leaves or to some, after which another may follow; or none."""
    kind, keep = choose.random(), choose.random() < 0.5
    if kind < 0.4:
        return total.backward(retain_graph=keep)
    if kind < 0.7:
        some = choose.sample(leaves, choose.randint(1, 3))
        return torch.autograd.grad(total, some, allow_unused=True, retain_graph=keep)
    return None


def statement(choose: random.Random, functions: list[Any], leaves: list[Any], kept: Any) -> Any:
    """Call a function of what was kept, keep one of its results, and go backward."""
    pool = [*leaves, *kept, array(3, 3, seed=choose.randrange(9))]
    arguments = [choose.choice(pool) for _ in range(2)]
    out = choose.choice(functions)(*arguments)
    results = out if isinstance(out, tuple) else (out,)
    if choose.random() < 0.5:
        kept.append(choose.choice(results))
    total = sum(((n + 1) * result.sum() for n, result in enumerate(results)), torch.zeros(()))
    if kept and choose.random() < 0.4:
        total = total + (choose.choice(kept) * results[0]).sum()
    found = go_backward(choose, total, leaves) if total.requires_grad else None
    return [result.detach() for result in results], found


def program(seed: int, compiled: Callable[[Any], Any]) -> Iterator[Any]:
    choose = random.Random(seed)
    leaves = [array(3, 3, seed=n).requires_grad_() for n in range(3)]
    functions: list[Any] = []
    for _ in range(choose.randint(1, 3)):
        made = function(choose, leaves, list(functions))
        functions.append(compiled(made) if choose.random() < 0.8 else made)
    statements = [choose.randrange(1 << 30) for _ in range(choose.randint(2, 4))]
    kept: list[Any] = []
    for _ in range(9):
        for number in statements:
            again = random.Random(number)  # each step does the same, with other tensors
            try:
                yield statement(again, functions, leaves, kept)
            except RuntimeError as error:  # for example a second pass through a freed graph
                yield type(error), str(error).partition("\n")[0]
            yield [bits(leaf.grad) for leaf in leaves]
            del kept[:-2]
            if again.random() < 0.3:
                for leaf in leaves:
                    leaf.grad = None


BLOCKS = [
    range(12),
    *(pytest.param(range(n, n + 40), marks=pytest.mark.slow) for n in range(12, 492, 40)),
]


@pytest.mark.filterwarnings("ignore:nanotorch.compile runs")
@pytest.mark.parametrize("seeds", BLOCKS, ids=str)
def test_graphs_that_are_kept_between_steps(seeds: range) -> None:
    replayed = 0
    for seed in seeds:
        functions = alike(lambda compiled, seed=seed: program(seed, compiled), False, None)
        replayed += any(function.report().plans for function in functions)
    assert replayed >= len(seeds) / 4
