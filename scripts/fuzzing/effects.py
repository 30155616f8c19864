"""Statements with effects: writes in place, flags, hooks, backward passes."""

from fuzzing.grammar import BINARY_INPLACE, UNARY_INPLACE, apt, chosen, index, view_of
from fuzzing.scene import Scene
from tests.core.programs import attempt, name_of


def write_unary(g: Scene) -> str:
    """A call in place of a tensor, sometimes of a view made on the spot."""
    x = g.any("f" if g.chance(0.9) else "")
    few = ["zero_", "neg_", "exp_", "sqrt_", "relu_", "tanh_", "sigmoid_", "abs_"]
    name = apt(g, x, UNARY_INPLACE if g.chance(0.4) else few)
    return f"{view_of(g, x) if g.chance(0.25) else x}.{name}()"


def write_binary(g: Scene) -> str:
    x = g.any("f" if g.chance(0.9) else "")
    y = g.number() if g.chance(0.35) else g.fitting(x)
    where = x
    if g.chance(0.25):
        where = view_of(g, x)
        if y in g.machine.tensors():
            y = f"{y}.clone()"
    names = BINARY_INPLACE if g.chance(0.3) else ["add_", "mul_", "sub_", "div_", "copy_"]
    name = apt(g, x, names)
    if name in ("add_", "sub_") and g.chance(0.2):
        return f"{where}.{name}({y}, alpha={g.number()})"
    return f"{where}.{name}({y})"


def augmented(g: Scene) -> str:
    x = g.any("f" if g.chance(0.9) else "")
    y = g.number() if g.chance(0.35) else g.fitting(x)
    symbol = apt(g, x, ["+", "-", "*", "/", "+", "*", "**", "%", "&", "|"])
    where = f"{x}[{index(g, x)}]" if g.chance(0.3) else x
    if where != x and y in g.machine.tensors():
        y = f"{y}.clone()"  # reading the memory that is written to has no defined result
    return f"{where} {symbol}= {y}"


def augmented_part(g: Scene) -> str:
    """An augmented assignment to a part that any kind of index selects."""
    x = g.any("f" if g.chance(0.7) else "")
    y = g.number() if g.chance(0.6) else g.fitting(x)
    if y in g.machine.tensors():
        y = f"{y}.clone()"
    where = index(g, x) if g.chance(0.6) else chosen(g, x)
    symbol = apt(g, x, ["+", "+", "+", "-", "*", "/", "//", "**", "%", "&", "|"])
    return f"{x}[{where}] {symbol}= {y}"


def assignment(g: Scene) -> str:
    x = g.any("f" if g.chance(0.9) else "")
    at = index(g, x) if g.chance(0.6) else chosen(g, x)
    y = g.number() if g.chance(0.35) else g.fitting(x)
    return f"{x}[{at}] = {y}"


def write_other(g: Scene) -> str:
    x = g.any("f" if g.chance(0.9) else "")
    y, d, n = g.fitting(x), g.dim(x), g.number()
    t = g.tensor(x)
    zeros = f"torch.zeros({tuple(t.shape)}, dtype=torch.int64)"
    plain = g.kind(t) != "f"
    scalars = (k for k, v in g.machine.tensors().items() if not v.dim() and not plain)
    scalar = next(scalars, y)
    return f"{x}." + g.text([
        f"fill_({n})", f"fill_({scalar})", f"masked_fill_({y} > 0, {n})",
        f"masked_fill_({x} > 0, {scalar})", f"clamp_({n})", f"clamp_(min={n})", "t_()",
        f"transpose_({d}, {g.dim(x)})",
        "squeeze_()", f"unsqueeze_({d})", f"index_add_({d}, torch.tensor([0]), {y})",
        f"scatter_({d}, {zeros}, {g.pick([n, y])})", f"scatter_add_({d}, {zeros}, {y})",
        f"index_copy_({d}, torch.tensor([0]), {y})", f"pow_({n})",
        f"masked_scatter_({x} > 0, {y}.clone())",
        f"index_put_((torch.tensor([0]),), {y})", f"addmm_({y}.clone(), {g.any()}.clone())",
        f"index_put_((torch.tensor([0, 0]),), {y}, accumulate=True)"
        if 0 not in t.stride()
        else f"fill_({n})",
    ])  # fmt: skip


