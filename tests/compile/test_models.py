"""Compiled steps beside the steps themselves: models, operations, several functions."""

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nanotorch as torch
from nanotorch import nn, optim
from nanotorch.nn import functional as F
from tests.compile.beside import alike, array, compare, in_two, of_leaf, outcome, usual
from tests.ops.samples import TABLE
from tests.ops.sampling import Call, Row, Sample, find, is_inplace, weights_like

# What the models are made of, each loss among it, is asked in `test_operations`; the optimizers in
# `tests/optim/test_compiled.py`; smaller models in `test_joint.py`.

VOCABULARY, LENGTH, SIZE = 7, 5, 8


class Recurrent(nn.Module):
    """Characters in, characters out."""

    def __init__(self, kind: Any, **options: Any) -> None:
        super().__init__()
        self.table = nn.Embedding(VOCABULARY, SIZE)
        self.layers = kind(SIZE, SIZE, batch_first=True, **options)
        width = self.layers.proj_size or SIZE
        self.out = nn.Linear(width * (1 + self.layers.bidirectional), VOCABULARY)

    def forward(self, x: Any) -> Any:
        return self.out(self.layers(self.table(x))[0])


class Cell(nn.Module):
    """A loop over the steps, written by hand."""

    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.table, self.cell = nn.Embedding(VOCABULARY, SIZE), kind(SIZE, SIZE)
        self.out = nn.Linear(SIZE, VOCABULARY)

    def forward(self, x: Any) -> Any:
        state, outputs = None, []
        for step in self.table(x).unbind(1):
            state = self.cell(step, state)
            outputs.append(state[0] if isinstance(state, tuple) else state)
        return self.out(torch.stack(outputs, 1))


class Attending(nn.Module):
    """Two layers of attention to what came before."""

    def __init__(self, hint: bool = True, **options: Any) -> None:
        super().__init__()
        self.table, self.places = nn.Embedding(VOCABULARY, SIZE), nn.Embedding(LENGTH, SIZE)
        layer = nn.TransformerEncoderLayer(SIZE, 2, 16, batch_first=True, **options)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.norm, self.out = nn.LayerNorm(SIZE), nn.Linear(SIZE, VOCABULARY)
        mask = nn.Transformer.generate_square_subsequent_mask(LENGTH)
        self.register_buffer("mask", mask)
        self.hint = hint

    def forward(self, x: Any) -> Any:
        x = self.table(x) + self.places(torch.arange(LENGTH))
        return self.out(self.norm(self.encoder(x, mask=self.mask, is_causal=self.hint or None)))


WINDOWS: dict[str, Callable[[], nn.Module]] = {
    "two convolutions": lambda: nn.Sequential(
        nn.Conv2d(2, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 6, 3), nn.ReLU(), nn.Flatten(),
        nn.Linear(6, 3),
    ),
    "strides and groups": lambda: nn.Sequential(
        nn.Conv2d(2, 4, 3, 2, 1, groups=2, padding_mode="reflect"), nn.Tanh(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3),
    ),
    "overlapping pools": lambda: nn.Sequential(
        nn.Conv2d(2, 3, 1, padding="same"), nn.MaxPool2d(3, 2, 1), nn.AdaptiveMaxPool2d((2, 3)),
        nn.Flatten(), nn.Linear(18, 3),
    ),
    "there and back": lambda: nn.Sequential(
        nn.Conv2d(2, 3, 2, 2), nn.GELU(), nn.ConvTranspose2d(3, 2, 2, 2), nn.ZeroPad2d((0, -2)),
        nn.Upsample(scale_factor=0.5, mode="bilinear"), nn.Flatten(), nn.Linear(24, 3),
    ),
    "signals": lambda: nn.Sequential(
        nn.PixelUnshuffle(2), nn.Flatten(2), nn.Conv1d(8, 4, 3, dilation=2), nn.LeakyReLU(),
        nn.MaxPool1d(3), nn.LayerNorm(4), nn.Dropout(0.3), nn.Flatten(), nn.Linear(16, 3),
    ),
}  # fmt: skip
SEQUENCES: dict[str, Callable[[], nn.Module]] = {
    "lstm": lambda: Recurrent(nn.LSTM, num_layers=2, dropout=0.3),
    "both ways": lambda: Recurrent(nn.LSTM, num_layers=2, bidirectional=True, proj_size=3),
    "gru": lambda: Recurrent(nn.GRU, num_layers=2),
    "rnn": lambda: Recurrent(nn.RNN, nonlinearity="relu"),
    "lstm cell": lambda: Cell(nn.LSTMCell),
    "gru cell": lambda: Cell(nn.GRUCell),
    "rnn cell": lambda: Cell(nn.RNNCell),
    "transformer": lambda: Attending(dropout=0.2),
    "norm first, gelu": lambda: Attending(dropout=0.0, norm_first=True, activation="gelu"),
    "no hint": lambda: Attending(hint=False, dropout=0.0),
}
USUAL = (*WINDOWS, "lstm", "gru cell", "transformer")


