"""Modules: registration, traversal, conversion, copies, printing."""

import copy
import pickle
from typing import Any

from tests.answers import bits, raised, warned


def net(torch: Any) -> Any:
    nn = torch.nn
    return nn.Sequential(
        nn.Linear(2, 3), nn.Sequential(nn.BatchNorm1d(3), nn.ReLU()), nn.Linear(3, 1, bias=False)
    )


def shared(torch: Any) -> Any:
    """A module under two names, a parameter under two names, a reserved name."""
    nn = torch.nn
    module = nn.Module()
    module.a = nn.Linear(1, 1)
    module.b = module.a
    module.p = nn.Parameter(torch.ones(1))
    module.q = module.p
    module.none = None
    module.register_module("empty", None)
    module.register_parameter("nothing", None)
    return module


def parameters(torch: Any) -> Any:
    Parameter = torch.nn.Parameter
    p = Parameter(torch.ones(2))
    p.grad = torch.ones(2)
    copied = copy.deepcopy(p)
    pickled = pickle.loads(pickle.dumps(torch.nn.Linear(1, 1)))
    made, base = Parameter(torch.ones(2, requires_grad=True) * 2), torch.ones(2)
    view = Parameter(base)
    with torch.no_grad():
        view.add_(1)
    return [
        p, Parameter(torch.tensor([1, 2]), requires_grad=False), Parameter(),
        raised(Parameter, torch.tensor([1])), raised(Parameter, [1.0]),
        copied.grad is None, type(copied) is Parameter, copied.requires_grad, bits(copied),
        type(pickled.weight) is Parameter, pickled.weight.requires_grad, pickled.weight.grad,
        made.is_leaf, made, base, base._version, view._version, type(p + 1) is torch.Tensor,
        isinstance(p, torch.Tensor), torch.typename(p), type(p.data) is torch.Tensor,
        type(p.detach()) is torch.Tensor, p.requires_grad_(False),
    ]  # fmt: skip


def buffers(torch: Any) -> Any:
    Buffer, Module = torch.nn.Buffer, torch.nn.Module
    module = Module()
    module.a = Buffer(torch.ones(2))
    module.b = Buffer(torch.ones(1), persistent=False)
    kept = sorted(module._non_persistent_buffers_set)
    module.b = torch.zeros(1)
    module.register_buffer("c", None)
    module.register_buffer("d", torch.tensor(3))
    module.d = None
    b = Buffer(torch.ones(2))
    return [
        isinstance(b, Buffer), isinstance(torch.ones(2), Buffer), type(b) is torch.Tensor, b,
        list(module.state_dict()), kept, sorted(module._non_persistent_buffers_set),
        dict(module.named_buffers()), list(module._buffers), raised(setattr, module, "a", 3),
        raised(Buffer, [1]), Buffer(), isinstance(b.clone(), Buffer),
    ]  # fmt: skip


def without_init(torch: Any) -> Any:
    """What a module does whose constructor does not call its parent's."""
    nn = torch.nn

    class WithParameter(nn.Module):
        def __init__(self) -> None:
            self.w = nn.Parameter(torch.ones(1))

    class WithModule(nn.Module):
        def __init__(self) -> None:
            self.w = nn.Linear(1, 1)

    class Bare(nn.Module):
        def __init__(self) -> None:
            self.w = 1

        def forward(self, x: Any) -> Any:
            return x

    bare = Bare()
    calls = [
        lambda: bare(1), lambda: list(bare.parameters()), lambda: bare.train(),
        lambda: repr(bare), lambda: bare.register_buffer("a", None),
        lambda: bare.register_parameter("a", None), lambda: delattr(bare, "w"), lambda: dir(bare),
        lambda: setattr(bare, "b", nn.Buffer(torch.ones(1))), lambda: bare.unknown,
        lambda: list(bare.modules()), lambda: bare.add_module("a", None),
    ]  # fmt: skip
    return [raised(WithParameter), raised(WithModule), *[raised(call) for call in calls]]


def constructor(torch: Any) -> Any:
    nn = torch.nn

    class Passing(nn.Module):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)

    class Net(nn.Module):
        pass

    class Mixin:
        def __init__(self, number: int = 7) -> None:
            self.number = number

    class Cooperative(nn.Module, Mixin):
        call_super_init = True

        def __init__(self, number: int) -> None:
            super().__init__(number)

    return [
        raised(Passing, 1), raised(Passing, a=1, b=2), raised(Net, 1), raised(Net, a=1),
        raised(Net(), 1), raised(lambda: Net().unknown), Cooperative(3).number,
    ]  # fmt: skip


def registration_errors(torch: Any) -> Any:
    nn = torch.nn
    module = nn.Module()
    product = torch.ones(1, requires_grad=True) * 2
    for name in ("a.b", "", 1, "train"):
        for register in (module.register_buffer, module.register_parameter, module.add_module):
            yield raised(register, name, None)
    yield from [
        raised(module.register_buffer, "a", 1), raised(module.register_parameter, "a", 1),
        raised(module.register_parameter, "a", torch.ones(1)),
        raised(module.register_parameter, "a", product), raised(module.add_module, "a", 1),
        raised(module.add_module, "a", nn.Linear),
    ]  # fmt: skip
    leafless = nn.Parameter(torch.ones(1))
    with torch.no_grad():
        pass
    module.p, module.l = leafless, nn.Linear(1, 1)
    yield from [
        raised(setattr, module, "p", torch.ones(1)), raised(setattr, module, "p", 3),
        raised(setattr, module, "l", 3), raised(setattr, module, "l", torch.ones(1)),
    ]  # fmt: skip
    module.p = module.l = None
    yield from [module._parameters, module._modules, module]