def flag(g: Scene) -> str:
    x = g.any("f" if g.chance(0.95) else "")
    same = [k for k, v in g.machine.tensors().items() if v.shape == g.tensor(x).shape]
    z = g.pick(same)
    return g.text([
        f"{x}.requires_grad_()", f"{x}.requires_grad_({g.chance(0.5)})",
        f"{x}.requires_grad = {g.chance(0.6)}", f"{x}.retain_grad()", f"{x}.retain_grad()",
        f"{x}.grad = None", f"{x}.grad = {z}", f"{x}.grad.zero_()", f"{x}.detach_()",
        f"{x}.data = {z}", f"{x}.data.mul_(2)", f"{x}.detach().add_(1)",
        f"{g.new()} = {x}.detach()", f"{g.new()} = {x}.clone()", f"{g.new()} = {x}.grad.clone()",
        f"{g.new()} = {x}.detach().requires_grad_()", f"del {x}", f"{g.new()} = {x}.data",
        f"{g.new()} = {x}._base", f"torch.set_grad_enabled({g.chance(0.75)})",
        f"{g.new()} = {x}.clone().detach()", f"{x}.item()", f"{g.new()} = torch.zeros_like({x})",
        f"{g.new()} = torch.nn.Parameter({x})" if g.chance(0.2) else f"{g.new()} = {x} * 1",
    ])  # fmt: skip


def hook(g: Scene) -> str:
    x = g.any("f")
    number = g.hook()
    plain = g.pick(
        [f"see({number})", f"see({number})", f"scale({number}, {g.pick([2.0, -1, 0.5])})"]
    )
    if g.chance(0.03):
        plain = g.pick([f"summed({number})", f"fail({number})"])
    handles = [n for n in g.machine.names if n.startswith("h")]
    return f"h{number} = " + g.text([
        f"{x}.register_hook({plain})", f"{x}.register_hook({plain})", f"{x}.register_hook({plain})",
        f"{x}.grad_fn.register_hook({plain})", f"{x}.grad_fn.register_prehook({plain})",
        f"{x}.register_post_accumulate_grad_hook({g.pick(['saw', 'saw', 'used'])}({number}))",
        f"{x}.grad_fn.next_functions[0][0].register_hook({plain})",
        f"{x}.grad_fn.next_functions[0][0].register_prehook({plain})",
        f"{g.pick(handles)}.remove()" if handles else f"{x}.register_hook({plain})",
    ])  # fmt: skip


def looked(g: Scene) -> str:
    """The names of the nodes before that of a matrix product."""
    tensors = g.machine.tensors().items()
    nodes = {n: attempt(lambda t=t: name_of(t.grad_fn)) for n, t in tensors}  # type: ignore[misc]
    made = [n for n, node in nodes.items() if node in ("AddmmBackward0", "MmBackward0")]
    if not made:
        raise LookupError
    return f"{g.new()} = edges({g.text(made)}.grad_fn)"


def options(g: Scene) -> str:
    """Further arguments of a backward pass."""
    retain = ", retain_graph=True" if g.chance(0.5) else ""
    return retain + (", create_graph=True" if g.chance(0.25) else "")


def backward(g: Scene) -> str:
    x = root(g)
    more = options(g)
    return g.text([
        f"{x}.sum().backward({more[2:]})", f"{x}.sum().backward({more[2:]})",
        f"({x} * {x}).sum().backward({more[2:]})", f"{x}.backward({more[2:]})",
        f"{x}.backward(torch.ones_like({x}){more})",
        f"{x}.backward({g.like(x)}.detach().clone(){more})",
        f"torch.autograd.backward([{x}, {g.any('f')}], [torch.ones_like({x}), None]{more})",
        f"torch.autograd.backward([{x}.sum(), {g.any('f')}.sum()]{more})",
        f"{x}.sum().backward(inputs=[{g.any('f')}, {g.any('f')}]{more})",
    ])  # fmt: skip


def root(g: Scene) -> str:
    """A tensor to start from, preferably one that requires grad."""
    names = [n for n, t in g.machine.tensors().items() if t.requires_grad]
    return str(g.pick(names)) if names and g.chance(0.97) else g.any("f")


def differentiated(g: Scene) -> str:
    x, y, z = root(g), root(g), root(g)
    more = options(g)
    unused = g.pick([", allow_unused=True"] * 3 + ["", ", materialize_grads=True"])
    return g.text([
        f"{g.new()}, = copies(torch.autograd.grad({x}.sum(), {y}{more}{unused}))",
        f"{g.new()}, {g.new()} = copies(torch.autograd.grad({x}.sum(), [{y}, {z}]{more}{unused}))",
        f"{g.new()}, = copies(torch.autograd.grad({x}, {y}, torch.ones_like({x}){more}{unused}))",
        f"{g.new()}, = copies(torch.autograd.grad([{x}.sum(), {z}.sum()], [{y}]{more}{unused}))",
    ])  # fmt: skip