MARKS = {name: [pytest.mark.slow] for name in (WINDOWS | SEQUENCES).keys() - {*USUAL}}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=MARKS.get(n, ())) for n in WINDOWS | SEQUENCES]
)
def test_models(name: str) -> None:
    numbers = torch.arange(3 * LENGTH + 1)
    text = (numbers * numbers + 2 * numbers) % VOCABULARY
    x, y = text[:-1].reshape(3, LENGTH), text[1:]
    if name in WINDOWS:
        x, y = array(5, 2, 8, 8), array(5, 3, seed=1).argmax(1)

    def make() -> Any:
        model = (WINDOWS | SEQUENCES)[name]()
        optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        return usual(model, optimizer, lambda: F.cross_entropy(model(x).flatten(0, -2), y))

    compare(make)


def nan_in_a_window() -> Any:
    """Whether there is one is asked anew at every replay."""
    return of_leaf(lambda w, value: F.max_pool2d(w * value, 2), 1, 1, 4, 4)


VALUES = [1.0, 2.0, 1.0, 3.0, float("nan"), 1.0, float("inf"), 2.0]


def states_from_batch_to_batch() -> Any:
    """The state goes on, without its history, as truncated training does."""
    layer, x = nn.LSTM(4, 4), array(3, 2, 4)
    held = [torch.zeros(1, 2, 4), torch.zeros(1, 2, 4)]
    step, state = usual(layer, optim.SGD(layer.parameters(), lr=0.1), lambda: loss(layer))

    def loss(layer: Any) -> Any:
        out, (h, c) = layer(x, (held[0].clone(), held[1].clone()))
        held[0].copy_(h.detach())
        held[1].copy_(c.detach())
        return (out**2).sum()

    return step, lambda: [*state(), *held]


def more_code_comes_to_be_called() -> Any:
    """A branch that is taken now and then, and calls what was not called before."""
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


def a_compiled_function_inside_another() -> Any:
    model = nn.Linear(4, 2)
    inner = torch.compile(lambda x: torch.tanh(model(x)).detach() * 2)
    for n in range(5):  # it has replays of its own
        inner(array(6, 4, seed=n))
    return usual(model, None, lambda x: (model(x) - inner(x)).pow(2).mean())


Batch = namedtuple("Batch", "x y")


def batches_with_names() -> Any:
    model = nn.Linear(4, 2)
    return usual(model, None, lambda both: F.mse_loss(model(both.x), both.y))


def an_index_that_is_computed() -> Any:
    return of_leaf(lambda w, x: w[x.argmax(1)].pow(2), 5, 3)


@pytest.mark.parametrize(
    ("make", "calls", "arguments"),
    [
        (an_index_that_is_computed, 8, lambda n: (array(4, 5, seed=n),)),
        (nan_in_a_window, 8, lambda n: (torch.full((1, 1, 4, 4), VALUES[n]),)),
        (states_from_batch_to_batch, 8, lambda n: ()),
        (more_code_comes_to_be_called, 30, lambda n: (array(6, 4, seed=n), n % 4 == 3)),
        (a_compiled_function_inside_another, 8, lambda n: (array(6, 4, seed=n),)),
        (batches_with_names, 8, lambda n: (Batch(array(6, 4, seed=n), array(6, 2, seed=n + 1)),)),
    ],
)
def test_steps_of_other_kinds(make: Any, calls: int, arguments: Any) -> None:
    compare(make, calls, arguments)


@pytest.mark.filterwarnings("ignore:nanotorch.compile runs `step` as it is")
def test_sequences_of_different_lengths_run_as_they_are() -> None:
    """Lengths are values of tensors, which decide what is computed."""

    def make() -> Any:
        layer, rnn = nn.GRU(4, 4), nn.utils.rnn
        x, lengths = array(3, 2, 4), torch.tensor([2, 3])

        def loss() -> Any:
            packed = rnn.pack_padded_sequence(x, lengths, enforce_sorted=False)
            return (rnn.pad_packed_sequence(layer(packed)[0])[0] ** 2).sum()

        return usual(layer, optim.SGD(layer.parameters(), lr=0.1), loss)

    compare(make, compiles=False)


def test_steps_that_switch_between_training_and_evaluation() -> None:
    """A step that trains and a function that evaluates; each sets the mode that it needs."""

    def program(compiled: Any) -> Any:
        model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 2))
        optimizer = optim.Adam(model.parameters(), lr=0.01)

        def loss(x: Any) -> Any:
            model.train()
            return model(x).pow(2).mean()

        @torch.no_grad()
        def evaluate(x: Any) -> Any:
            model.eval()
            return model(x).pow(2).mean()

        functions = compiled(usual(model, optimizer, loss)[0]), compiled(evaluate)
        for n in range(20):
            yield [function(array(6, 4, seed=n)) for function in functions[: 1 + n % 2]]
            yield [module.training for module in model.modules()]

    alike(program)


