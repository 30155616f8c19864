"""Subclasses of `Tensor`, which their `__torch_function__` is asked about."""

from typing import Any

from tests.answers import given, sessions


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


session = sessions(lambda torch: given(torch, _logging, _kinds=_kinds))
subclasses = session("""
asked
    kind, calls = _logging()
    x = torch.tensor([1.0, 2.0]).as_subclass(kind)
    uses = [
        lambda: x + 1, lambda: 1 + x, lambda: x * torch.ones(2), lambda: torch.ones(2) * x,
        lambda: x.exp(), lambda: torch.exp(x), lambda: x.sum(), lambda: x[0], lambda: x.max(0),
        lambda: x.add_(1), lambda: x.clone(), lambda: x.split(1), lambda: x.to(torch.float64),
        lambda: x == 1, lambda: -x, lambda: x @ x, lambda: x.size(), lambda: x.tolist(),
        lambda: x.detach(), lambda: x.requires_grad_(), lambda: torch.ones(2).mul(x),
    ]
    for use in uses:
        _ = calls.clear()
        result = use()
        _kinds(result), calls[:1]
    for function in (nn.Linear(2, 3), lambda x: torch.cat([x, x]), lambda x: x.softmax(0)):
        _kinds(function(x))
    repr(x), repr(kind([1.0])), isinstance(x, torch.Tensor)
properties
    # They ask as well: as functions `torch.Tensor.shape.__get__` and the like.
    kind, calls = _logging()
    x, y = torch.ones(2, 3).as_subclass(kind), torch.zeros(2, 3)
    names = ["shape", "dtype", "device", "ndim", "grad", "requires_grad", "T", "mT", "H", "data"]
    names += ["real", "grad_fn", "is_leaf", "layout", "is_cpu", "itemsize", "nbytes", "output_nr"]
    names += ["retains_grad", "is_cuda", "is_sparse", "is_quantized", "_base", "_version"]
    for name in names:
        _ = calls.clear()
        name, _kinds(getattr(x, name)), calls[:]
    for name, value in (("grad", y), ("data", y), ("requires_grad", True)):
        _ = calls.clear()
        _ = setattr(x, name, value)
        name, calls[:]
    _ = calls.clear()
    del x.grad
    calls[:], x.grad, x.data.sum().item()
    for use in (repr, len, list, str, dir, lambda v: 1.0 in v, lambda v: bool(v.sum() > 3)):
        _ = calls.clear()
        _ = use(x)
        calls[-1]
    with torch._C.DisableTorchFunctionSubclass():
        _ = calls.clear()
        x.shape, x.grad, _kinds(x.data), calls[:]
    class Own(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func == torch.Tensor.shape.__get__:
                return "shape of", [k.__name__ for k in types]
            if func == torch.Tensor.grad.__set__:
                return calls.append(repr(args[1]))
            if func == torch.Tensor.dtype.__get__:
                return NotImplemented
            return super().__torch_function__(func, types, args, kwargs or {})
    x = torch.ones(2).as_subclass(Own)
    x.grad = "one"
    x.shape, calls[-1], (x + 1).shape, x.ndim, raised(lambda: x.dtype).partition(" for ")[0]
inherited
    class Plain(torch.Tensor):
        pass
    class Weight(nn.Parameter):
        pass
    leaf = torch.ones(2, requires_grad=True)
    x = leaf.as_subclass(Plain)
    repr(x), x.is_leaf, _kinds(x * 2), x.grad_fn.name()
    _ = (x * 3).sum().backward()
    leaf.grad, _kinds(Weight(torch.ones(2)) * 2), _kinds(nn.Parameter(leaf) * 2)
    y = torch.Tensor._make_subclass(Plain, torch.ones(2), True)
    _ = (y * 3).sum().backward()
    y.is_leaf, y.requires_grad, y.grad.tolist()
    torch.Tensor._make_subclass(Plain, leaf).requires_grad
    class Off(torch.Tensor):
        __torch_function__ = torch._C._disabled_torch_function_impl
    z = torch.ones(2).as_subclass(Off)
    _kinds(z), _kinds(z * 2), _kinds(z.data), z.shape
decided
    class Own(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func is torch.Tensor.clone:
                return "clone", [kind.__name__ for kind in types], len(args)
            if func is torch.exp:
                return "exp"
            if func is torch.Tensor.sub:
                return NotImplemented
            return super().__torch_function__(func, types, args, kwargs or {})
    x = torch.ones(2).as_subclass(Own)
    x.clone(), torch.exp(x), raised(lambda: x.sub(1)).partition("<class")[0]
asked by programs
    overrides = importlib.import_module(f"{torch.__name__}.overrides")
    kind, _ = _logging()
    class Duck:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return "duck", func.__name__, args[1:]
    def api(a, b):
        if overrides.has_torch_function((a, b)):
            return overrides.handle_torch_function(api, (a, b), a, b)
        return "plain"
    x = torch.ones(1)
    values = [1, x, nn.Parameter(x), x.as_subclass(kind), Duck()]
    [overrides.is_tensor_like(v) for v in values]
    [overrides.has_torch_function((1, v)) for v in values], api(1, 2), api(x, 2), api(Duck(), 2)
    api(1, Duck())
""")
