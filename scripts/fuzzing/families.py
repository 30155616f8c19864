"""Calls of whole families of functions: templates whose `{letters}` are filled at random.

`templates.txt` holds them by family, split by spaces.
"""

import re
from collections.abc import Callable
from pathlib import Path

from fuzzing.grammar import view_of
from fuzzing.scene import Scene

# LAPACK's results for numbers that are not finite differ between libraries.
LAPACK = re.compile(r"linalg\.(det|inv|solve|cholesky)|det\(|inverse\(")
FAMILIES = Path(__file__).with_name("templates.txt").read_text("utf-8").split("# ")[1:]
TEMPLATES = {name: words.split() for name, _, words in (f.partition("\n") for f in FAMILIES)}


class Slots(dict[str, str]):
    """Random values for the letters of a template about the tensor ``x``, drawn at each place."""

    def __init__(self, g: Scene, x: str) -> None:
        self.g, self.x = g, x

    def __missing__(self, letter: str) -> str:
        g, x = self.g, self.x
        shape = tuple(g.tensor(x).shape)
        places = [g.rng.randrange(max(shape[0], 1) if shape else 1) for _ in range(g.pick([1, 2]))]
        fillers: dict[str, Callable[[], object]] = {
            "x": lambda: x,
            "y": lambda: g.like(x),
            "z": lambda: g.like(x),
            "d": lambda: g.dim(x),
            "e": lambda: g.dim(x),
            "n": g.number,
            "p": lambda: g.text(["1", "2", "3", "0.5", "float('inf')", "-1"]),
            "q": lambda: g.text(["0.5", "0.25", "1.0"]),
            "r": lambda: g.text(["sum", "prod", "mean", "amax", "amin"]),
            "i": lambda: f"torch.tensor({places})",
            "s": lambda: f"torch.tensor([-1.0, 0.0, 0.5, 2.0], dtype={x}.dtype)",
            "w": lambda: f"torch.full({shape[-1:]}, 0.5, dtype={x}.dtype)",
            "zeros": lambda: f"torch.zeros({shape}, dtype=torch.int64)",
            "act": lambda: g.text(TEMPLATES["activations"]),
            "written": lambda: g.text(TEMPLATES["written activations"]),
            "loss": lambda: g.text(TEMPLATES["losses"]),
            "scalar": lambda: f"(lambda v: ({fill(g, x, 'scalars')}).atan())",
            "curve": lambda: f"(lambda v: ({fill(g, x, 'maps')}).atan())",
            "map": lambda: "(lambda v: " + fill(g, x, "maps") + ")",
        }
        return str(fillers[letter]())


def fill(g: Scene, x: str, family: str) -> str:
    """A random template of a family, filled."""
    call = g.text(TEMPLATES[family]).format_map(Slots(g, x))
    if call.startswith("as_strided") and not g.tensor(x).numel():
        raise LookupError  # NumPy decides where an empty view begins
    return call


def apart(g: Scene, call: str, target: str) -> str:
    """A call with copies of tensors in the memory that is written to; else it is not defined."""
    memory = g.tensor(target).untyped_storage().data_ptr()
    for name, t in g.machine.tensors().items():
        if t.untyped_storage().data_ptr() == memory:
            call = re.sub(rf"\b{name}\b", f"{name}.clone()", call)
    return call


def method(g: Scene) -> str:
    x = g.any("f" if g.chance(0.85) else "")
    call = fill(g, x, g.text(["along", "plain"]))
    if LAPACK.search(call) and not g.tensor(x).data.isfinite().all():
        raise LookupError
    if call == f"cross({x})":
        raise LookupError  # the result is only the rounding of terms that cancel
    if call.startswith("kth") and len(g.tensor(x).data.unique()) < g.tensor(x).numel():
        raise LookupError  # the choice among equal elements depends on the search
    return f"{g.new()} = {x}.{call}"


def function(g: Scene) -> str:
    x = g.any("f" if g.chance(0.85) else "")
    if g.tensor(x).element_size() == 2:
        raise LookupError  # PyTorch lacks some of them for float16
    call = fill(g, x, "functions")
    given = [t for n, t in g.machine.tensors().items() if re.search(rf"\b{n}\b", call)]
    if LAPACK.search(call) and not all(t.data.isfinite().all() for t in given):
        raise LookupError
    if call == f"linalg.cross({x},{x})":
        raise LookupError
    if "_mean" in call and not g.tensor(x).data.isfinite().all():
        raise LookupError  # the order of infinities decides between inf and nan
    return f"{g.new()} = torch.{call}"


