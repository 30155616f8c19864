"""Each exercise: right answers pass, and each wrong answer gets the hint that fits it."""

import re

import pytest

from nanotorch.learn import Exercise, Part, exercise, exercises, run

MISTAKES = [(each, mistake) for each in exercises() for mistake in each.mistakes]


def named(value: object) -> str:
    return value.path.stem if isinstance(value, Exercise) else ""


def flat(text: str) -> str:
    return " ".join(text.split())


def test_the_numbers_count_up() -> None:
    assert [each.number for each in exercises()] == list(range(1, len(exercises()) + 1))
    assert len(exercises()) >= 12


@pytest.mark.parametrize("exercise", exercises(), ids=named)
def test_the_solution_passes(exercise: Exercise) -> None:
    report = run(exercise, exercise.part("Solution").code)
    assert report, report
    assert report.passed


@pytest.mark.parametrize(("exercise", "mistake"), MISTAKES, ids=named)
def test_a_mistake_fails_and_gets_its_own_hint(exercise: Exercise, mistake: Part) -> None:
    report = run(exercise, mistake.code)
    assert not report
    assert report.hint == mistake.prose, report
    assert flat(f"Hint: {mistake.prose}") in flat(repr(report))


@pytest.mark.parametrize("exercise", exercises(), ids=named)
def test_the_file_as_it_is_written_fails_with_a_hint(exercise: Exercise) -> None:
    report = run(exercise, exercise.template)
    assert not report
    assert report.hint in (exercise.part("Hint").prose, exercise.mistakes[0].prose)


@pytest.mark.parametrize("exercise", exercises(), ids=named)
def test_it_fits_the_terminal(exercise: Exercise) -> None:
    shown = [exercise.template, *(part.prose for part in exercise.parts)]
    shown += [repr(run(exercise, part.code)) for part in exercise.parts if part.code]
    wide = [line for text in shown for line in text.splitlines() if len(line) > 80]
    assert not wide


RIGHT = """
1
def slope(at):
    x = torch.tensor([at], requires_grad=True)
    (x * x + torch.sin(2 * x)).backward()
    return x.grad.item()
1
def slope(at):
    x = torch.tensor(at, dtype=torch.float64, requires_grad=True)
    return torch.autograd.grad(x**2 + (2 * x).sin(), x)[0]
2
def by_hand(w, b, x, target):
    p = 1 / (1 + torch.exp(-(w * x + b)))
    g = (2 * p - 2 * target) * (p - p**2)
    return [g.item() * x.item(), g]
3
def relu_backward(g, x):
    return torch.where(x > 0, g, 0.0)
3
def relu_backward(g, x):
    g = g.clone()
    g[x <= 0] = 0
    return g
4
A, B, C, D, E = (5.0, 4.0), (9, 9), (5, None), (5, None), [torch.tensor(9.0), None]
5
def descend(steps):
    x = torch.tensor(0.0, requires_grad=True)
    for _ in range(steps):
        if x.grad is not None:
            x.grad.zero_()
        ((x - 3) ** 2).backward()
        x.data -= 0.1 * x.grad
    return x
5
def descend(steps):
    x = torch.tensor(0.0, requires_grad=True)
    optimizer = torch.optim.SGD([x], lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        ((x - 3) ** 2).backward()
        optimizer.step()
    return x.item()
6
def step(x, lr):
    x.data.add_(x.grad, alpha=-lr)
6
def step(x, lr):
    with torch.no_grad():
        x.copy_(x - lr * x.grad)
        x.grad.zero_()
7
def loss(w, x):
    y = w * x
    with torch.no_grad():
        target = 0.5 * y + 1
    return (y - target) ** 2
7
def loss(w, x):
    return (w * x - (0.5 * (w * x).item() + 1)) ** 2
8
def row(f, at, i):
    x = at.clone().requires_grad_()
    f(x)[i].backward()
    return x.grad
8
def row(f, at, i):
    return torch.autograd.functional.jacobian(f, at)[i]
9
def gradients(trunk, x):
    h = trunk(x)
    (second,) = torch.autograd.grad(h.sum(), x, retain_graph=True)
    (first,) = torch.autograd.grad((h * h).sum(), x)
    return [first, second]
9
def gradients(trunk, x):
    h = trunk(x)
    (h * h).sum().backward(retain_graph=True)
    first = x.grad.clone()
    x.grad.zero_()
    h.sum().backward()
    return first, x.grad
10
def softplus_sum(x):
    return torch.log1p(torch.exp(x)).sum()
10
def softplus_sum(x):
    y = torch.exp(x).clone()
    y += 1
    return torch.log(y).sum()
11
def powers(x, n):
    s = torch.ones(n)
    for i in range(1, n):
        s[i] = s[i - 1].clone() * x
    return s
11
def powers(x, n):
    return x ** torch.arange(n)
12
def first():
    x = torch.ones(3, requires_grad=True) * 2
    x.retain_grad()
    return (x * x).sum(), x
def second():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    return (x * x).sum(), x
def third():
    x = torch.tensor([1.0, 2.0]).double().requires_grad_()
    return (x * x).sum(), x
13
def clip(x, limit):
    def hook(grad):
        return torch.minimum(torch.maximum(grad, torch.tensor(-limit)), torch.tensor(limit))
    return x.register_hook(hook)
14
class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        s = torch.sigmoid(k * x)
        ctx.save_for_backward(x, s)
        ctx.k = k
        return x * s
    @staticmethod
    def backward(ctx, g):
        x, s = ctx.saved_tensors
        return g * s * (1 + ctx.k * x * (1 - s)), None
15
def curvature(f, at):
    return torch.func.hessian(f)(torch.tensor(at))
15
def curvature(f, at):
    x = torch.tensor(at, requires_grad=True)
    slope = torch.autograd.grad(f(x), x, create_graph=True)[0]
    slope.backward()
    return x.grad
16
from nanotorch import nn
def network():
    layers = []
    for _ in range(20):
        layer = nn.Linear(16, 16)
        nn.init.xavier_normal_(layer.weight, gain=5 / 3)
        layers += [layer, nn.Tanh()]
    return nn.Sequential(*layers)
17
class Momentum:
    def __init__(self, x, lr, momentum):
        self.x, self.lr, self.m, self.v = x, lr, momentum, 0
    def step(self):
        self.v = self.m * self.v - self.lr * self.x.grad
        self.x.data += self.v
    def zero_grad(self):
        if self.x.grad is not None:
            self.x.grad.zero_()
18
def logsumexp(x):
    m = max(x)
    return (x - m).exp().sum().log() + m
18
def logsumexp(x):
    total = x[0]
    for each in x[1:]:
        total = torch.logaddexp(total, each)
    return total
"""


def answers() -> list[tuple[int, str]]:
    parts = re.split(r"^(\d+)\n", RIGHT.lstrip(), flags=re.MULTILINE)[1:]
    return [(int(number), source) for number, source in zip(parts[::2], parts[1::2], strict=True)]


@pytest.mark.parametrize(("number", "source"), answers())
def test_other_right_answers_pass(number: int, source: str) -> None:
    report = run(exercise(number), source)
    assert report, report
