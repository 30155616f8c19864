"""Random programs, compiled and not: what they compute, write, and differentiate."""

import random
from collections.abc import Callable
from typing import Any

import pytest

import nanotorch as torch
from tests.compile.beside import alike, array, in_two, outcome, snapshot

Call = Callable[..., Any]
UNARY: list[Call] = [
    torch.tanh, torch.sigmoid, torch.relu, torch.abs, torch.sin, torch.neg, torch.clone,
    lambda a: (a * 0.1).exp(), lambda a: a**2, lambda a: (a.abs() + 1).log(),
]  # fmt: skip
BINARY: list[Call] = [
    lambda a, b: a + b, lambda a, b: a - 2 * b, lambda a, b: a * b, torch.maximum, torch.minimum,
    lambda a, b: a / (b.abs() + 1),
]  # fmt: skip
SHAPED: list[Call] = [
    lambda a: a.t(), lambda a: a.sum(0, keepdim=True) + torch.zeros(4, 4),
    lambda a: a.mean(1, keepdim=True) * torch.ones(4), lambda a: a[1].expand(4, 4),
    lambda a: a[:, 2:3] + a, lambda a: torch.cat([a[1:], a[:1]]),
    lambda a: a.unsqueeze(0).squeeze(0) * 1, lambda a: a @ a.t() * 0.1,
    lambda a: torch.softmax(a, 1), lambda a: torch.cat([a[:, :2], a[:, 2:] * 2], 1),
]  # fmt: skip
WRITES: list[Call] = [
    lambda a, b: a.mul_(0.5), lambda a, b: a.add_(b, alpha=0.3),
    lambda a, b: a.__setitem__(1, 0.25), lambda a, b: a[:, 1:3].mul_(2.0),
    lambda a, b: a[:, 0].zero_(), lambda a, b: a[2:].copy_(b[:2]),
]  # fmt: skip


def noise(a: Any) -> Any:
    return a + torch.randn(4, 4) * torch.rand(4)


Program = list[tuple[Call, list[int]]]


def program(seed: int) -> Program:
    """Statements, functions and the places of their arguments, on a growing list of tensors."""
    choose = random.Random(seed)
    lines: Program = []
    count = 3
    for _ in range(choose.randint(3, 14)):
        kind = choose.random()
        if kind >= 0.85:
            if count > 3:
                lines.append((choose.choice(WRITES), [choose.randrange(3, count),
                                                      choose.randrange(count)]))  # fmt: skip
            continue
        calls = UNARY if kind < 0.35 else BINARY if kind < 0.6 else SHAPED
        call = choose.choice(calls) if kind < 0.8 else noise
        lines.append((call, [choose.randrange(count) for _ in range(1 + (calls is BINARY))]))
        count += 1
    return lines


def scene(lines: Program, seed: int) -> Any:
    """A function that runs the program, one that goes backward and on; and the tensors."""
    leaves = [array(4, 4, seed=seed + n).requires_grad_(n < 2) for n in range(3)]
    buffer = torch.zeros(4, 4)

    def forward() -> Any:
        made = list(leaves)
        for call, places in lines:
            if call in WRITES:
                call(made[places[0]], made[places[1]].detach().clone())
            else:
                made.append(call(*[made[p] for p in places]))
        return sum(t.sum() * 0.1 for t in made[3:]) + leaves[0].sum(), made[-1] * 1

    def finish(results: Any) -> Any:
        total, last = results
        for leaf in leaves[:2]:
            leaf.grad = None
        (total + last.sum() if seed % 3 == 0 else total).backward()
        with torch.no_grad():
            buffer.mul_(0.9).add_(last.detach(), alpha=0.1)
            for leaf in leaves[:2]:
                leaf.sub_(leaf.grad.clamp(-1, 1) if leaf.grad is not None else 0, alpha=0.01)
        return total.detach(), last.detach() * 1

    return forward, finish, [*leaves, buffer]


BLOCKS = [
    range(6),
    *(pytest.param(range(n, n + 40), marks=pytest.mark.slow) for n in range(0, 480, 40)),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("outside", [False, True], ids=["whole", "outside"])
@pytest.mark.parametrize("seeds", BLOCKS, ids=str)
def test_random_programs(seeds: range, outside: bool) -> None:
    compiled_count = 0
    for seed in seeds:
        lines = program(seed)

        def calls(compiled: Any, lines: Program = lines, seed: int = seed) -> Any:
            forward, finish, tensors = scene(lines, seed)
            step = in_two(compiled, forward, finish, not outside)
            for n in range(7):
                torch.manual_seed(n)
                yield [outcome(step), snapshot(tensors)]

        (function,) = alike(calls, fullgraph=False, compiles=None)
        problem = function.report().problem
        assert problem is None or "otherwise" not in problem, f"program {seed}: {problem}"
        compiled_count += bool(function.report().plans)
    assert compiled_count >= len(seeds) / 2
