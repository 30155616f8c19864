"""The tensor itself: attributes, conversions, operators, and the errors they raise."""

import copy
import pickle
from typing import Any

import numpy as np

from tests.answers import name_of, raised, told, warned


def attributes(torch: Any) -> Any:
    tensors = [
        torch.ones(2, 3), torch.ones(()), torch.ones(0, 4), torch.ones(2, dtype=torch.int64),
        torch.ones(2, 3).t(), torch.ones(3, dtype=torch.bool),
        torch.ones(2, 4, dtype=torch.float16)[:, ::2],
    ]  # fmt: skip
    return [
        [
            t.shape, t.size(), t.dtype, t.ndim, t.dim(), t.numel(), t.nelement(), list(t.stride()),
            t.is_contiguous(), t.itemsize, t.element_size(), t.nbytes, t.is_floating_point(),
            t.is_complex(), str(t.device), t.is_cuda, t.requires_grad, t.is_leaf
        ]
        for t in tensors
    ]  # fmt: skip


def sizes(torch: Any) -> Any:
    t = torch.ones(2, 3, 4)
    return [
        t.size(0), t.size(-1), t.size(dim=1), raised(lambda: t.size(3)), raised(lambda: t.size(-4)),
        raised(torch.ones(()).size, 0), raised(torch.ones(()).stride, -1), t.stride(0), t.shape[1:],
        t.shape + (5,),  # noqa: RUF005 - what `+` makes of a Size is what is asked
        t.shape == (2, 3, 4), t.shape.numel(), len(t.shape), str(t.shape), torch.Size([1, 2]),
        isinstance(t.shape, tuple), torch.ones(()).shape, torch.Size((2, 3)) * 2,
    ]  # fmt: skip


