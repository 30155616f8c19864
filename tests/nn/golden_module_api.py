"""The rest of what modules and initializers can do."""

import warnings

from tests.answers import sessions

session = sessions(lambda torch: {"warnings": warnings, "init": torch.nn.init})
modules = session("""
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
