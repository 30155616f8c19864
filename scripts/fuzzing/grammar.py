"""The grammar of random programs: expressions, views, reductions, products."""

from collections.abc import Callable

from fuzzing.scene import Scene
from nanotorch._core.arguments import EMPTY
from nanotorch._core.op import OPS, Op

Rule = Callable[[Scene], str]


def callable_as(o: Op) -> str | None:
    """The kind of an operation: a method of one tensor, or one with a second operand; or None."""
    statics = [a for n, a in o.arguments.items() if n in o.statics]
    if not o.method or o.variadic or o.multi or any(a.default is EMPTY for a in statics):
        return None
    return {1: "unary", 2: "binary" if o.cast else None}.get(len(o.inputs))


# `trace` differs for matrices of another form. The gradient of `sgn` is a zero that PyTorch knows
# as such, so that it stays 0 next to nan; a template calls `sgn` without a gradient.
ODD = ("trace", "sgn")
UNARY = [o.name for o in OPS.values() if callable_as(o) == "unary" and o.name not in ODD]
BINARY = [o.name for o in OPS.values() if callable_as(o) == "binary"] + ["div", "pow", "remainder"]
UNARY_INPLACE = [f"{name}_" for name in UNARY if OPS[name].inplace]
BINARY_INPLACE = [f"{o.name}_" for o in OPS.values() if callable_as(o) == "binary" and o.inplace]
BINARY_INPLACE.remove("floor_divide_")  # which tensors before it can get a gradient differs
SYMBOLS = ["+", "-", "*", "*", "/", "+", "**", "//", "%", "<", ">=", "==", "!=", "&", "|", "^"]
OF_INTEGERS = ("bitwise_", "gcd", "lcm", "&", "|", "^")


def apt(g: Scene, x: str, names: list[str]) -> str:
    """One of the operations; for a floating-point tensor rarely one for integers only."""
    if g.kind(g.tensor(x)) == "f" and not g.chance(0.03):
        names = [name for name in names if not name.startswith(OF_INTEGERS)]
    return g.text(names)


def leaf(g: Scene) -> str:
    return f"{g.new()} = {g.leaf()}"


def unary(g: Scene) -> str:
    x = g.any("f" if g.chance(0.85) else "")
    names = (
        UNARY if g.chance(0.5) else ["neg", "exp", "sin", "sqrt", "relu", "tanh", "abs", "clone"]
    )
    return f"{g.new()} = {x}.{apt(g, x, names)}()"


def binary(g: Scene) -> str:
    x = g.any("f" if g.chance(0.8) else "")
    y = g.number() if g.chance(0.25) else g.like(x)
    form = g.rng.random()
    if form < 0.6:
        a, b = (x, y) if g.chance(0.8) else (y, x)
        return f"{g.new()} = {a} {apt(g, x, SYMBOLS)} {b}"
    if form < 0.7:
        return f"{g.new()} = {x}.{g.pick(['add', 'sub'])}({y}, alpha={g.number()})"
    return f"{g.new()} = {x}.{apt(g, x, BINARY)}({y})"


def ternary(g: Scene) -> str:
    x = g.any("f")
    y, z = g.like(x), g.like(x)
    a, b = (g.number() if g.chance(0.4) else n for n in (y, z))
    return f"{g.new()} = " + g.text([
        f"torch.where({x} > {g.number()}, {a}, {b})",
        f"torch.where({y} > {z}, {x}, {a})",
        f"{x}.where({y} > 0, {b})",
        f"{x}.clamp({g.number()}, {g.number()})",
        f"{x}.clamp(min={a})",
        f"{x}.clamp({y}, {z})",
        f"{x}.masked_fill({y} > 0, {a})",
        f"torch.nn.functional.mse_loss({x}, {y})",
    ])  # fmt: skip


def reduction(g: Scene) -> str:
    x = g.any("f" if g.chance(0.9) else "")
    name = g.pick(["sum", "sum", "mean", "prod", "amax", "amin", "max", "min", "std", "var", "norm",
                   "argmax", "argmin", "all", "any", "sum", "mean"])  # fmt: skip
    if g.chance(0.4):
        return f"{g.new()} = {x}.{name}()"
    dim: object = g.dim(x)
    if name in ("sum", "mean", "amax", "amin", "std", "var") and g.chance(0.3):
        dim = (dim, g.dim(x))
    keep = ", keepdim=True" if g.chance(0.4) else ""
    if name in ("max", "min"):
        return f"{g.new()}, {g.new()} = {x}.{name}({dim}{keep})"
    if name == "norm":
        return f"{g.new()} = {x}.norm({g.pick([1, 2, 3, 0])}, {dim}{keep})"
    return f"{g.new()} = {x}.{name}({dim}{keep})"


