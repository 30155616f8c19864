"""Autocast: its settings, its rules of dtypes, its cache and its decorators."""

import importlib
import warnings
from typing import Any

from tests.answers import raised, sessions


def _names(torch: Any) -> dict[str, Any]:
    functional = torch.nn.functional

    def inside(*args: Any, **named: Any) -> list[Any]:
        """The settings and the dtype of a product in a region, and the warnings of the region."""
        with warnings.catch_warnings(record=True, action="always") as caught:
            region = torch.autocast(*args, **named)
        with region:
            settings = [torch.is_autocast_enabled(kind) for kind in ("cpu", "cuda")]
            settings += [torch.get_autocast_dtype(kind) for kind in ("cpu", "cuda")]
            settings += [torch.is_autocast_cache_enabled(), (o @ o).dtype]
        return [*settings, *(str(w.message) for w in caught)]

    def dtypes(function: Any, *kinds: str) -> Any:
        """The dtypes of the results in regions of both lower dtypes, for inputs of these dtypes."""
        given = [o.to(getattr(torch, kind)) for kind in kinds]
        return [raised(run, region, function, given) for region in (bfloat16, torch.float16)]

    def run(region: Any, function: Any, given: list[Any]) -> Any:
        with torch.autocast("cpu", dtype=region):
            out = function(*given)
        return [part.dtype for part in (out if isinstance(out, tuple) else (out,))]

    def of_module(module: Any, *given: Any) -> Any:
        def flat(value: Any) -> list[Any]:
            if isinstance(value, tuple):
                return [part for inner in value for part in flat(inner)]
            return [value.dtype]

        with torch.autocast("cpu"):
            return flat(module(*given))

    class Scale(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cpu")
        def forward(ctx: Any, a: Any) -> Any:
            seen.append(["forward", a.dtype, torch.is_autocast_enabled("cpu"), (o @ o).dtype])
            return a * 2

        @staticmethod
        @torch.amp.custom_bwd(device_type="cpu")
        def backward(ctx: Any, g: Any) -> Any:
            seen.append(["backward", g.dtype, torch.is_autocast_enabled("cpu"), (o @ o).dtype])
            return g * 2

    class InSingle(Scale):
        forward = torch.amp.custom_fwd(  # type: ignore[assignment]
            lambda ctx, a, more=None: (
                seen.append([a.dtype, torch.is_autocast_enabled("cpu"), (o @ o).dtype]), a * 2
            )[1],
            device_type="cpu", cast_inputs=torch.float32,
        )  # fmt: skip

    seen: list[Any] = []
    o, bfloat16 = torch.ones(2, 2), torch.bfloat16
    weight = torch.nn.Parameter(torch.ones(2, 2))
    return {
        "o": o, "weight": weight, "inside": inside, "dtypes": dtypes, "of_module": of_module,
        "F": functional, "Scale": Scale, "InSingle": InSingle, "seen": seen,
        "x": torch.ones(2, 3, 2),
        "checkpoint": lambda *args, **named: importlib.import_module(
            f"{torch.__name__}.utils.checkpoint"
        ).checkpoint(*args, **named),
    }  # fmt: skip


session = sessions(_names)

settings = session("""
regions
    inside("cpu"), inside("cpu", dtype=torch.float16), inside("cpu", dtype=torch.float32)
    inside("cpu", dtype=torch.int32), inside("cpu", enabled=False), inside("cuda")
    inside("cuda", dtype=torch.bfloat16), inside("cuda", enabled=False)
    inside("cpu", cache_enabled=False), inside("cpu", dtype=torch.float32, enabled=False)
    inside("mps"), inside("xpu"), inside("cpu:0"), inside("cpu", torch.bfloat16, False, False)
    inside("meta"), inside("nope"), inside(3), inside("cpu", dtype="bfloat16")
    inside("cpu", enabled=1), inside("cpu", enabled=None), inside(torch.device("cpu"))
    torch.is_autocast_enabled("cpu"), torch.is_autocast_enabled()
nested regions
    region = torch.autocast("cpu")
    with region as entered:
        entered is region, (o @ o).dtype
        with torch.autocast("cpu", enabled=False):
            torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu"), (o @ o).dtype
            with torch.autocast("cpu", dtype=torch.float16):
                torch.get_autocast_dtype("cpu"), (o @ o).dtype
            torch.get_autocast_dtype("cpu"), (o @ o).dtype
        (o @ o).dtype
        raised(torch.mm, o, torch.ones(3, 3)).partition(":")[0]
        (o @ o).dtype
    (o @ o).dtype, torch.is_autocast_enabled("cpu")
questions
    [torch.amp.is_autocast_available(kind) for kind in ("cpu", "cuda", "mps", "meta")]
    torch.amp.is_autocast_available("nope"), torch.is_autocast_enabled("nope")
    torch.is_autocast_enabled(3), torch.is_autocast_enabled("meta")
    torch.is_autocast_enabled("cpu:0"), torch.get_autocast_dtype("meta")
    torch.get_autocast_dtype("mps"), torch.get_autocast_dtype(device_type="cpu")
    torch.autocast("cpu").device, torch.autocast("cpu").fast_dtype
    torch.autocast("cuda", enabled=False).fast_dtype
changes
    torch.set_autocast_dtype("cpu", torch.float16), inside("cpu")
    torch.set_autocast_dtype("cpu", torch.float32), inside("cpu")
    torch.set_autocast_dtype("cpu", torch.bfloat16), torch.set_autocast_enabled("cpu", True)
    torch.is_autocast_enabled("cpu"), (o @ o).dtype, torch.set_autocast_enabled("cpu", False)
    torch.set_autocast_enabled(True), torch.is_autocast_enabled(), (o @ o).dtype
    torch.set_autocast_enabled(False), torch.set_autocast_cache_enabled(False)
    inside("cpu"), torch.set_autocast_cache_enabled(True)
    torch.autocast_increment_nesting(), torch.autocast_increment_nesting()
    torch.autocast_decrement_nesting(), torch.autocast_decrement_nesting()
    torch.clear_autocast_cache(), torch.set_autocast_dtype("cpu", 3)
    torch.set_autocast_enabled("cpu", 3), torch.set_autocast_enabled("cpu")
former names
    warned(lambda: torch.get_autocast_cpu_dtype()), warned(lambda: torch.is_autocast_cpu_enabled())
    warned(lambda: torch.set_autocast_cpu_enabled(True)), torch.is_autocast_enabled("cpu")
    warned(lambda: torch.set_autocast_cpu_dtype(torch.float16)), torch.get_autocast_dtype("cpu")
    torch.set_autocast_dtype("cpu", torch.bfloat16), torch.set_autocast_enabled("cpu", False)
decorated functions
    @torch.autocast("cpu")
    def product(a):
        return a @ a
    product(o).dtype, product.__name__, torch.autocast("cpu", enabled=False)(product)(o).dtype
    torch.is_autocast_enabled("cpu")
""")

rules = session("""
dtypes of two operands
    kinds = ["float32", "bfloat16", "float16", "float64"]
    [(a, b, dtypes(torch.mm, a, b)) for a in kinds for b in kinds]
    kinds.append("int64")
    for function in (torch.cat, torch.stack):
        [(a, b, dtypes(lambda *both: function(both), a, b)) for a in kinds for b in kinds]
forms
    dtypes(lambda a: torch.mm(a, a, out=torch.empty(2, 2)), "float32")
    dtypes(lambda a: torch.matmul(a, a, out=torch.empty(2, 2)), "float32")
    dtypes(lambda a: a.clone().addmm_(a, a), "float32")
    dtypes(lambda a: torch.prod(a, 0, out=torch.empty(2).half()), "float16")
    dtypes(lambda a: torch.cat([a, a], out=torch.empty(0).half()), "float16")
    dtypes(lambda a: a @ a[0], "float32"), dtypes(lambda a: a[0] @ a[0], "float32")
    dtypes(lambda a: a[0].dot(a[0]), "float32"), dtypes(lambda a: torch.mv(a, a[0]), "float32")
    dtypes(lambda a: F.scaled_dot_product_attention(a, a, a), "float32")
    dtypes(lambda a: torch.vmap(torch.mm)(a[None], a[None]), "float32")
    dtypes(lambda a: torch.func.grad(lambda w: F.mse_loss(a @ w, a))(a), "float32")
    voxels = torch.ones(1, 1, 2, 2, 2)
    for args in ((), (2, 0, 1, True), (2, 0, 1, True, False), (2, 0, 1, False, True)):
        dtypes(lambda a: F.max_pool3d(voxels.to(a.dtype), 2, *args), "bfloat16")
    for named in ({}, {"ceil_mode": True}, {"return_indices": True}):
        dtypes(lambda a: F.max_pool3d(input=voxels.to(a.dtype), kernel_size=2, **named), "bfloat16")
    for mode in ("reflect", "replicate", "circular", "constant"):
        for k in (1, 2, 3):
            shape = (1, 1) + (4,) * k
            dtypes(lambda a: F.pad(a[0, 0].expand(shape), (1, 1) * k, mode), "bfloat16")
modules
    of_module(nn.Linear(2, 3), x), of_module(nn.Conv1d(3, 1, 1), x), of_module(nn.LayerNorm(2), x)
    of_module(nn.Embedding(2, 2), torch.zeros(2).long()), of_module(nn.BatchNorm1d(3), x)
    of_module(nn.RNN(2, 2), x), of_module(nn.GRU(2, 2), x), of_module(nn.RNNCell(2, 2), x[0])
    of_module(nn.LSTMCell(2, 2), x[0]), of_module(nn.GRUCell(2, 2), x[0])
    packed = nn.utils.rnn.pack_padded_sequence(x, [2, 1, 1])
    of_module(lambda p: nn.LSTM(2, 2)(p)[0].data, packed)
    of_module(nn.MultiheadAttention(2, 1), x, x, x), of_module(nn.TransformerEncoderLayer(2, 1), x)
    of_module(nn.TransformerDecoderLayer(2, 1), x, x), of_module(nn.CrossEntropyLoss(), o, o)
    of_module(nn.BCELoss(), o.bfloat16(), o), of_module(nn.PReLU(), x), of_module(nn.GELU(), x)
""")

gradients = session("""
gradients
    with torch.autocast("cpu"):
        y = torch.mm(o, weight)
        loss = F.mse_loss(y, torch.zeros(2, 2))
    y.dtype, y.grad_fn.name(), [n and n.name() for n, _ in y.grad_fn.next_functions], loss.dtype
    loss.backward(), weight.grad
    weight.grad = None
    with torch.autocast("cpu"):
        torch.mm(o, weight).sum().backward()
    weight.grad
without gradients
    with torch.autocast("cpu"):
        with torch.no_grad():
            a = torch.mm(o, weight)
        with torch.inference_mode():
            b = torch.mm(o, weight)
        c = torch.mm(o, weight)
    a.requires_grad, b.is_inference(), c.requires_grad
the cache
    for enabled in (True, False):
        with torch.autocast("cpu", cache_enabled=enabled):
            y, z = torch.mm(o, weight), torch.mm(o, weight)
            casts = [part.grad_fn.next_functions[1][0] for part in (y, z)]
            casts[0] is casts[1]
            with torch.no_grad():
                _ = weight.mul_(2)
            torch.mm(o, weight)[0, 0].item()
            with torch.autocast("cpu", enabled=False):
                pass
            torch.mm(o, weight)[0, 0].item()
            with torch.autocast("cpu"):
                torch.mm(o, weight)[0, 0].item()
            torch.mm(o, weight.view(2, 2))[0, 0].item()
            torch.clear_autocast_cache(), torch.mm(o, weight)[0, 0].item()
functions
    for region, function in ((True, Scale), (False, Scale), (True, InSingle), (False, InSingle)):
        a = torch.ones(2, 2, dtype=torch.bfloat16, requires_grad=True)
        with torch.autocast("cpu", enabled=region):
            y = function.apply(a)
        y.float().sum().backward(), a.grad.dtype
    with torch.autocast("cpu", dtype=torch.float16):
        y = Scale.apply(weight)
    with torch.autocast("cpu"):
        y.sum().backward()
        InSingle.apply(o.double(), [o.half()]).dtype
    seen
    torch.amp.custom_fwd(lambda ctx, a: a, device_type=3)
    torch.amp.custom_bwd(lambda ctx, a: a, device_type=3)
checkpoints
    layer, seen = nn.Linear(2, 2), []
    def part(a):
        out = layer(a)
        seen.append([out.dtype, torch.get_autocast_dtype("cpu"), torch.is_autocast_enabled("cpu")])
        return out
    for reentrant in (True, False):
        a = torch.ones(2, 2, requires_grad=True)
        with torch.autocast("cpu", dtype=torch.float16):
            y = checkpoint(part, a, use_reentrant=reentrant)
        y.sum().backward(), a.grad.dtype
    seen, layer.weight.grad.dtype
""")
