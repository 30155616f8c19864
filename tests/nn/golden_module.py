"""Modules: registration, traversal, conversion, copies, printing."""

import copy
import pickle
import warnings
from typing import Any

from tests.answers import given, sessions


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


session = sessions(lambda torch: given(
    torch, net, shared, copy=copy, pickle=pickle, warnings=warnings, init=torch.nn.init
))  # fmt: skip
modules = session("""
parameters
    Parameter = nn.Parameter
    p = Parameter(torch.ones(2))
    p.grad = torch.ones(2)
    copied = copy.deepcopy(p)
    pickled = pickle.loads(pickle.dumps(nn.Linear(1, 1)))
    made, base = Parameter(torch.ones(2, requires_grad=True) * 2), torch.ones(2)
    view = Parameter(base)
    with torch.no_grad():
        _ = view.add_(1)
    p, Parameter(torch.tensor([1, 2]), requires_grad=False), Parameter()
    Parameter(torch.tensor([1])), Parameter([1.0]), copied.grad is None, type(copied) is Parameter
    copied.requires_grad, bits(copied), type(pickled.weight) is Parameter
    pickled.weight.requires_grad, pickled.weight.grad, made.is_leaf, made, base, base._version
    view._version, type(p + 1) is torch.Tensor, isinstance(p, torch.Tensor), torch.typename(p)
    type(p.data) is torch.Tensor, type(p.detach()) is torch.Tensor, p.requires_grad_(False)
buffers
    Buffer, Module = nn.Buffer, nn.Module
    module = Module()
    module.a = Buffer(torch.ones(2))
    module.b = Buffer(torch.ones(1), persistent=False)
    kept = sorted(module._non_persistent_buffers_set)
    module.b = torch.zeros(1)
    _ = module.register_buffer("c", None)
    _ = module.register_buffer("d", torch.tensor(3))
    module.d = None
    b = Buffer(torch.ones(2))
    isinstance(b, Buffer), isinstance(torch.ones(2), Buffer), type(b) is torch.Tensor, b
    list(module.state_dict()), kept, sorted(module._non_persistent_buffers_set)
    dict(module.named_buffers()), list(module._buffers), setattr(module, "a", 3), Buffer([1])
    Buffer(), isinstance(b.clone(), Buffer)
without init
    # What a module does whose constructor does not call its parent's.
    class WithParameter(nn.Module):
        def __init__(self):
            self.w = nn.Parameter(torch.ones(1))
    class WithModule(nn.Module):
        def __init__(self):
            self.w = nn.Linear(1, 1)
    class Bare(nn.Module):
        def __init__(self):
            self.w = 1
        def forward(self, x):
            return x
    bare = Bare()
    calls = [
        lambda: bare(1), lambda: list(bare.parameters()), lambda: bare.train(), lambda: repr(bare),
        lambda: bare.register_buffer("a", None), lambda: bare.register_parameter("a", None),
        lambda: delattr(bare, "w"), lambda: dir(bare),
        lambda: setattr(bare, "b", nn.Buffer(torch.ones(1))), lambda: bare.unknown,
        lambda: list(bare.modules()), lambda: bare.add_module("a", None),
    ]
    WithParameter(), WithModule(), [raised(call) for call in calls]
constructor
    class Passing(nn.Module):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
    class Net(nn.Module):
        pass
    class Mixin:
        def __init__(self, number=7):
            self.number = number
    class Cooperative(nn.Module, Mixin):
        call_super_init = True
        def __init__(self, number):
            super().__init__(number)
    Passing(1), Passing(a=1, b=2), Net(1), Net(a=1), Net()(1), Net().unknown, Cooperative(3).number
registration errors
    module = nn.Module()
    product = torch.ones(1, requires_grad=True) * 2
    for name in ("a.b", "", 1, "train"):
        for register in (module.register_buffer, module.register_parameter, module.add_module):
            register(name, None)
    module.register_buffer("a", 1), module.register_parameter("a", 1)
    module.register_parameter("a", torch.ones(1)), module.register_parameter("a", product)
    module.add_module("a", 1), module.add_module("a", nn.Linear)
    module.p, module.l = nn.Parameter(torch.ones(1)), nn.Linear(1, 1)
    setattr(module, "p", torch.ones(1)), setattr(module, "p", 3), setattr(module, "l", 3)
    setattr(module, "l", torch.ones(1))
    module.p = module.l = None
    module._parameters, module._modules, module
traversal
    model, twice = net(), shared()
    root = nn.ModuleDict({"one": twice, "two": model})
    def names(pairs):
        return [f"{name} {type(value).__name__}" for name, value in pairs]
    names(root.named_modules()), names(root.named_modules(prefix="top"))
    names(root.named_modules(remove_duplicate=False)), names(root.named_children())
    names(twice.named_children()), names(root.named_parameters())
    names(twice.named_parameters(remove_duplicate=False))
    names(root.named_parameters(prefix="p", recurse=False)), names(root.named_buffers())
    names(twice.named_parameters(recurse=False)), [tuple(p.shape) for p in model.parameters()]
    len(list(model.buffers())), [type(m).__name__ for m in model.modules()]
    [type(m).__name__ for m in model.children()]
by name
    model = net()
    _ = model.register_buffer("mean", torch.ones(1))
    _ = model.set_submodule("1.1", nn.Tanh())
    _ = model.set_submodule("1.new", nn.Tanh())
    model.get_submodule("1.0"), model.get_submodule("") is model, model.get_submodule("1.new")
    tuple(model.get_parameter("0.weight").shape), model.get_buffer("1.0.running_var")
    model.get_submodule("7"), model.get_submodule("mean"), model.get_parameter("1.0.foo")
    model.get_parameter("1.0.running_mean"), model.get_buffer("0.weight"), model.get_buffer("0.foo")
    model.set_submodule("", model), model.set_submodule("a", 1), model.set_submodule("mean", model)
    model.set_submodule("x.y", model), model.set_submodule("z", model, strict=True)
modes
    model = net()
    [m.training for m in model.modules()]
    _ = model[1].eval()
    [m.training for m in model.modules()]
    _ = model.train()
    [m.training for m in model.modules()], model.eval() is model, model.train(1)
gradients
    model = net()
    _ = model(torch.ones(2, 2)).sum().backward()
    kept = model[0].weight.grad
    _ = model.zero_grad(set_to_none=False)
    zeros = [p.grad for p in model.parameters()]
    same = model[0].weight.grad is kept
    _ = model.zero_grad()
    none = [p.grad for p in model.parameters()]
    _ = model.requires_grad_(False)
    frozen = [p.requires_grad for p in model.parameters()]
    zeros, same, none, frozen, model(torch.ones(2, 2)).requires_grad
conversion
    model = net()
    weight = model[0].weight
    _ = model(torch.ones(2, 2)).sum().backward()
    for convert in (
        lambda: model.double(), lambda: model.float(), lambda: model.half(),
        lambda: model.to(torch.float64), lambda: model.to("cpu", torch.float32),
        lambda: model.to(torch.ones(1, dtype=torch.float64)), lambda: model.to(dtype=torch.float32),
        lambda: model.to("cpu"), lambda: model.to(device="cpu", dtype=torch.float64),
        lambda: model.to(torch.device("cpu"), non_blocking=True), lambda: model.cpu(),
        lambda: model.type(torch.float32),
    ):
        same = convert() is model
        dtypes = sorted({str(t.dtype) for t in model.state_dict().values()})
        same, weight is model[0].weight, dtypes, weight.grad.dtype, weight.is_leaf
    model.to(torch.int32), model.to(torch.int64)
functions
    model = net()
    order = []
    returned = model.apply(lambda m: order.append(type(m).__name__))
    order, returned is model
copies
    model = shared()
    _ = model.register_buffer("mean", torch.ones(1), persistent=False)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), copy.copy(model)):
        other.a is other.b, other.p is other.q, other.a is model.a, other.p is model.p, other
        list(other.state_dict()), sorted(other._non_persistent_buffers_set)
        bits(other.a.weight) == bits(model.a.weight), other.training
names of attributes
    module = shared()
    _ = module.register_buffer("mean", torch.ones(1))
    listed = dir(module)
    mine = ["a", "b", "p", "q", "mean", "empty", "nothing", "forward", "training", "none"]
    digits = [name for name in dir(nn.Sequential(nn.ReLU())) if name[0].isdigit()]
    [name in listed for name in mine], listed == sorted(listed), digits
calls
    class Net(nn.Module):
        def forward(self, x, scale=1.0, *, shift=0.0):
            return x * scale + shift
    model = Net()
    x = torch.ones(2)
    model(x), model(x, 2.0), model(x, scale=3.0, shift=1.0), model.forward(x), nn.Module()()
    raised(nn.Sequential(nn.ReLU()), x, x).split(" takes")[1], warned(lambda: model(x))
extra state errors
    module = nn.Module()
    raised(module.get_extra_state)[:12], raised(module.set_extra_state, 1)[:12]
former initializers
    names = [
        "uniform", "normal", "constant", "eye", "xavier_uniform", "xavier_normal",
        "kaiming_uniform", "kaiming_normal", "orthogonal",
    ]
    more = {"constant": (0.5,)}
    for name in names:
        warned(lambda: getattr(init, name)(torch.empty(3, 2), *more.get(name, ())))
empty
    layer = nn.Linear(2, 3)
    weight, memory = layer.weight, layer.weight.data_ptr()
    layer.weight.grad = torch.ones(3, 2)
    same = layer.to_empty(device="cpu") is layer
    shared = layer.share_memory() is layer
    same, shared, layer.weight is weight, weight.data_ptr() != memory, weight.requires_grad
    tuple(layer.weight.grad.shape), layer.weight.dtype, layer.to_empty(), layer.xpu()
    layer.dump_patches
former hooks
    seen = []
    def note(module, given, of):
        shapes = [[None if g is None else tuple(g.shape) for g in part] for part in (given, of)]
        seen.append([type(module).__name__, *shapes])
    class Pair(nn.Module):
        def forward(self, x):
            return x * 2, x * 3
    class Named(nn.Module):
        def forward(self, x, n=2):
            return {"out": x * n}
    class Scaled(nn.Module):
        def forward(self, x, n):
            return x * n
    x, texts = torch.ones(3, 2, requires_grad=True), []
    def run(module, call):
        module.register_backward_hook(note)
        with warnings.catch_warnings(record=True, action="always") as caught:
            call(module).sum().backward()
        texts.append([f"{w.category.__name__}: {w.message}" for w in caught])
    _ = run(nn.Linear(2, 2), lambda m: m(x))
    _ = run(nn.Tanh(), lambda m: m(x * 2))
    _ = run(nn.Sequential(nn.Linear(2, 2), nn.ReLU()), lambda m: m(x))
    _ = run(Pair(), lambda m: sum(m(x)))
    _ = run(Named(), lambda m: m(x)["out"])
    _ = run(Scaled(), lambda m: m(x, 3))
    with torch.no_grad():
        layer = nn.Linear(2, 2)
        _ = layer.register_backward_hook(note)
        quiet = tuple(layer(x).shape)
    seen, texts, quiet
one kind of hooks
    first, second = nn.Linear(1, 1), nn.Linear(1, 1)
    _ = first.register_backward_hook(lambda *a: None)
    _ = second.register_full_backward_hook(lambda *a: None)
    first.register_full_backward_hook(lambda *a: None)
    second.register_backward_hook(lambda *a: None)
""")