def flags_of_grad(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    z = x.detach()
    x.requires_grad = True
    z.requires_grad = True
    return [[t.requires_grad, t.is_leaf, t.grad_fn is None, t.retains_grad] for t in (x, y, z)] + [
        raised(lambda: setattr(y, "requires_grad", False)),
        x.requires_grad_(False).requires_grad,
        torch.ones(2).requires_grad_().requires_grad,
    ]


def grad_of_inner_tensors(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    return [warned(lambda: y.grad), warned(lambda: x.grad), y.retain_grad(), warned(lambda: y.grad)]


def assigned_grads(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)

    def assign(value: Any) -> str:
        return raised(lambda: setattr(x, "grad", value))

    texts = [
        assign(3), assign(torch.ones(3)), assign(torch.ones(2, dtype=torch.float64)),
        assign(torch.ones(2, dtype=torch.int64)), assign(x), assign([1.0, 2.0]),
        assign(torch.tensor([3.0, 4.0])),
    ]  # fmt: skip
    (x * 2).sum().backward()
    with_sum = told(x.grad)
    del x.grad
    return [texts, with_sum, x.grad]


def items(torch: Any) -> Any:
    return [
        torch.tensor(2.5).item(), torch.tensor([[3]]).item(), torch.tensor(True).item(),
        raised(torch.ones(2).item), raised(torch.ones(0).item), torch.ones(2, 2).tolist(),
        torch.tensor(1).tolist(), torch.ones(0).tolist(), float(torch.tensor([2.0])),
        int(torch.tensor(2.7)), bool(torch.tensor([0.0])), raised(lambda: float(torch.ones(2))),
        raised(lambda: int(torch.ones(2))), raised(lambda: bool(torch.ones(2))),
        raised(lambda: bool(torch.ones(0))), raised(lambda: range(torch.tensor(1.0))),
        list(range(torch.tensor(3))), [10, 20, 30][torch.tensor(1)],
        raised(lambda: [1, 2][torch.ones(2, dtype=torch.int64)]),
        raised(lambda: [1, 2][torch.tensor(0.0)]),
    ]  # fmt: skip


def lengths_and_iteration(torch: Any) -> Any:
    t = torch.arange(6.0).reshape(3, 2).requires_grad_()
    rows = list(t)
    a, b, c = t
    return [
        len(t), rows, [name_of(r.grad_fn) for r in (a, b, c)],
        raised(lambda: len(torch.tensor(1.0))), raised(lambda: iter(torch.tensor(1.0))), 2.0 in t,
        9 in t, torch.tensor(3.0) in t, raised(lambda: "x" in t), list(torch.ones(0)),
    ]  # fmt: skip


def to_numpy(torch: Any) -> Any:
    x = torch.ones(2)
    array = x.numpy()
    array[0] = 7
    leaf = torch.ones(2, requires_grad=True)
    return [
        x, raised(leaf.numpy), raised(lambda: (leaf * 2).numpy()), leaf.detach().numpy().tolist(),
        leaf.numpy(force=True).tolist(), np.asarray(x).tolist(), str(np.asarray(x).dtype),
        raised(lambda: np.asarray(leaf)), str(np.asarray(x, dtype="float64").dtype),
        np.array(torch.tensor(3)).item(), str(np.array([1.0, 2.0]) @ np.asarray(x.double())),
    ]  # fmt: skip


def copies(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x * 3).sum().backward()
    twin = copy.deepcopy(x)
    pair = copy.deepcopy([x, x])
    clone = x.clone()
    loaded = pickle.loads(pickle.dumps(x.detach()))
    with torch.no_grad():
        twin.add_(1)
    return [
        twin, twin.grad, twin.is_leaf, x, pair[0] is pair[1], clone,
        raised(lambda: copy.deepcopy(x * 2)).split("  ")[0], loaded, torch.clone(x).requires_grad,
        copy.copy(x.detach()),
    ]  # fmt: skip


def formats(torch: Any) -> Any:
    x = torch.tensor(3.14159)
    return [
        f"{x:.2f}", f"{x}", f"{torch.ones(2)}", f"{torch.tensor(3):d}",
        f"{torch.tensor(2.0, requires_grad=True):.1f}", raised(lambda: f"{torch.ones(2):.2f}"),
        str(x), f"{torch.tensor([1.5])}",
    ]  # fmt: skip


def hashes(torch: Any) -> Any:
    a, b = torch.ones(1), torch.ones(1)
    return [hash(a) == hash(a), len({a, b, a}), {a: 1}[a], a in [b], a is b]


def operators(torch: Any) -> Any:
    """Every operator on every pair of kinds of operands: result or error."""
    operands = [
        torch.tensor([1.5, -2.0]), torch.tensor([3, 2]), torch.tensor([True, False]),
        torch.tensor(2.0, dtype=torch.float64), torch.tensor(3, dtype=torch.int32),
        torch.tensor([5, 200], dtype=torch.uint8), 2, -0.5, True,
    ]  # fmt: skip
    symbols = ["+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "==", "!=", "<", "<=", ">", ">="]
    answers = {}
    for symbol in symbols:
        function = eval(f"lambda a, b: a {symbol} b")
        row = []
        for a in operands:
            for b in operands:
                if isinstance(a, torch.Tensor) or isinstance(b, torch.Tensor):
                    row.append(outcome(function, a, b))
        answers[symbol] = row
    answers["unary"] = [
        outcome(function, a)
        for a in operands[:6]
        for function in (lambda a: -a, lambda a: +a, abs, lambda a: ~a)
    ]
    return answers


def outcome(function: Any, *arguments: Any) -> str:
    """The value, or the error's text."""
    try:
        result = function(*arguments)
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"
    return f"{result.dtype} {[round(v, 4) for v in result.flatten().tolist()]}"


def foreign_operands(torch: Any) -> Any:
    x = torch.ones(2)
    return [
        raised(lambda: x + "a"), raised(lambda: "a" + x), raised(lambda: x + None),
        raised(lambda: x < "a"), x == "a", x != "a",
        x == None,  # noqa: E711 - what the operator answers is what is asked
        raised(lambda: x @ 2), raised(lambda: x & 1),
    ]  # fmt: skip


def numpy_operands(torch: Any) -> Any:
    x = torch.ones(2)
    return [
        x * np.float64(2.0), np.float64(2.0) * x, np.float32(2.0) + x, x + np.int64(3),
        (x * np.float64(2.0)).dtype, type(np.float64(2.0) * x).__name__,
        type(np.int64(2) - x).__name__,
    ]  # fmt: skip


def data_pointers(torch: Any) -> Any:
    x = torch.ones(4)
    return [
        x.data_ptr() == x.view(2, 2).data_ptr(), x[1:].data_ptr() - x.data_ptr(),
        x.clone().data_ptr() == x.data_ptr(), x.detach().data_ptr() == x.data_ptr(),
        x.data.data_ptr() == x.data_ptr(),
    ]  # fmt: skip


def devices(torch: Any) -> Any:
    x = torch.ones(2)
    return [
        str(x.device), repr(x.device), x.device.type, x.cpu() is x, x.to("cpu") is x,
        x.get_device(), x.device == torch.device("cpu"), torch.ones(1, device="cpu"),
    ]  # fmt: skip


def constructor(torch: Any) -> Any:
    return [
        torch.Tensor([1, 2]), torch.Tensor(2, 3).shape, torch.Tensor([[1.5]]).dtype,
        torch.Tensor(torch.ones(2)), torch.Tensor().shape, isinstance(torch.ones(1), torch.Tensor),
        torch.is_tensor(torch.ones(1)), torch.is_tensor([1]),
    ]  # fmt: skip
