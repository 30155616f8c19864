"""Parameters that are functions of others: registered, read, set, removed; norms of weights."""

import copy
import pickle
from typing import Any

from tests.answers import given, sessions


def _kinds(torch: Any) -> Any:
    """Parametrizations, right and wrong, by name."""
    import importlib

    nn = torch.nn
    library = "torch" if torch.__name__ == "torch" else torch.__name__
    P = importlib.import_module(f"{library}.nn.utils.parametrize")

    def made(name: str, forward: Any, inverse: Any = None) -> Any:
        members: dict[str, Any] = {"forward": forward}
        if inverse is not None:
            members["right_inverse"] = inverse
        return type(name, (nn.Module,), members)

    return P, {
        "Symmetric": made("Symmetric", lambda s, x: x.triu() + x.triu(1).mT, lambda s, x: x.triu()),
        "Twice": made("Twice", lambda s, x: x * 2),
        "Sum": made("Sum", lambda s, a, b: a + b, lambda s, x: (x, torch.zeros_like(x))),
        "Row": made("Row", lambda s, x: x[0]),
        "Number": made("Number", lambda s, x: 3),
        "Double": made("Double", lambda s, x: x.double()),
        "NoTensor": made("NoTensor", lambda s, x: x, lambda s, x: 3),
        "RowBack": made("RowBack", lambda s, x: x, lambda s, x: x[0]),
        "DoubleBack": made("DoubleBack", lambda s, x: x, lambda s, x: x.double()),
    }


def square(torch: Any, n: int = 3) -> Any:
    torch.manual_seed(2)
    return torch.nn.Linear(n, n)