# Calls that are replaced by faster ones give the same bits.

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


# Every operation of the table, forward and backward, compiled and not, bit by bit.
# Compiled is all of it, or the operation alone, whose gradients are then asked for outside.


def scene(name: str, row: Row, sample: Sample) -> tuple[Any, Any, Any]:
    """A function that computes the operation, one that goes backward where it can, and inputs."""
    arrays = [i.draw(n, "float32") for n, i in enumerate(sample.inputs())]
    if row.call is None:
        function = find(torch, name)
    else:

        def function(*args: Any, **kwargs: Any) -> Any:
            return row.call(torch, *args, **kwargs)  # type: ignore[misc]

    call = Call(torch, function, sample, arrays, torch.tensor, inplace=is_inplace(name))
    weights = [
        torch.tensor(weights_like(o.shape, "weight", n).astype(np.float32))
        for n, o in enumerate(call())
        if isinstance(o, torch.Tensor)
    ]
    args, kwargs, inplace = call.args, call.kwargs, call.inplace

    def forward() -> Any:
        given = (args[0].clone(), *args[1:]) if inplace else args
        result = function(*given, **kwargs)
        return given[0] if inplace else result

    def finish(result: Any) -> Any:
        outs = list(result) if isinstance(result, (tuple, list)) else [result]
        outs = [o for o in outs if isinstance(o, torch.Tensor)]
        losses = [
            (o * w).sum() for o, w in zip(outs, weights, strict=True)
            if o.requires_grad and o.is_floating_point()
        ]  # fmt: skip
        if losses:
            sum(losses).backward()
        return [o.detach().clone() for o in outs] or result

    return forward, finish, call


def problem_of(name: str, row: Row, sample: Sample, outside: bool) -> str | None:
    """Compare six calls; why the step was not compiled, if so."""

    def calls(compiled: Any) -> Any:
        forward, finish, call = scene(name, row, sample)

        def first() -> Any:
            for leaf in call.leaves:
                leaf.grad = None
            return forward()

        step = in_two(compiled, first, finish, not outside)
        for _ in range(6):
            yield [outcome(step), [leaf.grad for leaf in call.leaves]]
            for tensor in call.leaves:  # other elements each time
                array = tensor.detach().numpy()
                array[...] = np.roll(array.reshape(-1), 1).reshape(array.shape)

    (function,) = alike(calls, fullgraph=False, compiles=None)
    problem: str | None = function.report().problem
    return problem


# What models are made of has to be compiled; other operations may look at values.
CORE = {
    "abs", "adaptive_avg_pool2d", "add", "addmm", "amax", "argmax", "avg_pool2d",
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "bmm", "cat", "clamp", "clone",
    "conv1d", "conv2d", "conv_transpose2d", "cos", "cross_entropy", "cumsum", "div", "einsum",
    "elu", "exp", "expand", "flatten", "gather", "gelu", "huber_loss", "index_select",
    "interpolate", "l1_loss", "layer_norm", "leaky_relu", "log", "log_softmax", "logsumexp",
    "masked_fill", "matmul", "max", "max_pool2d", "maximum", "mean", "mm", "mse_loss", "mul", "neg",
    "nll_loss", "norm", "pad", "permute", "pow", "prod", "relu", "reshape", "select", "sigmoid",
    "silu", "sin", "smooth_l1_loss", "softmax", "softplus", "split", "sqrt", "square", "squeeze",
    "stack", "std", "sub", "sum", "t", "tanh", "transpose", "unbind", "unsqueeze", "var", "view",
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("outside", [False, True], ids=["whole", "outside"])
@pytest.mark.parametrize("name", sorted(CORE & set(TABLE)))
def test_the_operation(name: str, outside: bool) -> None:
    try_samples(name, 1, outside)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("outside", [False, True], ids=["whole", "outside"])
@pytest.mark.parametrize("name", TABLE)
def test_the_operation_in_all_its_forms(name: str, outside: bool) -> None:
    try_samples(name, len(TABLE[name].samples), outside)


def try_samples(name: str, count: int, outside: bool) -> None:
    """The first samples that succeed; most operations are compiled in all forms."""
    row = TABLE[name]
    if row.torch is None and row.call is None:
        return  # not a function of the package
    problems = []
    for sample in [s for s in row.samples if s.fails is False][:count]:
        problem = problem_of(name, row, sample, outside)
        if problem is not None:
            problems.append(f"{sample}: {problem}")
    # A result by itself may be a view of an input, or several with names.
    problems = [p for p in problems if not (outside and "it returns a" in p)]
    if problems and name in CORE:
        pytest.fail(f"{name} is not compiled: {problems[0]}")
