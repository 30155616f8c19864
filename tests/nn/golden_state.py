"""State dicts: what they hold, what loading them refuses and says."""

from collections import OrderedDict

from tests.answers import given, sessions
from tests.nn.golden_module import net

session = sessions(lambda torch: given(torch, net, OrderedDict=OrderedDict))
states = session("""
contents
    model = net()
    state = model.state_dict()
    kept = model.state_dict(keep_vars=True)
    into = OrderedDict(first=1)
    other = model.state_dict(destination=into, prefix="model.")
    shared = state["0.weight"].data_ptr() == model[0].weight.data_ptr()
    type(state).__name__, list(state), [t.requires_grad for t in state.values()]
    [t.requires_grad for t in kept.values()], kept["0.weight"] is model[0].weight, shared
    dict(state._metadata), other is into, list(other), hasattr(other, "_metadata")
    [str(t.dtype) for t in state.values()], [type(t).__name__ for t in kept.values()]
loading
    source, target = net(), net()
    weight = target[0].weight
    keys = target.load_state_dict(source.state_dict())
    equal = [
        bits(a) == bits(b) for a, b in zip(source.parameters(), target.parameters(), strict=True)
    ]
    state = source.state_dict()
    del state["0.bias"]
    state["extra"] = torch.ones(1)
    state["1.0.more"] = torch.ones(1)
    loose = target.load_state_dict(state, strict=False)
    keys, str(keys), equal, weight is target[0].weight, weight._version, weight.requires_grad, loose
    loose.missing_keys, loose.unexpected_keys, target.load_state_dict(state), list(state)
refusals
    model = net()
    state = model.state_dict()
    wrong = OrderedDict(state)
    wrong["0.weight"] = torch.ones(3, 3)
    wrong["2.weight"] = torch.ones(5)
    numbers = OrderedDict(state)
    numbers["0.bias"] = [1.0, 2.0, 3.0]
    both = OrderedDict(wrong)
    del both["0.bias"]
    both["a"], both["1.0.b.c"], both["1.x.y"] = 1, 2, 3
    model.load_state_dict(wrong), model.load_state_dict(numbers), model.load_state_dict(both)
    model.load_state_dict([1]), model.load_state_dict({})
    model.load_state_dict(wrong, strict=False)
    nn.Linear(1, 1).load_state_dict({"weight": torch.ones(1)})
    nn.Module().load_state_dict({"a": 1})
other dtypes and shapes
    linear, norm = nn.Linear(1, 2), nn.BatchNorm1d(2)
    _ = linear.load_state_dict({"weight": torch.tensor([[1], [2]]), "bias": torch.ones(2).double()})
    state = norm.state_dict()
    state["num_batches_tracked"] = torch.tensor([5])
    _ = norm.load_state_dict(state)
    linear.weight, linear.bias, norm.num_batches_tracked
assigning
    model = net()
    _ = model[0].weight.requires_grad_(False)
    weight = torch.zeros(3, 2, dtype=torch.float64)
    bias, state = nn.Parameter(torch.ones(3), requires_grad=False), net().state_dict()
    state["0.weight"], state["0.bias"] = weight, bias
    state["1.0.running_mean"] = torch.full((3,), 7.0)
    keys = model.load_state_dict(state, assign=True)
    keys, model[0].weight, model[0].bias is bias, model[0].bias
    model[0].weight.data_ptr() == weight.data_ptr()
    model[1][0].running_mean is state["1.0.running_mean"], type(model[0].weight).__name__
    model.load_state_dict({"0.weight": torch.ones(1)}, strict=False, assign=True)
extra state
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.count = 3
        def get_extra_state(self):
            return {"count": self.count}
        def set_extra_state(self, state):
            self.count = state["count"]
    model = nn.Sequential(Counting())
    state = model.state_dict()
    model[0].count = 0
    _ = model.load_state_dict(state)
    plain = nn.Sequential(nn.ReLU())
    dict(state), model[0].count, model.load_state_dict({}), plain.load_state_dict(state)
hooks
    log = []
    model = nn.Sequential(nn.Linear(1, 1), nn.ReLU())
    def post(module, state, prefix, metadata):
        log.append(["post", type(module).__name__, list(state), prefix, dict(metadata)])
        state.pop(f"{prefix}bias", None)
    def loaded(module, keys):
        log.append(["loaded", type(module).__name__, list(keys.missing_keys)])
        keys.missing_keys.clear()
    def before(module, state, prefix, *rest):
        log.append(["before", type(module).__name__, list(state), prefix, list(rest)])
    _ = model.register_state_dict_pre_hook(lambda m, p, k: log.append(["pre", p, k]))
    handle = model[0].register_state_dict_post_hook(post)
    _ = model[0].register_load_state_dict_pre_hook(before)
    _ = model.register_load_state_dict_post_hook(loaded)
    state = model.state_dict(prefix="x.")
    inner = model.load_state_dict({"0.weight": torch.ones(1, 1)})
    _ = handle.remove()
    after = list(model.state_dict())
    refused = raised(model[0]._register_state_dict_hook, post)
    _ = model._register_state_dict_hook(lambda m, s, p, metadata: {"replaced": 1})
    list(state), inner, after, refused, model.state_dict(), log
hooks that return
    model = nn.Linear(1, 1)
    handle = model.register_state_dict_post_hook(lambda *_: 1)
    model.state_dict()
    _ = handle.remove()
    _ = model.register_load_state_dict_post_hook(lambda *_: 1)
    model.load_state_dict(model.state_dict())
""")
