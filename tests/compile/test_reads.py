"""What Python reads of tensors - values, lengths, places in memory - is what it is at each call."""

import copy
import operator
import pickle
import random
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nanotorch as torch
from nanotorch.nn import functional as F
from tests.compile.beside import array, caught, flat

CALLS = 10
Read = Callable[[Any, Any], Any]

READS: dict[str, Read] = {
    "slice": lambda w, x: w[: x.argmax() + 1],
    "stride": lambda w, x: w[:: x.argmax() + 1],
    "index": lambda w, x: w[x.argmax()],
    "index of a list": lambda w, x: w * [1.0, 2.0, 3.0][x.argmax()],
    "key": lambda w, x: w * {0: 1.0, 1: 2.0, 2: 3.0}[int(x.argmax())],
    "operator.index": lambda w, x: w * operator.index(x.argmax()),
    "range": lambda w, x: sum(w * n for n in range(x.argmax() + 1)),
    "shape": lambda w, x: w.sum() * torch.ones(x.argmax() + 1).sum(),
    "expand": lambda w, x: w.expand(x.argmax() + 1, 3),
    "repeat": lambda w, x: w.repeat(int(x.argmax()) + 1),
    "int": lambda w, x: w * int(x[0] * 10),
    "float": lambda w, x: w * float(x[0]),
    "complex": lambda w, x: w * abs(complex(x[0])),
    "bool": lambda w, x: w * (2.0 if x[0] > 0 else 3.0),
    "and": lambda w, x: w * (2.0 if x[0] > 0 and x[1] > 0 else 3.0),
    "equal": lambda w, x: w * (2.0 if x[0] == x[1] else 3.0),
    "max": lambda w, x: w * max(x[0], x[1]),
    "sorted": lambda w, x: w * sorted(x)[0],
    "item": lambda w, x: w * x[0].item(),
    "tolist": lambda w, x: w * x.tolist()[0],
    "round": lambda w, x: w * round(float(x[0]), 1),
    "format": lambda w, x: w * float(f"{x[0]:.2f}"),
    "repr": lambda w, x: w * len(repr(x * 100)),
    "in": lambda w, x: w * (2.0 if 0.5 in x else 3.0),
    "iteration": lambda w, x: sum(w * part for part in x),
    "unpacking": lambda w, x: (lambda a, b, c: w * a + b * c)(*x),
    "numpy": lambda w, x: w * float(x.numpy()[0]),
    "numpy again": lambda w, x: w * torch.from_numpy(np.exp(x.numpy())),
    "numpy of a tensor": lambda w, x: w * torch.as_tensor(np.asarray(x) * 2),
    "writing to numpy": lambda w, x: (x.numpy().__setitem__(0, 5.0), w * x)[1],
    "bytes": lambda w, x: w * x.numpy().tobytes()[3],
    "memoryview": lambda w, x: w * float(memoryview(x.numpy())[0]),
    "tensors in a list": lambda w, x: w * torch.tensor([x[0], x[1], x[2]]),
    "fill value": lambda w, x: w * torch.full((3,), x[0]),
    "alpha": lambda w, x: w.add(w, alpha=x[0].item()),
    "bound": lambda w, x: w.clamp(max=x[0]),
    "rate of dropout": lambda w, x: F.dropout(w, float(x[0].sigmoid())),
    "all close": lambda w, x: w * (2.0 if torch.allclose(x, x.round(), atol=0.5) else 3.0),
    "deep copy": lambda w, x: w * copy.deepcopy(x),
    "deep copy of a view": lambda w, x: w * copy.deepcopy(x[:1]),
    "deep copy of a result": lambda w, x: w * copy.deepcopy((x * 2).detach()[1:2]),
    "deep copies that share memory": lambda w, x: shared(w, *copy.deepcopy([x, x[:2]])),
    "copy": lambda w, x: w * copy.copy(x),
    "pickle": lambda w, x: w * pickle.loads(pickle.dumps(x)),
    "storage": lambda w, x: w * x.untyped_storage()[3],
    "bytes of a storage": lambda w, x: w * len(x[1:].untyped_storage()),
    "pointer": lambda w, x: w * (2.0 if x[1:].data_ptr() == x.data_ptr() + 4 else 3.0),
    "pointers": lambda w, x: w * (2.0 if (x * 1).data_ptr() == x.data_ptr() else 3.0),
    "same storage": lambda w, x: (
        w * (2.0 if x[1:].untyped_storage().data_ptr() == x.data_ptr() else 3.0)
    ),
    "unique": lambda w, x: w * len(torch.unique(x.round())),
    "unique, sum": lambda w, x: w * torch.unique(x.round()).sum(),
    "unique, runs": lambda w, x: w * torch.unique_consecutive(x > 0).shape[0],
    "mask": lambda w, x: w[x > 0],
    "nonzero": lambda w, x: w[x.nonzero()],
    "bins": lambda w, x: w * torch.bincount(x.abs().long()).sum(),
    "repeats": lambda w, x: torch.repeat_interleave(w, x.abs().long()),
    "split": lambda w, x: w.split([1 + int(x[0] > 0), 2 - int(x[0] > 0)])[0],
    "random.random": lambda w, x: w * random.random(),
    "random.randint": lambda w, x: w * random.randint(1, 9),
    "random.shuffle": lambda w, x: w * shuffled([1.0, 2.0, 3.0])[0],
    "numpy.random": lambda w, x: w * np.random.rand(),  # noqa: NPY002
    "rarely": lambda w, x: w * (random.uniform(1, 2) if RARE["now"] else 1.0),
    "time": lambda w, x: w * (1.0 if time.time() > 0 else 2.0),
    "a random branch": lambda w, x: w * (2.0 if torch.rand(()) < 0.5 else 3.0),
}
RARE = {"now": False}


