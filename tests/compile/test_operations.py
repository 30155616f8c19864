"""Every operation of the table, forward and backward, compiled and not, bit by bit.

Compiled is all of it, or the operation alone, whose gradients are then asked for outside.
"""

import warnings
from typing import Any

import numpy as np
import pytest

import nanotorch as torch
from tests.compile.beside import flat
from tests.ops.samples import TABLE
from tests.ops.sampling import Call, Row, Sample, find, is_inplace, weights_like


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


def turn(call: Any) -> None:
    """Let the elements of the inputs change places, so that no replay sees the same twice."""
    for tensor in call.leaves:
        array = tensor.detach().numpy()
        array[...] = np.roll(array.reshape(-1), 1).reshape(array.shape)


def outcome(step: Any, call: Any) -> Any:
    """What a call returns and leaves, or its error."""
    for leaf in call.leaves:
        leaf.grad = None
    try:
        result = flat(step())
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return result + flat([leaf.grad for leaf in call.leaves])


def compiled_beside(name: str, row: Row, sample: Sample, outside: bool) -> str | None:
    """Compare six calls; why the step was not compiled, if so."""
    (plain, end, plain_call), (forward, finish, call) = (scene(name, row, sample) for _ in range(2))
    leaves = call.leaves

    def whole() -> Any:
        for leaf in leaves:
            leaf.grad = None
        return finish(forward())

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = torch.compile(forward if outside else whole)
        step = (lambda: finish(compiled())) if outside else compiled
        for n in range(6):
            state = torch.get_rng_state()
            expected = outcome(lambda: end(plain()), plain_call)
            torch.set_rng_state(state)
            found = outcome(step, call)
            assert found == expected, f"{name}({sample}), call {n}"
            turn(plain_call)
            turn(call)
    problem: str | None = compiled.report().problem
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


@pytest.mark.parametrize("outside", [False, True], ids=["whole", "outside"])
@pytest.mark.parametrize("name", sorted(CORE & set(TABLE)))
def test_the_operation(name: str, outside: bool) -> None:
    try_samples(name, 1, outside)


@pytest.mark.slow
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
        problem = compiled_beside(name, row, sample, outside)
        if problem is not None:
            problems.append(f"{sample}: {problem}")
    # A result by itself may be a view of an input, or several with names.
    problems = [p for p in problems if not (outside and "it returns a" in p)]
    if problems and name in CORE:
        pytest.fail(f"{name} is not compiled: {problems[0]}")