session = sessions(
    lambda torch: given(torch, _kinds, square, copy=copy, pickle=pickle, utils=torch.nn.utils)
)
parametrized = session("""
registered
    P, k = _kinds()
    layer = square()
    same = P.register_parametrization(layer, "weight", k["Symmetric"]()) is layer
    out = layer(torch.ones(1, 3))
    _ = out.sum().backward()
    same, repr(layer), list(layer.state_dict()), [n for n, _ in layer.named_parameters()]
    [n for n, _ in layer.named_modules()], numbers(layer.weight), numbers(out)
    numbers(layer.parametrizations.weight.original.grad), name_of(layer.weight.grad_fn)
    P.is_parametrized(layer), P.is_parametrized(layer, "weight"), type(layer).__name__
    P.is_parametrized(layer, "bias"), P.is_parametrized(nn.ReLU())
    P.type_before_parametrizations(layer).__name__, "weight" in layer._parameters
    layer.weight = torch.arange(9.0).reshape(3, 3)
    numbers(layer.weight), numbers(layer.parametrizations.weight.original)
    _ = P.register_parametrization(layer, "weight", k["Twice"]())
    refused = raised(setattr, layer, "weight", torch.ones(3, 3))
    repr(layer), numbers(layer.weight), refused
    with P.cached():
        layer.weight is layer.weight
        with P.cached():
            first = layer.weight
        first is layer.weight
    layer.weight is layer.weight, len(layer.parametrizations.weight)
removed
    P, k = _kinds()
    layer = square()
    weight = layer.weight
    _ = P.register_parametrization(layer, "weight", k["Symmetric"]())
    value = layer.weight.detach().clone()
    _ = P.register_parametrization(layer, "bias", k["Twice"]())
    _ = P.remove_parametrizations(layer, "bias")
    type(layer).__name__, repr(layer), list(layer.state_dict())
    _ = P.remove_parametrizations(layer, "weight")
    type(layer).__name__, repr(layer), list(layer.state_dict()), layer.weight is weight
    torch.equal(layer.weight, value), layer.weight.requires_grad
    other = square()
    _ = P.register_parametrization(other, "weight", k["Symmetric"]())
    original = other.parametrizations.weight.original
    _ = P.remove_parametrizations(other, "weight", leave_parametrized=False)
    other.weight is original, numbers(other.weight)
several originals
    P, k = _kinds()
    layer = square(2)
    _ = P.register_parametrization(layer, "weight", k["Sum"]())
    _ = layer(torch.ones(1, 2)).sum().backward()
    grads = {n: numbers(p.grad) for n, p in layer.named_parameters()}
    repr(layer), list(layer.state_dict()), grads, P.remove_parametrizations(layer, "weight", False)
    layer.weight = torch.ones(2, 2)
    _ = P.remove_parametrizations(layer, "weight")
    list(layer.state_dict()), layer.weight, layer.weight.requires_grad
of buffers
    P, k = _kinds()
    norm = nn.BatchNorm1d(2)
    _ = P.register_parametrization(norm, "running_mean", k["Twice"]())
    repr(norm), list(norm.state_dict()), [n for n, _ in norm.named_buffers()]
    _ = P.remove_parametrizations(norm, "running_mean")
    list(norm.state_dict())
copies
    P, k = _kinds()
    layer = square()
    _ = P.register_parametrization(layer, "weight", k["Symmetric"]())
    twin = copy.deepcopy(layer)
    _ = layer.load_state_dict(layer.state_dict())
    torch.equal(twin.weight, layer.weight), type(twin).__name__, pickle.dumps(layer)
    repr(nn.Sequential(layer, nn.ReLU()))
refusals
    P, k = _kinds()
    register = P.register_parametrization
    names = ["Row", "Number", "Double", "NoTensor", "RowBack", "DoubleBack"]
    done = register(square(), "weight", k["Symmetric"]())
    unsafe = register(square(), "weight", k["Row"](), unsafe=True)
    [raised(register, square(), "weight", k[name]()) for name in names]
    [raised(register, done, "weight", k[name]()) for name in names]
    register(done, "nothing", k["Twice"]()), tuple(unsafe.weight.shape)
    P.remove_parametrizations(square(), "weight"), P.remove_parametrizations(done, "bias")
weight norm
    norms = utils.parametrizations
    for dim in (0, 1, None):
        layer = norms.weight_norm(square().double(), dim=dim)
        layer.parametrizations.weight.original0.data *= 2
        out = layer(torch.ones(2, 3).double()).sin()
        _ = out.sum().backward()
        repr(layer), list(layer.state_dict()), numbers(out)
        slopes(layer.parameters()), numbers(layer.state_dict().values())
    former = utils.weight_norm(nn.Linear(3, 3), dim=None).state_dict()
    layer = norms.weight_norm(square(), dim=None)
    _ = layer.load_state_dict(former)
    numbers(layer.state_dict().values()), list(former), list(layer.state_dict())
    layer.weight = torch.ones(3, 3)
    numbers(layer.parametrizations.weight.original0), numbers(copy.deepcopy(layer).weight)
    _ = utils.parametrize.remove_parametrizations(layer, "weight")
    repr(layer), list(layer.state_dict()), norms.weight_norm(square(), dim=4)
    numbers(norms.weight_norm(square(), "bias").state_dict().values())
spectral norm
    norms = utils.parametrizations
    x = torch.ones(2, 3).double()
    for dim in (None, 1, -1):
        layer = norms.spectral_norm(square().double(), dim=dim, n_power_iterations=2)
        for training in (True, True, False):
            _ = layer.train(training)
            _ = layer.zero_grad()
            out = layer(x).sin()
            _ = out.sum().backward()
            numbers(out), slopes(layer.parameters()), numbers(layer.buffers())
        repr(layer), list(layer.state_dict()), [n for n, _ in layer.named_buffers()]
        other = norms.spectral_norm(square().double(), dim=dim)
        _ = other.load_state_dict(layer.state_dict())
        torch.equal(other.eval()(x), layer(x)), torch.rand(1)
    conv = norms.spectral_norm(nn.ConvTranspose2d(2, 3, 2))
    tuple(conv.parametrizations.weight[0]._u.shape), numbers(conv.weight)
    loss = norms.spectral_norm(square()).double()
    _ = (loss(x).sum() - loss(-x).sum()).backward()
    vector = norms.spectral_norm(square(), "bias")
    numbers(vector.bias), list(vector.state_dict()), slopes(loss.parameters())
    norms.spectral_norm(square(), n_power_iterations=0), norms.spectral_norm(square(), dim=2)
    norms.spectral_norm(square(), "other"), norms.weight_norm(square(), "other")
    scalar = nn.ParameterList([torch.tensor(2.0)])
    norms.spectral_norm(scalar, "0")
orthogonal
    norms = utils.parametrizations
    maps = (None, "matrix_exp", "cayley", "householder")
    for shape in ((3, 3), (4, 2), (2, 4)):
        for name in maps:
            for trivial in (True, False):
                _ = torch.manual_seed(4)
                layer = nn.Linear(*shape, dtype=torch.float64)
                layer = norms.orthogonal(layer, "weight", name, use_trivialization=trivial)
                Q, original = layer.weight, layer.parametrizations.weight.original
                _ = (Q * torch.arange(Q.numel()).reshape(Q.shape)).sin().sum().backward()
                numbers(Q), numbers(original), numbers(original.grad), numbers(layer.buffers())
                refused = raised(setattr, layer, "weight", torch.ones(4, 4))
                list(layer.state_dict()), refused
    turned = torch.tensor([[0.6, -0.8, 0.0], [0.8, 0.6, 0.0], [0.0, 0.0, -1.0]])
    for name in maps:
        layer = norms.orthogonal(square(), orthogonal_map=name)
        layer.weight = turned
        numbers(layer.weight), repr(layer)
    rough = norms.orthogonal(square(), orthogonal_map="cayley", use_trivialization=False)
    raised(setattr, rough, "weight", turned), norms.orthogonal(square(), orthogonal_map="other")
    norms.orthogonal(square(), "bias"), norms.orthogonal(square(), "other")
    batch = nn.Module()
    batch.weight = nn.Parameter(torch.arange(16.0, dtype=torch.float64).reshape(2, 4, 2).sin())
    numbers(norms.orthogonal(batch).weight)
former weight norm
    for dim in (0, 1, None):
        _ = torch.manual_seed(3)
        layer = utils.weight_norm(nn.Linear(4, 3).double(), "weight", dim)
        layer.weight_g.data *= 2
        out = layer(torch.ones(2, 4).double()).sin()
        _ = out.sum().backward()
        grads = slopes(layer.parameters())
        repr(layer), list(layer.state_dict()), numbers(out), grads
        isinstance(layer.weight, nn.Parameter)
    twice = raised(utils.weight_norm, layer)
    _ = utils.remove_weight_norm(layer)
    twice, list(layer.state_dict()), numbers(layer.weight), layer._forward_pre_hooks == {}
    utils.remove_weight_norm(layer), warned(lambda: utils.weight_norm(nn.Linear(2, 2)))
former spectral norm
    _ = torch.manual_seed(3)
    layer = utils.spectral_norm(nn.Linear(4, 3).double())
    repr(layer), list(layer.state_dict()), layer.state_dict()._metadata
    for training in (True, True, False):
        _ = layer.train(training)
        _ = layer.zero_grad()
        out = layer(torch.ones(2, 4).double()).sin()
        _ = out.sum().backward()
        numbers(out), slopes(layer.parameters()), numbers(layer.buffers())
    other = nn.Linear(2, 2)
    utils.spectral_norm(layer), utils.spectral_norm(other, n_power_iterations=0)
    _ = utils.remove_spectral_norm(layer)
    list(layer.state_dict()), numbers(layer.weight), layer.state_dict()._metadata
    utils.remove_spectral_norm(layer)
""")