def traversal(torch: Any) -> Any:
    model, twice = net(torch), shared(torch)
    root = torch.nn.ModuleDict({"one": twice, "two": model})

    def names(pairs: Any) -> list[str]:
        return [f"{name} {type(value).__name__}" for name, value in pairs]

    return [
        names(root.named_modules()), names(root.named_modules(prefix="top")),
        names(root.named_modules(remove_duplicate=False)), names(root.named_children()),
        names(twice.named_children()), names(root.named_parameters()),
        names(twice.named_parameters(remove_duplicate=False)),
        names(root.named_parameters(prefix="p", recurse=False)),
        names(root.named_buffers()), names(twice.named_parameters(recurse=False)),
        [tuple(p.shape) for p in model.parameters()], len(list(model.buffers())),
        [type(m).__name__ for m in model.modules()], [type(m).__name__ for m in model.children()],
    ]  # fmt: skip


def by_name(torch: Any) -> Any:
    model = net(torch)
    model.register_buffer("mean", torch.ones(1))
    model.set_submodule("1.1", torch.nn.Tanh())
    model.set_submodule("1.new", torch.nn.Tanh())
    return [
        model.get_submodule("1.0"), model.get_submodule("") is model, model.get_submodule("1.new"),
        tuple(model.get_parameter("0.weight").shape), model.get_buffer("1.0.running_var"),
        raised(model.get_submodule, "7"), raised(model.get_submodule, "mean"),
        raised(model.get_parameter, "1.0.foo"), raised(model.get_parameter, "1.0.running_mean"),
        raised(model.get_buffer, "0.weight"), raised(model.get_buffer, "0.foo"),
        raised(model.set_submodule, "", model), raised(model.set_submodule, "a", 1),
        raised(model.set_submodule, "mean", model), raised(model.set_submodule, "x.y", model),
        raised(lambda: model.set_submodule("z", model, strict=True)),
    ]  # fmt: skip


def modes(torch: Any) -> Any:
    model = net(torch)
    yield [m.training for m in model.modules()]
    model[1].eval()
    yield [m.training for m in model.modules()]
    model.train()
    yield [m.training for m in model.modules()]
    yield from [model.eval() is model, raised(model.train, 1)]


def gradients(torch: Any) -> Any:
    model = net(torch)
    model(torch.ones(2, 2)).sum().backward()
    kept = model[0].weight.grad
    model.zero_grad(set_to_none=False)
    zeros = [p.grad for p in model.parameters()]
    same = model[0].weight.grad is kept
    model.zero_grad()
    none = [p.grad for p in model.parameters()]
    model.requires_grad_(False)
    frozen = [p.requires_grad for p in model.parameters()]
    return [zeros, same, none, frozen, model(torch.ones(2, 2)).requires_grad]


def conversion(torch: Any) -> Any:
    model = net(torch)
    weight = model[0].weight
    model(torch.ones(2, 2)).sum().backward()
    for convert in (
        lambda: model.double(), lambda: model.float(), lambda: model.half(),
        lambda: model.to(torch.float64), lambda: model.to("cpu", torch.float32),
        lambda: model.to(torch.ones(1, dtype=torch.float64)), lambda: model.to(dtype=torch.float32),
        lambda: model.to("cpu"), lambda: model.to(device="cpu", dtype=torch.float64),
        lambda: model.to(torch.device("cpu"), non_blocking=True), lambda: model.cpu(),
        lambda: model.type(torch.float32),
    ):  # fmt: skip
        same = convert() is model
        dtypes = sorted({str(t.dtype) for t in model.state_dict().values()})
        yield [same, weight is model[0].weight, dtypes, weight.grad.dtype, weight.is_leaf]
    yield from [raised(model.to, torch.int32), raised(model.to, torch.int64)]


def functions(torch: Any) -> Any:
    model = net(torch)
    order: list[str] = []
    returned = model.apply(lambda m: order.append(type(m).__name__))
    return [order, returned is model]


def copies(torch: Any) -> Any:
    model = shared(torch)
    model.register_buffer("mean", torch.ones(1), persistent=False)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), copy.copy(model)):
        yield [
            other.a is other.b, other.p is other.q, other.a is model.a, other.p is model.p,
            other, list(other.state_dict()), sorted(other._non_persistent_buffers_set),
            bits(other.a.weight) == bits(model.a.weight), other.training,
        ]  # fmt: skip


def names_of_attributes(torch: Any) -> Any:
    module = shared(torch)
    module.register_buffer("mean", torch.ones(1))
    listed = dir(module)
    mine = ["a", "b", "p", "q", "mean", "empty", "nothing", "forward", "training", "none"]
    digits = [name for name in dir(torch.nn.Sequential(torch.nn.ReLU())) if name[0].isdigit()]
    return [[name in listed for name in mine], listed == sorted(listed), digits]


def calls(torch: Any) -> Any:
    nn = torch.nn

    class Net(nn.Module):
        def forward(self, x: Any, scale: float = 1.0, *, shift: float = 0.0) -> Any:
            return x * scale + shift

    model = Net()
    x = torch.ones(2)
    return [
        model(x), model(x, 2.0), model(x, scale=3.0, shift=1.0), model.forward(x),
        raised(nn.Module()), raised(nn.Sequential(nn.ReLU()), x, x).split(" takes")[1],
        warned(lambda: model(x)),
    ]  # fmt: skip


def extra_state_errors(torch: Any) -> Any:
    module = torch.nn.Module()
    return [raised(module.get_extra_state)[:12], raised(module.set_extra_state, 1)[:12]]