def network(g: Scene) -> str:
    x = g.any("f")
    call = fill(g, x, "networks")
    given = [t for n, t in g.machine.tensors().items() if re.search(rf"\b{n}\b", call)]
    if any(not t.numel() or t.element_size() == 2 for t in given):
        raise LookupError  # PyTorch has own ways for empty tensors, and lacks some for float16
    if "attention" in call and not all(t.data.isfinite().all() for t in given):
        raise LookupError  # its kernels differ for numbers that are not finite
    return f"{g.new()} = torch.nn.functional.{call}"


def change(g: Scene) -> str:
    x = g.any("f" if g.chance(0.9) else "")
    where = view_of(g, x) if g.chance(0.2) else x
    return f"{where}.{apart(g, fill(g, x, 'changes'), x)}"


def written(g: Scene) -> str:
    """A result given to `out`: a tensor of its shape, sometimes a view made on the spot."""
    x = g.any("f" if g.chance(0.85) else "")
    call = fill(g, x, "created" if g.chance(0.2) else "written")
    try:
        result = eval(f"torch.{call}", g.machine.names)
    except Exception:
        raise LookupError from None
    if result.ndim > 2 and re.match("tri[lu]", call):
        raise LookupError  # PyTorch writes beyond the memory of batches in an order of their own
    shape, kinds = result.shape, g.kind(result) + "f"
    names = [n for n, t in g.machine.tensors().items()
             if t.shape == shape and g.kind(t) in kinds and not t.requires_grad
             and t.element_size() <= result.element_size()]  # else the rounding shows  # fmt: skip
    fresh = f"torch.zeros({tuple(shape[::-1])}, dtype={result.dtype}).mT"
    if len(shape) == 2 and (not names or g.chance(0.4)):
        return f"{g.new()} = torch.{call[:-1]}, out={fresh})"
    if not names:
        raise LookupError
    out = g.text(names)
    return f"{g.new()} = torch.{apart(g, call, out)[:-1]}, out={out})"


def transform(g: Scene) -> str:
    x = g.any("f", least=1)
    if not g.tensor(x).numel() or g.tensor(x)._is_view():
        raise LookupError  # PyTorch cannot stack empty tensors, and views may hide their bases
    call = re.sub(rf"\b{x}\b", f"{x}.clone()", fill(g, x, "transforms"))
    if "hessian" in call and "norm" in call and not g.tensor(x).data.all():
        raise LookupError  # at zero PyTorch's has one second derivative forwards, none backwards
    return f"{g.new()} = torch.{call} * 1"


def custom(g: Scene) -> str:
    x = g.any("f")
    return f"{g.new()} = {fill(g, x, 'custom')}"


def train(g: Scene) -> str:
    """Modules and optimizers."""
    makers = [n for n in g.machine.names if n[0] in "mo" and n[1:].isdigit()]
    if makers and g.chance(0.7):
        name = g.text(makers)
        if name[0] == "m":
            return f"{g.new()} = {name}({g.any('f')}.float())"
        return f"{name}.{g.pick(['step()', 'step()', 'zero_grad()', 'zero_grad(False)'])}"
    if g.chance(0.5):
        leaves = [n for n, t in g.machine.tensors().items() if t.requires_grad and not t._is_view()]
        x = g.text(leaves) if leaves else g.any("f")
        return f"o{g.hook()} = torch.optim.{fill(g, x, 'optimizers')}"
    made = f"m{g.hook()}"
    name = g.pick(["weight", "bias"])
    module = f"{made} = torch.nn.{fill(g, g.any(), 'modules')}"
    return f"torch.manual_seed(1); {module}; {g.new()} = {made}.{name}"


def drawn(g: Scene) -> str:
    """Random numbers of a seed."""
    x = g.any("f")
    seed, d = f"torch.manual_seed({g.rng.randrange(9)})", g.pick([0.0, 0.5])
    return f"{seed}; {g.new()} = " + g.text([
        f"torch.rand_like({x})", f"torch.randn_like({x})", f"torch.nn.functional.dropout({x}, 0.5)",
        f"{x}.sigmoid().bernoulli()", f"{x}.normal_({d}, 2.0)", f"{x}.uniform_({d}, 2.0)",
        f"torch.normal({x}, 1.0)", f"torch.randint(0, 5, {x}.shape)", f"{x}.bernoulli_(0.5)",
        f"{x}.exponential_()", f"{x}.softmax(-1).multinomial(1)",
        "torch.randperm(4, out=torch.zeros((4, 2), dtype=torch.int64)[:, 0])",
    ])  # fmt: skip
