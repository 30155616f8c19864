"""Steps of other kinds that are captured: several functions of one model, named batches, ..."""

import functools
from collections import namedtuple
from typing import Any

import nanotorch as torch
from nanotorch import nn, optim
from nanotorch.nn import functional as F
from tests.compile.beside import array, compare, flat


def switching() -> Any:
    """A step that trains and a function that evaluates; each sets the mode that it needs."""
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 2))
    optimizer = optim.Adam(model.parameters(), lr=0.01)

    def train(x: Any) -> Any:
        model.train()
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()
        return loss

    @torch.no_grad()
    def evaluate(x: Any) -> Any:
        model.eval()
        return model(x).pow(2).mean()

    return model, train, evaluate


def test_steps_that_switch_between_training_and_evaluation() -> None:
    torch.manual_seed(0)
    model, *plain = switching()
    torch.manual_seed(0)
    other, *functions = switching()
    compiled = [torch.compile(function, fullgraph=True) for function in functions]
    for n in range(20):
        x, drawn = array(6, 4, seed=n), torch.get_rng_state()
        expected = [flat(function(x)) for function in plain[: 1 + n % 2]]
        torch.set_rng_state(drawn)
        assert [flat(function(x)) for function in compiled[: 1 + n % 2]] == expected
        assert [m.training for m in model.modules()] == [m.training for m in other.modules()]
    assert all(function.report().plans for function in compiled)


def test_more_code_comes_to_be_called() -> None:
    """A branch that is taken now and then, and calls what was not called before."""

    def make() -> Any:
        model = nn.Linear(4, 2)
        optimizer = optim.AdamW(model.parameters(), lr=0.01)

        def step(x: Any, last: bool) -> Any:
            loss = model(x).pow(2).mean()
            loss.backward()
            if last:
                optimizer.step()
                optimizer.zero_grad()
            return loss

        return step, lambda: list(model.parameters())

    compare(make, calls=30, arguments=lambda n: (array(6, 4, seed=n), n % 4 == 3))


def test_a_compiled_function_inside_another() -> None:
    def make() -> Any:
        model = nn.Linear(4, 2)
        inner = torch.compile(lambda x: torch.tanh(model(x)).detach() * 2)

        def step(x: Any) -> Any:
            model.zero_grad()
            loss = (model(x) - inner(x)).pow(2).mean()
            loss.backward()
            return loss

        for n in range(5):  # it has replays of its own
            inner(array(6, 4, seed=n))
        return step, lambda: list(model.parameters())

    compare(make, arguments=lambda n: (array(6, 4, seed=n),))


def test_batches_with_names() -> None:
    batch = namedtuple("batch", "x y")

    def make() -> Any:
        model = nn.Linear(4, 2)

        def step(both: Any) -> Any:
            model.zero_grad()
            loss = F.mse_loss(model(both.x), both.y)
            loss.backward()
            return loss

        return step, lambda: list(model.parameters())

    compare(make, arguments=lambda n: (batch(array(6, 4, seed=n), array(6, 2, seed=n + 1)),))


def test_an_attribute_that_is_computed_once() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(4, 2)

        @functools.cached_property
        def scale(self) -> float:
            return 2.0

        def forward(self, x: Any) -> Any:
            return self.inner(x) * self.scale

    models: list[Any] = []

    def make() -> Any:
        model = Net()
        models.append(model)

        def step(x: Any) -> Any:
            model.zero_grad()
            loss = model(x).pow(2).mean()
            loss.backward()
            return loss

        return step, lambda: list(model.parameters())

    def change(n: int, step: Any) -> None:
        if n == 6:
            for model in models:
                vars(model)["scale"] = 3.0

    compare(make, calls=12, arguments=lambda n: (array(6, 4),), between=change)
