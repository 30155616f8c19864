"""Parameters that are functions of others: registered, read, set, removed; norms of weights."""

import copy
import pickle
from typing import Any

from tests.answers import name_of, numbers, raised, slopes, warned


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


def registered(torch: Any) -> Any:
    P, k = _kinds(torch)
    layer = square(torch)
    same = P.register_parametrization(layer, "weight", k["Symmetric"]()) is layer
    out = layer(torch.ones(1, 3))
    out.sum().backward()
    yield from [
        same, repr(layer), list(layer.state_dict()), [n for n, _ in layer.named_parameters()],
        [n for n, _ in layer.named_modules()], numbers(layer.weight), numbers(out),
        numbers(layer.parametrizations.weight.original.grad), name_of(layer.weight.grad_fn),
        P.is_parametrized(layer), P.is_parametrized(layer, "weight"), type(layer).__name__,
        P.is_parametrized(layer, "bias"), P.is_parametrized(torch.nn.ReLU()),
        P.type_before_parametrizations(layer).__name__, "weight" in layer._parameters,
    ]  # fmt: skip
    layer.weight = torch.arange(9.0).reshape(3, 3)
    yield from [numbers(layer.weight), numbers(layer.parametrizations.weight.original)]
    P.register_parametrization(layer, "weight", k["Twice"]())
    refused = raised(setattr, layer, "weight", torch.ones(3, 3))
    yield from [repr(layer), numbers(layer.weight), refused]
    with P.cached():
        yield layer.weight is layer.weight
        with P.cached():
            first = layer.weight
        yield first is layer.weight
    yield from [layer.weight is layer.weight, len(layer.parametrizations.weight)]


def removed(torch: Any) -> Any:
    P, k = _kinds(torch)
    layer = square(torch)
    weight = layer.weight
    P.register_parametrization(layer, "weight", k["Symmetric"]())
    value = layer.weight.detach().clone()
    P.register_parametrization(layer, "bias", k["Twice"]())
    P.remove_parametrizations(layer, "bias")
    yield from [type(layer).__name__, repr(layer), list(layer.state_dict())]
    P.remove_parametrizations(layer, "weight")
    yield from [
        type(layer).__name__, repr(layer), list(layer.state_dict()), layer.weight is weight,
        torch.equal(layer.weight, value), layer.weight.requires_grad,
    ]  # fmt: skip
    other = square(torch)
    P.register_parametrization(other, "weight", k["Symmetric"]())
    original = other.parametrizations.weight.original
    P.remove_parametrizations(other, "weight", leave_parametrized=False)
    yield from [other.weight is original, numbers(other.weight)]


def several_originals(torch: Any) -> Any:
    P, k = _kinds(torch)
    layer = square(torch, 2)
    P.register_parametrization(layer, "weight", k["Sum"]())
    layer(torch.ones(1, 2)).sum().backward()
    grads = {n: numbers(p.grad) for n, p in layer.named_parameters()}
    yield from [repr(layer), list(layer.state_dict()), grads,
                raised(P.remove_parametrizations, layer, "weight", False)]  # fmt: skip
    layer.weight = torch.ones(2, 2)
    P.remove_parametrizations(layer, "weight")
    yield from [list(layer.state_dict()), layer.weight, layer.weight.requires_grad]


def of_buffers(torch: Any) -> Any:
    P, k = _kinds(torch)
    norm = torch.nn.BatchNorm1d(2)
    P.register_parametrization(norm, "running_mean", k["Twice"]())
    yield from [repr(norm), list(norm.state_dict()), [n for n, _ in norm.named_buffers()]]
    P.remove_parametrizations(norm, "running_mean")
    yield list(norm.state_dict())


def copies(torch: Any) -> Any:
    P, k = _kinds(torch)
    layer = square(torch)
    P.register_parametrization(layer, "weight", k["Symmetric"]())
    twin = copy.deepcopy(layer)
    layer.load_state_dict(layer.state_dict())
    return [
        torch.equal(twin.weight, layer.weight), type(twin).__name__, raised(pickle.dumps, layer),
        repr(torch.nn.Sequential(layer, torch.nn.ReLU())),
    ]  # fmt: skip


def refusals(torch: Any) -> Any:
    P, k = _kinds(torch)
    register = P.register_parametrization
    names = ["Row", "Number", "Double", "NoTensor", "RowBack", "DoubleBack"]
    done = register(square(torch), "weight", k["Symmetric"]())
    unsafe = register(square(torch), "weight", k["Row"](), unsafe=True)
    return [
        *[raised(register, square(torch), "weight", k[name]()) for name in names],
        *[raised(register, done, "weight", k[name]()) for name in names],
        raised(register, done, "nothing", k["Twice"]()), tuple(unsafe.weight.shape),
        raised(P.remove_parametrizations, square(torch), "weight"),
        raised(P.remove_parametrizations, done, "bias"),
    ]  # fmt: skip


def former_weight_norm(torch: Any) -> Any:
    utils = torch.nn.utils
    for dim in (0, 1, None):
        torch.manual_seed(3)
        layer = utils.weight_norm(torch.nn.Linear(4, 3).double(), "weight", dim)
        layer.weight_g.data *= 2
        out = layer(torch.ones(2, 4).double()).sin()
        out.sum().backward()
        grads = slopes(layer.parameters())
        yield from [repr(layer), list(layer.state_dict()), numbers(out), grads,
                    isinstance(layer.weight, torch.nn.Parameter)]  # fmt: skip
    twice = raised(utils.weight_norm, layer)
    utils.remove_weight_norm(layer)
    yield from [
        twice, list(layer.state_dict()), numbers(layer.weight), layer._forward_pre_hooks == {},
        raised(utils.remove_weight_norm, layer),
        warned(lambda: utils.weight_norm(torch.nn.Linear(2, 2))),
    ]  # fmt: skip


def former_spectral_norm(torch: Any) -> Any:
    utils = torch.nn.utils
    torch.manual_seed(3)
    layer = utils.spectral_norm(torch.nn.Linear(4, 3).double())
    yield from [repr(layer), list(layer.state_dict()), layer.state_dict()._metadata]
    for training in (True, True, False):
        layer.train(training)
        layer.zero_grad()
        out = layer(torch.ones(2, 4).double()).sin()
        out.sum().backward()
        yield from [numbers(out), slopes(layer.parameters()), numbers(layer.buffers())]
    other = torch.nn.Linear(2, 2)
    yield raised(utils.spectral_norm, layer)
    yield raised(utils.spectral_norm, other, n_power_iterations=0)
    utils.remove_spectral_norm(layer)
    yield from [
        list(layer.state_dict()), numbers(layer.weight), layer.state_dict()._metadata,
        raised(utils.remove_spectral_norm, layer),
    ]  # fmt: skip