def shuffled(values: list[float]) -> list[float]:
    random.shuffle(values)
    return values


def shared(w: Any, whole: Any, part: Any) -> Any:
    """A product with a copy whose part has been changed."""
    part.mul_(3)
    return w * whole


def of_an_argument(read: Read) -> tuple[Any, Callable[[int], tuple[Any, ...]]]:
    w = array(3).requires_grad_()

    def step(x: Any) -> Any:
        w.grad = None
        loss = read(w, x).sum() + (w * w).sum()
        loss.backward()
        return loss, w.grad

    return step, lambda n: (array(3, seed=n),)


def of_a_variable(read: Read) -> tuple[Any, Callable[[int], tuple[Any, ...]]]:
    w, x = array(3).requires_grad_(), array(3, seed=5)

    def step() -> Any:
        w.grad = None
        loss = read(w, x).sum() + (w * w).sum()
        loss.backward()
        return loss, w.grad

    def change(n: int) -> tuple[Any, ...]:
        x.copy_(array(3, seed=n))
        return ()

    return step, change


@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize("scene", [of_an_argument, of_a_variable])
def test_what_is_read(name: str, scene: Any) -> None:
    outcomes = []
    for compiled in (False, True):
        torch.manual_seed(0)
        random.seed(0)
        np.random.seed(0)  # noqa: NPY002
        step, arguments = scene(READS[name])
        function = torch.compile(step) if compiled else step
        found: list[Any] = []

        def run(found: list[Any] = found, function: Any = function, of: Any = arguments) -> None:
            for n in range(CALLS):
                RARE["now"] = n > 6
                try:
                    found.append(flat(function(*of(n))))
                except Exception as error:
                    found.append([type(error), str(error)])

        warned = [text for text in caught(run) if "runs `" in text]
        assert len(warned) <= compiled
        assert all(f"{Path(__file__).name}:" in text for text in warned), warned
        outcomes.append(found)
    assert outcomes[0] == outcomes[1]


def test_a_kernel_whose_shape_comes_to_be_another() -> None:
    """A kernel that nobody knows to be of no fixed shape: the step runs as it is where it is."""
    recorder: Any = __import__("nanotorch.compile.recorder", fromlist=["OF_NO_FIXED_SHAPE"])
    known = set(recorder.OF_NO_FIXED_SHAPE)
    recorder.OF_NO_FIXED_SHAPE.clear()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            step = torch.compile(lambda x: torch.unique(x).sum(), fullgraph=True)
            rows = [(1, 2, 2), (3, 4, 4), (6, 7, 7), (8, 9, 9), (1, 1, 1), (1, 2, 3), (5, 6, 6)]
            lists = [[float(part) for part in row] for row in rows]
            for values in lists * 2:
                assert step(torch.tensor(values)).item() == sum(set(values))
    finally:
        recorder.OF_NO_FIXED_SHAPE |= known
    assert step.report().plans
