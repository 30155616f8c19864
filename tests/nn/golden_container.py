"""Containers: their whole interface."""

from collections import OrderedDict

from tests.answers import sessions

session = sessions(lambda torch: {"OrderedDict": OrderedDict})
containers = session("""
sequential
    model = nn.Sequential(nn.ReLU(), nn.Tanh(), nn.Sigmoid(), nn.Identity())
    named = nn.Sequential(OrderedDict(first=nn.ReLU(), second=nn.Tanh()))
    len(model), model[0], model[-1], model[1:3], named[:1], named[1], named.first, model[::2]
    model[7], model[-7], model["a"], nn.Sequential(1), nn.Sequential(nn.ReLU(), 1)
    [type(m).__name__ for m in model], list(named._modules)
    model[0] = nn.ELU()
    del model[1]
    model, list(model._modules)
    named[0] = nn.SELU()
    del named[0]
    named, list(named._modules)
    popped = model.pop(-1)
    popped, model, model.pop(9)
growing
    model = nn.Sequential(nn.ReLU())
    same = model.append(nn.Tanh()) is model
    inserted = model.insert(0, nn.Sigmoid()) is model
    _ = model.insert(-1, nn.Identity())
    _ = model.insert(4, nn.ELU())
    same, inserted, model, model.insert(9, nn.ReLU()), model.insert(-9, nn.ReLU())
    model.insert(0, 1)
    _ = model.extend([nn.SELU(), nn.GELU()])
    both = nn.Sequential(nn.ReLU()) + nn.Sequential(nn.Tanh())
    both += nn.Sequential(nn.ELU())
    model, both, both * 2, 2 * nn.Sequential(nn.ReLU()), both.__add__([nn.ReLU()]), both * 0
    both * "a", both.__iadd__(3)
repeated
    model = nn.Sequential(nn.Linear(1, 1))
    model *= 3
    model, len(list(model.parameters())), model[0] is model[2], model.__imul__(0)
    len(model.state_dict()), nn.Sequential()(torch.ones(1))
module list
    modules = nn.ModuleList([nn.Linear(1, 1), nn.ReLU()])
    modules[0], modules[-1], modules[0:1], len(modules), modules[5], modules(torch.ones(1))
    modules.extend(3), modules.append(3), list(modules.state_dict()), nn.ModuleList([1])
    nn.ModuleList()
    _ = modules.append(nn.Tanh())
    _ = modules.insert(1, nn.ELU())
    _ = modules.extend(nn.ModuleList([nn.ReLU(), nn.ReLU()]))
    modules += [nn.ReLU()]
    modules, modules.__add__([nn.Tanh()])
    modules[0] = nn.Identity()
    del modules[1]
    modules, list(modules._modules)
    del modules[1:3]
    modules, modules.pop(0), modules, setattr(modules, "0", 3)
module dict
    modules = nn.ModuleDict({"b": nn.ReLU(), "a": nn.Linear(1, 1)})
    modules, list(modules), list(modules.keys()), [str(m) for m in modules.values()]
    [k for k, _ in modules.items()], "a" in modules, "c" in modules, len(modules), modules["a"]
    modules["c"], modules(torch.ones(1))
    modules["c"] = nn.Tanh()
    _ = modules.update([["d", nn.ELU()], ("b", nn.SELU())])
    _ = modules.update(nn.ModuleDict({"z": nn.GELU()}))
    _ = modules.update(OrderedDict(y=nn.ReLU()))
    modules, modules.pop("a"), list(modules)
    del modules["b"]
    modules.update(3), modules.update([3]), modules.update([(1, 2, 3)])
    modules.__setitem__("a.b", nn.ReLU()), modules.__setitem__("k", 3)
    modules.__setitem__("keys", nn.ReLU()), modules.pop("nope"), list(modules)
    _ = modules.clear()
    modules, nn.ModuleDict([["x", nn.ReLU()]])
parameter list
    values = nn.ParameterList([torch.ones(2, 3), nn.Parameter(torch.zeros(1)), "text"])
    values, len(values), values[0], values[-1], values[0:2], values[5]
    [type(v).__name__ for v in values], list(values.state_dict()), values(1)
    values.extend(torch.ones(1)), values.extend(3), [name for name, _ in values.named_parameters()]
    _ = values.append(torch.ones(1))
    values += [torch.ones(2)]
    values[0] = torch.zeros(1, dtype=torch.float64)
    _ = values.extend(nn.ParameterList([torch.ones(1)]))
    values, nn.ParameterList(), values.__setitem__(9, torch.ones(1))
    nn.ParameterList([torch.tensor([1])])
parameter dict
    values = nn.ParameterDict({"b": torch.ones(2), "a": nn.Parameter(torch.zeros(1)), "t": "text"})
    values, list(values), len(values), values["b"], "a" in values, values.get("x")
    values.get("x", 3), [type(v).__name__ for v in values.values()], [k for k, _ in values.items()]
    list(reversed(values)), list(values.state_dict()), values(1), values["x"], values[1]
    list(values.keys())
    values["z"] = torch.ones(1)
    values.setdefault("z", torch.zeros(1)), values.setdefault("y", torch.zeros(1))
    copied = values.copy()
    copied["b"] is values["b"], type(copied).__name__, values.pop("b"), values.popitem()
    list(values)
    _ = values.update(OrderedDict(q=torch.ones(1), p=torch.ones(1)))
    _ = values.update({"n": torch.ones(1), "m": torch.ones(1)})
    _ = values.update([("l", torch.ones(1))])
    list(values), values.update(3), values.update([3]), values.update([(1, 2, 3)])
    list(values | copied), list(copied | values), list(values.fromkeys(["u", "v"]))
    nn.ParameterDict(), list(values)
    values |= {"w": torch.ones(1)}
    del values["w"]
    list(values)
    _ = values.clear()
    values, values.popitem()
""")