def along(g: Scene) -> str:
    x = g.any("f" if g.chance(0.9) else "")
    d = g.dim(x)
    return f"{g.new()} = {x}." + g.text([
        f"softmax({d})", f"log_softmax({d})", f"logsumexp({d})", f"cumsum({d})",
        f"flip({d})", f"roll(1, {d})", "tril()", "triu()", f"repeat_interleave(2, {d})",
        f"repeat({', '.join(['2'] + ['1'] * max(0, g.tensor(x).dim() - 1))})",
        f"index_select({d}, torch.tensor([0, 0]))", "count_nonzero()", f"argmax({d})",
        f"gather({d}, torch.zeros({tuple(g.tensor(x).shape)}, dtype=torch.int64))",
        f"masked_select({g.like(x)} > 0)", "trace()", "diag()", "diag_embed()",
        "double()", "float()", "to(torch.float64)", "to(torch.float32)", "bool()",
        f"type_as({g.any()})", "contiguous()", "nonzero()", f"sum_to_size({x}.shape)",
    ])  # fmt: skip


def sizes(g: Scene, name: str) -> str:
    """A shape for the elements of a tensor; rarely a wrong one."""
    count = g.tensor(name).numel()
    options = [(count,), (-1,), (1, count), (count, 1)]
    options += [(a, count // a) for a in (2, 3) if count and count % a == 0]
    options += [(2, 3, count // 6)] if count and count % 6 == 0 else []
    options += [()] if count == 1 else []
    return str(g.pick(options) if g.chance(0.95) else g.pick([(5,), (-1, -1), (2, 7)]))


def view_of(g: Scene, x: str) -> str:
    """An expression for a view of a tensor."""
    t = g.tensor(x)
    d = g.dim(x)
    size = t.shape[d] if -t.dim() <= d < t.dim() else 1
    return x + g.text([
        f"[{g.position(t.shape[0] if t.dim() else 1)}]",
        f"[{index(g, x)}]",
        f"[{index(g, x)}]",
        ".t()" if t.dim() <= 2 else ".mT",
        f".view({sizes(g, x)})",
        f".view({sizes(g, x)})",
        f".reshape({sizes(g, x)})",
        f".transpose({d}, {g.dim(x)})",
        f".permute({g.rng.sample(range(t.dim()), t.dim())})",
        f".unsqueeze({d})",
        g.pick([".squeeze()", f".squeeze({d})"]),
        f".expand({(2, *t.shape)})",
        f".expand({tuple(3 if n == 1 else n for n in t.shape)})",
        f".expand_as({g.like(x)})",
        f".narrow({d}, 0, {max(size - 1, 0)})",
        f".select({d}, {g.position(size)})",
        ".diagonal()",
        ".flatten()",
        f".unbind({d})[{g.position(size)}]",
        f".split(1, {d})[{g.position(size)}]",
        f".chunk(2, {d})[0]",
        f".tensor_split(2, {d})[0]",
        f".movedim({d}, 0)",
        ".detach()",
        ".data",
        ".view_as(" + g.like(x) + ")",
        f".unfold({d}, {min(2, size)}, 2)",
        ".ravel()",
        ".T" if t.dim() == 2 else "[...]",
f".as_strided({(2,) if t.numel() > 1 else ()}, {(1,) if t.numel() > 1 else ()})"
        if t.is_contiguous() and t.numel()
        else ".view(-1)",
        ".swapaxes(0, -1)",
        "[None]",
    ])  # fmt: skip


def view(g: Scene) -> str:
    x = g.any("f" if g.chance(0.9) else "")
    return f"{g.new()} = {view_of(g, x)}"


def views(g: Scene) -> str:
    """Several views at once."""
    x = g.any("f", least=1)
    d = g.dim(x, wrong=0)
    size = g.tensor(x).shape[d]
    if size < 2:
        raise LookupError
    call = g.pick([f"{x}.unbind({d})", f"{x}.split(1, {d})", f"{x}.chunk({size}, {d})",
                   f"torch.split({x}, {[1] * size}, {d})"])  # fmt: skip
    return f"{g.new()}, {g.new()}, *_ = {call}"


def index(g: Scene, x: str) -> str:
    """The index in brackets."""
    parts = []
    for size in g.tensor(x).shape[: g.rng.randrange(1, 4)]:
        parts.append(g.pick([
            lambda n=size: str(g.position(n)),
            lambda: ":", lambda: "1:", lambda: ":-1", lambda: "::2", lambda: "0:1",
        ])())  # fmt: skip
    if g.chance(0.1):
        parts.insert(g.rng.randrange(len(parts) + 1), "None")
    if g.chance(0.1):
        parts.insert(g.rng.randrange(len(parts) + 1), "...")
    return ", ".join(parts) or "..."


def chosen(g: Scene, x: str) -> str:
    """Indices by tensors: masks and positions."""
    t = g.tensor(x)
    places = [g.position(t.shape[0] if t.dim() else 1) for _ in range(g.pick([1, 2, 3]))]
    if t.dim() > 1 and g.chance(0.3):
        return f"{g.pick([':', '0', '...'])}, torch.tensor({[g.position(t.shape[1])]})"
    return g.text([f"torch.tensor({places})", f"{places}", f"{x} > {g.number()}",
                       f"{g.like(x)} > 0", f"torch.tensor({places[0]})"])  # fmt: skip


def indexed(g: Scene) -> str:
    x = g.any("f" if g.chance(0.9) else "")
    return f"{g.new()} = {x}[{chosen(g, x)}]"


def product(g: Scene) -> str:
    x = g.any("f", least=1)
    t = g.tensor(x)
    others = [
        n
        for n, o in g.machine.tensors().items()
        if g.chance(0.06)
        or (o.dim() and o.shape[-2 if o.dim() > 1 else -1] == t.shape[-1] and o.dtype == t.dtype)
    ]
    y = g.pick(others) if others else g.any("f")
    bias = g.any("f")
    return f"{g.new()} = " + g.text([
        f"{x} @ {y}", f"{x} @ {y}", f"{x}.matmul({y})", f"{x}.mm({y})", f"{x}.mv({y})",
        f"{x}.dot({y})", f"torch.outer({x}, {y})", f"{x}.t() @ {x}", f"{x} @ {x}.mT",
        f"torch.addmm({bias}, {x}, {y})", f"torch.bmm({x}, {y})", f"torch.tensordot({x}, {y}, 1)",
        f"torch.nn.functional.linear({x}, {y}.t())", f"torch.einsum('i,i->', {x}, {x})",
    ])  # fmt: skip


def linear(g: Scene) -> str:
    """A linear layer's product, mostly of a matrix of samples; or a weight, if none fits yet."""
    x = g.any("f", ndim=2 if g.chance(0.85) else None, least=1)
    t = g.tensor(x)
    tensors = g.machine.tensors().items()
    weights = [n for n, w in tensors
               if w.dim() == 2 and w.shape[-1] == t.shape[-1] and w.dtype == t.dtype]  # fmt: skip
    if not weights or g.chance(0.2):
        dtype = str(t.dtype).removeprefix("torch.")
        return f"{g.new()} = {g.leaf((g.pick([1, 2, 3]), t.shape[-1]), dtype)}"
    w = g.text(weights)
    biases = [n for n, b in tensors
              if b.shape == g.tensor(w).shape[:1] and b.dtype == t.dtype]  # fmt: skip
    bias = f", {g.pick(biases)}" if biases and g.chance(0.7) else ""
    if not biases and g.chance(0.3):
        return f"{g.new()} = {g.leaf(tuple(g.tensor(w).shape[:1]), str(t.dtype)[6:])}"
    if g.chance(0.05):
        bias = f", {g.any('f')}"
    return f"{g.new()} = torch.nn.functional.linear({x}, {w}{bias})"


def joined(g: Scene) -> str:
    x = g.any("f" if g.chance(0.9) else "")
    same = [n for n, t in g.machine.tensors().items() if t.shape == g.tensor(x).shape]
    y = g.pick(same) if g.chance(0.9) else g.any()
    d = g.dim(x)
    return f"{g.new()} = " + g.text([
        f"torch.cat([{x}, {y}], {d})", f"torch.stack([{x}, {y}], {d})",
        f"torch.cat([{x}, {y}, {x}], {d})", f"torch.stack([{x}, {y}, {x}])",
        f"torch.hstack([{x}, {y}])", f"torch.broadcast_tensors({x}, {y})[0]",
    ])  # fmt: skip
