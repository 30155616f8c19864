"""Containers: their whole interface."""

from collections import OrderedDict
from typing import Any

from tests.answers import raised


def sequential(torch: Any) -> Any:
    nn = torch.nn
    model = nn.Sequential(nn.ReLU(), nn.Tanh(), nn.Sigmoid(), nn.Identity())
    named = nn.Sequential(OrderedDict(first=nn.ReLU(), second=nn.Tanh()))
    yield from [
        len(model), model[0], model[-1], model[1:3], named[:1], named[1], named.first, model[::2],
        raised(lambda: model[7]), raised(lambda: model[-7]), raised(lambda: model["a"]),
        raised(lambda: nn.Sequential(1)), raised(lambda: nn.Sequential(nn.ReLU(), 1)),
        [type(m).__name__ for m in model], list(named._modules),
    ]  # fmt: skip
    model[0] = nn.ELU()
    del model[1]
    yield from [model, list(model._modules)]
    named[0] = nn.SELU()
    del named[0]
    yield from [named, list(named._modules)]
    popped = model.pop(-1)
    yield from [popped, model, raised(lambda: model.pop(9))]


def growing(torch: Any) -> Any:
    nn = torch.nn
    model = nn.Sequential(nn.ReLU())
    same = model.append(nn.Tanh()) is model
    inserted = model.insert(0, nn.Sigmoid()) is model
    model.insert(-1, nn.Identity())
    model.insert(4, nn.ELU())
    yield from [same, inserted, model, raised(model.insert, 9, nn.ReLU()),
                raised(model.insert, -9, nn.ReLU()), raised(model.insert, 0, 1)]  # fmt: skip
    model.extend([nn.SELU(), nn.GELU()])
    both = nn.Sequential(nn.ReLU()) + nn.Sequential(nn.Tanh())
    both += nn.Sequential(nn.ELU())
    yield from [
        model, both, both * 2, 2 * nn.Sequential(nn.ReLU()), raised(both.__add__, [nn.ReLU()]),
        raised(lambda: both * 0), raised(lambda: both * "a"), raised(lambda: both.__iadd__(3)),
    ]  # fmt: skip


def repeated(torch: Any) -> Any:
    nn = torch.nn
    model = nn.Sequential(nn.Linear(1, 1))
    model *= 3
    return [model, len(list(model.parameters())), model[0] is model[2], raised(model.__imul__, 0),
            len(model.state_dict()), nn.Sequential()(torch.ones(1))]  # fmt: skip


def module_list(torch: Any) -> Any:
    nn = torch.nn
    modules = nn.ModuleList([nn.Linear(1, 1), nn.ReLU()])
    yield from [
        modules[0], modules[-1], modules[0:1], len(modules), raised(lambda: modules[5]),
        raised(modules, torch.ones(1)), raised(modules.extend, 3), raised(modules.append, 3),
        list(modules.state_dict()), raised(nn.ModuleList, [1]), nn.ModuleList(),
    ]  # fmt: skip
    modules.append(nn.Tanh())
    modules.insert(1, nn.ELU())
    modules.extend(nn.ModuleList([nn.ReLU(), nn.ReLU()]))
    modules += [nn.ReLU()]
    yield from [modules, modules.__add__([nn.Tanh()])]
    modules[0] = nn.Identity()
    del modules[1]
    yield from [modules, list(modules._modules)]
    del modules[1:3]
    yield from [modules, modules.pop(0), modules, raised(setattr, modules, "0", 3)]


def module_dict(torch: Any) -> Any:
    nn = torch.nn
    modules = nn.ModuleDict({"b": nn.ReLU(), "a": nn.Linear(1, 1)})
    yield from [
        modules, list(modules), list(modules.keys()), [str(m) for m in modules.values()],
        [k for k, _ in modules.items()], "a" in modules, "c" in modules, len(modules), modules["a"],
        raised(lambda: modules["c"]), raised(modules, torch.ones(1)),
    ]  # fmt: skip
    modules["c"] = nn.Tanh()
    modules.update([["d", nn.ELU()], ("b", nn.SELU())])
    modules.update(nn.ModuleDict({"z": nn.GELU()}))
    modules.update(OrderedDict(y=nn.ReLU()))
    yield from [modules, modules.pop("a"), list(modules)]
    del modules["b"]
    yield from [
        raised(modules.update, 3), raised(modules.update, [3]), raised(modules.update, [(1, 2, 3)]),
        raised(modules.__setitem__, "a.b", nn.ReLU()), raised(modules.__setitem__, "k", 3),
        raised(modules.__setitem__, "keys", nn.ReLU()), raised(modules.pop, "nope"), list(modules),
    ]  # fmt: skip
    modules.clear()
    yield from [modules, nn.ModuleDict([["x", nn.ReLU()]])]


def parameter_list(torch: Any) -> Any:
    nn = torch.nn
    values = nn.ParameterList([torch.ones(2, 3), nn.Parameter(torch.zeros(1)), "text"])
    yield from [
        values, len(values), values[0], values[-1], values[0:2], raised(lambda: values[5]),
        [type(v).__name__ for v in values], list(values.state_dict()), raised(values, 1),
        raised(values.extend, torch.ones(1)), raised(values.extend, 3),
        [name for name, _ in values.named_parameters()],
    ]  # fmt: skip
    values.append(torch.ones(1))
    values += [torch.ones(2)]
    values[0] = torch.zeros(1, dtype=torch.float64)
    values.extend(nn.ParameterList([torch.ones(1)]))
    yield from [values, nn.ParameterList(), raised(values.__setitem__, 9, torch.ones(1)),
                raised(nn.ParameterList, [torch.tensor([1])])]  # fmt: skip


def parameter_dict(torch: Any) -> Any:
    nn = torch.nn
    values = nn.ParameterDict({"b": torch.ones(2), "a": nn.Parameter(torch.zeros(1)), "t": "text"})
    yield from [
        values, list(values), len(values), values["b"], "a" in values, values.get("x"),
        values.get("x", 3), [type(v).__name__ for v in values.values()],
        [k for k, _ in values.items()], list(reversed(values)), list(values.state_dict()),
        raised(values, 1), raised(lambda: values["x"]), raised(lambda: values[1]),
        list(values.keys()),
    ]  # fmt: skip
    values["z"] = torch.ones(1)
    yield from [values.setdefault("z", torch.zeros(1)), values.setdefault("y", torch.zeros(1))]
    copied = values.copy()
    yield from [copied["b"] is values["b"], type(copied).__name__, values.pop("b"),
                values.popitem(), list(values)]  # fmt: skip
    values.update(OrderedDict(q=torch.ones(1), p=torch.ones(1)))
    values.update({"n": torch.ones(1), "m": torch.ones(1)})
    values.update([("l", torch.ones(1))])
    yield from [
        list(values), raised(values.update, 3), raised(values.update, [3]),
        raised(values.update, [(1, 2, 3)]), list(values | copied), list(copied | values),
        list(values.fromkeys(["u", "v"])), nn.ParameterDict(), list(values),
    ]  # fmt: skip
    values |= {"w": torch.ones(1)}
    del values["w"]
    yield list(values)
    values.clear()
    yield from [values, raised(values.popitem)]
