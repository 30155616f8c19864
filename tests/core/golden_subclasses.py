"""Subclasses of `Tensor`, which their `__torch_function__` is asked about."""

import importlib
from typing import Any

from tests.answers import raised


def _logging(torch: Any) -> Any:
    calls: list[str] = []

    class Log(torch.Tensor):
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            calls.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    return Log, calls


def _kinds(result: Any) -> Any:
    if isinstance(result, tuple) and type(result).__name__ != "Size":
        return [type(part).__name__ for part in result]
    return type(result).__name__


def asked(torch: Any) -> Any:
    kind, calls = _logging(torch)
    x = torch.tensor([1.0, 2.0]).as_subclass(kind)
    uses = [
        lambda: x + 1, lambda: 1 + x, lambda: x * torch.ones(2), lambda: torch.ones(2) * x,
        lambda: x.exp(), lambda: torch.exp(x), lambda: x.sum(), lambda: x[0], lambda: x.max(0),
        lambda: x.add_(1), lambda: x.clone(), lambda: x.split(1), lambda: x.to(torch.float64),
        lambda: x == 1, lambda: -x, lambda: x @ x, lambda: x.size(), lambda: x.tolist(),
        lambda: x.detach(), lambda: x.requires_grad_(), lambda: torch.ones(2).mul(x),
    ]  # fmt: skip
    for use in uses:
        calls.clear()
        result = use()
        yield _kinds(result), calls[:1]
    for function in (torch.nn.Linear(2, 3), lambda x: torch.cat([x, x]), lambda x: x.softmax(0)):
        yield _kinds(function(x))
    yield repr(x), repr(kind([1.0])), isinstance(x, torch.Tensor)


def properties(torch: Any) -> Any:
    """They ask as well: as functions `torch.Tensor.shape.__get__` and the like."""
    kind, calls = _logging(torch)
    x, y = torch.ones(2, 3).as_subclass(kind), torch.zeros(2, 3)
    names = ["shape", "dtype", "device", "ndim", "grad", "requires_grad", "T", "mT", "H", "data"]
    names += ["real", "grad_fn", "is_leaf", "layout", "is_cpu", "itemsize", "nbytes", "output_nr"]
    names += ["retains_grad", "is_cuda", "is_sparse", "is_quantized", "_base", "_version"]
    for name in names:
        calls.clear()
        yield name, _kinds(getattr(x, name)), calls[:]
    for name, value in (("grad", y), ("data", y), ("requires_grad", True)):
        calls.clear()
        setattr(x, name, value)
        yield name, calls[:]
    calls.clear()
    del x.grad
    yield calls[:], x.grad, x.data.sum().item()
    for use in (repr, len, list, str, dir, lambda v: 1.0 in v, lambda v: bool(v.sum() > 3)):
        calls.clear()
        use(x)
        yield calls[-1]
    with torch._C.DisableTorchFunctionSubclass():
        calls.clear()
        yield x.shape, x.grad, _kinds(x.data), calls[:]

    class Own(torch.Tensor):
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            if func == torch.Tensor.shape.__get__:
                return "shape of", [k.__name__ for k in types]
            if func == torch.Tensor.grad.__set__:
                return calls.append(repr(args[1]))
            if func == torch.Tensor.dtype.__get__:
                return NotImplemented
            return super().__torch_function__(func, types, args, kwargs or {})

    x = torch.ones(2).as_subclass(Own)
    x.grad = "one"
    yield x.shape, calls[-1], (x + 1).shape, x.ndim
    yield raised(lambda: x.dtype).partition(" for ")[0]


def inherited(torch: Any) -> Any:
    class Plain(torch.Tensor):
        pass

    class Weight(torch.nn.Parameter):
        pass

    leaf = torch.ones(2, requires_grad=True)
    x = leaf.as_subclass(Plain)
    yield repr(x), x.is_leaf, _kinds(x * 2), x.grad_fn.name()
    (x * 3).sum().backward()
    yield leaf.grad, _kinds(Weight(torch.ones(2)) * 2), _kinds(torch.nn.Parameter(leaf) * 2)
    y = torch.Tensor._make_subclass(Plain, torch.ones(2), True)
    (y * 3).sum().backward()
    yield y.is_leaf, y.requires_grad, y.grad.tolist()
    yield torch.Tensor._make_subclass(Plain, leaf).requires_grad

    class Off(torch.Tensor):
        __torch_function__ = torch._C._disabled_torch_function_impl

    z = torch.ones(2).as_subclass(Off)
    yield _kinds(z), _kinds(z * 2), _kinds(z.data), z.shape


def decided(torch: Any) -> Any:
    class Own(torch.Tensor):
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            if func is torch.Tensor.clone:
                return "clone", [kind.__name__ for kind in types], len(args)
            if func is torch.exp:
                return "exp"
            if func is torch.Tensor.sub:
                return NotImplemented
            return super().__torch_function__(func, types, args, kwargs or {})

    x = torch.ones(2).as_subclass(Own)
    yield x.clone(), torch.exp(x), raised(lambda: x.sub(1)).partition("<class")[0]


def asked_by_programs(torch: Any) -> Any:
    overrides = importlib.import_module(f"{torch.__name__}.overrides")
    kind, _ = _logging(torch)

    class Duck:
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return "duck", func.__name__, args[1:]

    def api(a: Any, b: Any) -> Any:
        if overrides.has_torch_function((a, b)):
            return overrides.handle_torch_function(api, (a, b), a, b)
        return "plain"

    x = torch.ones(1)
    values = [1, x, torch.nn.Parameter(x), x.as_subclass(kind), Duck()]
    yield [overrides.is_tensor_like(v) for v in values]
    yield [overrides.has_torch_function((1, v)) for v in values]
    yield api(1, 2), api(x, 2), api(Duck(), 2), api(1, Duck())
