"""Random programs, compiled and not: what they compute, write, and differentiate."""

import random
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import nanotorch as torch
from tests.compile.beside import array, flat

UNARY = ["tanh", "sigmoid", "relu", "abs", "sin", "neg", "exp_small", "square", "clone", "log_abs"]
BINARY = ["add", "sub", "mul", "maximum", "minimum", "div_safe"]
SHAPED = ["t", "sum0", "mean1", "row", "column", "slice", "unsqueeze", "matmul", "softmax", "cat"]
IN_PLACE = ["mul_number", "add_tensor", "row_fill", "slice_mul", "zero_column", "copy"]

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "tanh": lambda a: a.tanh(),
    "sigmoid": lambda a: a.sigmoid(),
    "relu": lambda a: a.relu(),
    "abs": lambda a: a.abs(),
    "sin": lambda a: a.sin(),
    "neg": lambda a: -a,
    "exp_small": lambda a: (a * 0.1).exp(),
    "square": lambda a: a**2,
    "clone": lambda a: a.clone(),
    "log_abs": lambda a: (a.abs() + 1).log(),
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - 2 * b,
    "mul": lambda a, b: a * b,
    "maximum": lambda a, b: torch.maximum(a, b),
    "minimum": lambda a, b: torch.minimum(a, b),
    "div_safe": lambda a, b: a / (b.abs() + 1),
    "t": lambda a: a.t(),
    "sum0": lambda a: a.sum(0, keepdim=True) + torch.zeros(4, 4),
    "mean1": lambda a: a.mean(1, keepdim=True) * torch.ones(4),
    "row": lambda a: a[1].expand(4, 4),
    "column": lambda a: a[:, 2:3] + a,
    "slice": lambda a: torch.cat([a[1:], a[:1]]),
    "unsqueeze": lambda a: a.unsqueeze(0).squeeze(0) * 1,
    "matmul": lambda a: a @ a.t() * 0.1,
    "softmax": lambda a: torch.softmax(a, 1),
    "cat": lambda a: torch.cat([a[:, :2], a[:, 2:] * 2], 1),
    "noise": lambda a: a + torch.randn(4, 4) * torch.rand(4),
}


def write(kind: str, a: Any, b: Any) -> None:
    """Change ``a``, or a part of it, in place."""
    if kind == "mul_number":
        a.mul_(0.5)
    elif kind == "add_tensor":
        a.add_(b, alpha=0.3)
    elif kind == "row_fill":
        a[1] = 0.25
    elif kind == "slice_mul":
        a[:, 1:3].mul_(2.0)
    elif kind == "zero_column":
        a[:, 0].zero_()
    else:
        a[2:].copy_(b[:2])


def program(seed: int) -> list[tuple[Any, ...]]:
    """A list of statements on a growing list of 4 x 4 tensors."""
    choose = random.Random(seed)
    lines: list[tuple[Any, ...]] = []
    count = 3
    for _ in range(choose.randint(3, 14)):
        kind = choose.random()
        if kind < 0.35:
            lines.append(("call", choose.choice(UNARY), choose.randrange(count)))
        elif kind < 0.6:
            pair = (choose.randrange(count), choose.randrange(count))
            lines.append(("call", choose.choice(BINARY), *pair))
        elif kind < 0.8:
            lines.append(("call", choose.choice(SHAPED), choose.randrange(count)))
        elif kind < 0.85:
            lines.append(("call", "noise", choose.randrange(count)))
        else:
            lines.append(("write", choose.choice(IN_PLACE), choose.randrange(3, count + 1)
                          if count > 3 else 3, choose.randrange(count)))  # fmt: skip
            continue
        count += 1
    return lines


def scene(lines: list[tuple[Any, ...]], seed: int) -> Any:
    """A function that runs the program, one that goes backward and on; and the leaves."""
    leaves = [array(4, 4, seed=seed + n).requires_grad_(n < 2) for n in range(3)]
    buffer = torch.zeros(4, 4)

    def forward() -> Any:
        made = list(leaves)
        for kind, name, *places in lines:
            if kind == "call":
                made.append(FUNCTIONS[name](*[made[p] for p in places]))
            elif places[0] < len(made):
                write(name, made[places[0]], made[places[1]].detach().clone())
        return sum(t.sum() * 0.1 for t in made[3:]) + leaves[0].sum(), made[-1] * 1

    def finish(total: Any, last: Any) -> Any:
        for leaf in leaves[:2]:
            leaf.grad = None
        (total + last.sum() if seed % 3 == 0 else total).backward()
        with torch.no_grad():
            buffer.mul_(0.9).add_(last.detach(), alpha=0.1)
            for leaf in leaves[:2]:
                leaf.sub_(leaf.grad.clamp(-1, 1) if leaf.grad is not None else 0, alpha=0.01)
        return total.detach(), last.detach() * 1

    return forward, finish, [*leaves, buffer]


def outcome(step: Any, tensors: list[Any]) -> Any:
    """What a call leaves, or its error."""
    try:
        result = flat(step())
    except Exception as error:
        return f"{type(error).__name__}: {error}".partition("\n")[0]
    return result + flat([(t, t.grad, t._version) for t in tensors])


BLOCKS = [
    range(6),
    *(pytest.param(range(n, n + 40), marks=pytest.mark.slow) for n in range(0, 480, 40)),
]


@pytest.mark.parametrize("outside", [False, True], ids=["whole", "outside"])
@pytest.mark.parametrize("seeds", BLOCKS, ids=str)
def test_random_programs(seeds: range, outside: bool) -> None:
    compiled_count = 0
    for seed in seeds:
        lines = program(seed)
        (plain, end, state), (forward, finish, own) = scene(lines, seed), scene(lines, seed)

        def whole(forward: Any = forward, finish: Any = finish) -> Any:
            return finish(*forward())

        compiled = torch.compile(forward if outside else whole)

        def step(compiled: Any = compiled, finish: Any = finish) -> Any:
            return finish(*compiled()) if outside else compiled()

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for n in range(7):
                torch.manual_seed(n)
                expected = outcome(lambda: end(*plain()), state)
                torch.manual_seed(n)
                found = outcome(step, own)
                assert found == expected, f"program {seed}, call {n}: {lines}"
        problem = compiled.report().problem
        assert problem is None or "otherwise" not in problem, f"program {seed}: {problem}"
        compiled_count += bool(compiled.report().plans)
    assert compiled_count >= len(seeds) / 2
