"""The tensor itself: attributes, conversions, operators, copies, and memory that it shares."""

import copy
import pickle
import re
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from tests.answers import expressions, sessions, tables, warned


def _pickled(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


def _short(function: Any, *arguments: Any) -> str:
    """The value, or the error's text."""
    try:
        result = function(*arguments)
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"
    return f"{result.dtype} {[round(v, 4) for v in result.flatten().tolist()]}"


def _names(torch: Any) -> dict[str, Any]:
    return {
        "copy": copy, "np": np, "sys": sys, "tempfile": tempfile, "Path": Path, "short": _short,
        "x": torch.ones(2, requires_grad=True), "pickled": _pickled,
        "WAYS": {"copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": _pickled},
    }  # fmt: skip


session = sessions(_names)
tensor = session("""
attributes
    tensors = [
        torch.ones(2, 3), torch.ones(()), torch.ones(0, 4), torch.ones(2, dtype=torch.int64),
        torch.ones(2, 3).t(), torch.ones(3, dtype=torch.bool),
        torch.ones(2, 4, dtype=torch.float16)[:, ::2],
    ]
    for t in tensors:
        t.shape, t.size(), t.dtype, t.ndim, t.dim(), t.numel(), t.nelement(), list(t.stride())
        t.is_contiguous(), t.itemsize, t.element_size(), t.nbytes, t.is_floating_point()
        t.is_complex(), str(t.device), t.is_cuda, t.requires_grad, t.is_leaf
sizes
    t = torch.ones(2, 3, 4)
    t.size(0), t.size(-1), t.size(dim=1), t.size(3), t.size(-4), torch.ones(()).size(0)
    torch.ones(()).stride(-1), t.stride(0), t.shape[1:], t.shape + (5,), t.shape == (2, 3, 4)
    t.shape.numel(), len(t.shape), str(t.shape), torch.Size([1, 2]), isinstance(t.shape, tuple)
    torch.ones(()).shape, torch.Size((2, 3)) * 2
flags of grad
    y, z = x * 2, x.detach()
    x.requires_grad = True
    z.requires_grad = True
    [[t.requires_grad, t.is_leaf, t.grad_fn is None, t.retains_grad] for t in (x, y, z)]
    setattr(y, "requires_grad", False), x.requires_grad_(False).requires_grad
    torch.ones(2).requires_grad_().requires_grad
grad of inner tensors
    y = x * 2
    warned(lambda: y.grad), warned(lambda: x.grad), y.retain_grad(), warned(lambda: y.grad)
assigned grads
    for grad in (3, torch.ones(3), torch.ones(2).double(), torch.ones(2).long(), x, [1.0, 2.0]):
        setattr(x, "grad", grad)
    x.grad = torch.tensor([3.0, 4.0])
    (x * 2).sum().backward(), x.grad
    del x.grad
    x.grad
items
    torch.tensor(2.5).item(), torch.tensor([[3]]).item(), torch.tensor(True).item()
    torch.ones(2).item(), torch.ones(0).item(), torch.ones(2, 2).tolist(), torch.tensor(1).tolist()
    torch.ones(0).tolist(), float(torch.tensor([2.0])), int(torch.tensor(2.7))
    bool(torch.tensor([0.0])), float(torch.ones(2)), int(torch.ones(2)), bool(torch.ones(2))
    bool(torch.ones(0)), range(torch.tensor(1.0)), list(range(torch.tensor(3)))
    [10, 20, 30][torch.tensor(1)], [1, 2][torch.ones(2, dtype=torch.int64)]
    [1, 2][torch.tensor(0.0)]
lengths and iteration
    t = torch.arange(6.0).reshape(3, 2).requires_grad_()
    a, b, c = t
    len(t), list(t), [name_of(r.grad_fn) for r in (a, b, c)], len(torch.tensor(1.0))
    iter(torch.tensor(1.0)), 2.0 in t, 9 in t, torch.tensor(3.0) in t, "x" in t, list(torch.ones(0))
to numpy
    y = torch.ones(2)
    array = y.numpy()
    array[0] = 7
    y, x.numpy(), (x * 2).numpy(), x.detach().numpy().tolist(), x.numpy(force=True).tolist()
    np.asarray(y).tolist(), str(np.asarray(y).dtype), np.asarray(x)
    str(np.asarray(y, dtype="float64").dtype), np.array(torch.tensor(3)).item()
    str(np.array([1.0, 2.0]) @ np.asarray(y.double()))
copies
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x * 3).sum().backward()
    twin, pair, loaded = copy.deepcopy(x), copy.deepcopy([x, x]), pickled(x.detach())
    with torch.no_grad():
        _ = twin.add_(1)
    twin, twin.grad, twin.is_leaf, x, pair[0] is pair[1], x.clone()
    raised(lambda: copy.deepcopy(x * 2)).split("  ")[0], loaded, torch.clone(x).requires_grad
    copy.copy(x.detach())
formats
    x = torch.tensor(3.14159)
    f"{x:.2f}", f"{x}", f"{torch.ones(2)}", f"{torch.tensor(3):d}"
    f"{torch.tensor(2.0, requires_grad=True):.1f}", f"{torch.ones(2):.2f}", str(x)
    f"{torch.tensor([1.5])}"
hashes
    a, b = torch.ones(1), torch.ones(1)
    hash(a) == hash(a), len({a, b, a}), {a: 1}[a], a in [b], a is b
operators
    operands = [
        torch.tensor([1.5, -2.0]), torch.tensor([3, 2]), torch.tensor([True, False]),
        torch.tensor(2.0, dtype=torch.float64), torch.tensor(3, dtype=torch.int32),
        torch.tensor([5, 200], dtype=torch.uint8), 2, -0.5, True,
    ]
    for symbol in "+ - * / // % ** & | ^ == != < <= > >=".split():
        function = eval(f"lambda a, b: a {symbol} b")
        for a in operands:
            for b in operands if torch.is_tensor(a) else operands[:6]:
                short(function, a, b)
    for a in operands[:6]:
        short(lambda a: -a, a), short(lambda a: +a, a), short(abs, a), short(lambda a: ~a, a)
foreign operands
    x = torch.ones(2)
    x + "a", "a" + x, x + None, x < "a", x == "a", x != "a", x == None, x @ 2, x & 1
numpy operands
    x = torch.ones(2)
    x * np.float64(2.0), np.float64(2.0) * x, np.float32(2.0) + x, x + np.int64(3)
    (x * np.float64(2.0)).dtype, type(np.float64(2.0) * x).__name__, type(np.int64(2) - x).__name__
data pointers
    x = torch.ones(4)
    x.data_ptr() == x.view(2, 2).data_ptr(), x[1:].data_ptr() - x.data_ptr()
    x.clone().data_ptr() == x.data_ptr(), x.detach().data_ptr() == x.data_ptr()
    x.data.data_ptr() == x.data_ptr()
devices
    x = torch.ones(2)
    str(x.device), repr(x.device), x.device.type, x.cpu() is x, x.to("cpu") is x, x.get_device()
    x.device == torch.device("cpu"), torch.ones(1, device="cpu")
constructor
    torch.Tensor([1, 2]), torch.Tensor(2, 3).shape, torch.Tensor([[1.5]]).dtype
    torch.Tensor(torch.ones(2)), torch.Tensor().shape, isinstance(torch.ones(1), torch.Tensor)
    torch.is_tensor(torch.ones(1)), torch.is_tensor([1])
reversing
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = reversed(x)
    (y * torch.tensor([3.0, 5.0])).sum().backward()
    name_of(y.grad_fn), x.grad, warned(torch.tensor(2.0).adjoint)
in place beside arrays
    x, a = torch.tensor([1.0, 2.0]), np.array([3.0, 4.0])
    y = x
    y += a
    x *= np.float64(2)
    z, b = x.clone(), a.copy()
    z[0] = np.float64(7)
    b[:] = x
    b[0] = torch.tensor(5.0)
    y, x, z, repr(b), z.__setitem__(slice(None), a)
    a.__setitem__(slice(None), x.clone().requires_grad_())
order of copies of arrays
    a = np.arange(24.0).reshape(2, 3, 4)
    for b in (a.transpose(2, 0, 1), a[:, ::2], np.broadcast_to(a[:, :1], (2, 3, 4)), a.T, a[0, 0]):
        torch.tensor(b).stride(), torch.tensor(b, dtype=torch.int32).stride()
switches
    cudnn = torch.backends.cudnn
    before = cudnn.deterministic, cudnn.benchmark
    cudnn.deterministic, cudnn.benchmark = True, True
    cudnn.deterministic, cudnn.benchmark
    cudnn.deterministic, cudnn.benchmark = before
    before, cudnn.deterministic, cudnn.benchmark
""")
copies = session("""
shared memory
    b = torch.arange(6.0).reshape(2, 3)
    for several in ([b, b[:1]], [b[1:], b], [b.detach(), b.data], [b.t(), b[:, 1]], [b, b]):
        first, second = copy.deepcopy(several)
        first[0, 0] = -5
        second[-1] = 7
        first, second, first is second, second._is_view(), list(second.stride())
    for way in WAYS.values():
        whole, part = way([b, b[1:]])
        whole[1, 0] = 77
        part
    b
shared by a module
    module = torch.nn.Module()
    module.register_buffer("whole", torch.zeros(3))
    module.register_buffer("part", module.whole[1:])
    module.weight = torch.nn.Parameter(torch.ones(2))
    module.seen = module.weight.data
    module.also = module.weight
    twin = copy.deepcopy(module)
    twin.whole[1] = 5
    twin.weight.data[0] = 3
    twin.part, twin.seen, twin.also is twin.weight, module.part, list(twin.state_dict())
strides
    b = torch.arange(6.0).reshape(2, 3)
    tensors = {
        "expanded": torch.ones(3, 1).expand(3, 4), "transposed": b.t(), "step": b[:, ::2],
        "part": b[1:], "order": torch.zeros(2, 3, 4).permute(2, 0, 1), "number": torch.tensor(3.0),
        "nothing": torch.zeros(0, 3), "one of many": b[1, 1],
    }
    for name, x in tensors.items():
        for called, way in WAYS.items():
            for kind in (torch.Tensor.detach, torch.nn.Parameter):
                y = way(kind(x))
                f"{name} {called} {kind.__name__}", y, list(y.stride()), y._is_view()
attributes
    makers = {
        "tensor": lambda: torch.ones(2), "leaf": lambda: torch.ones(2, requires_grad=True),
        "parameter": lambda: torch.nn.Parameter(torch.ones(2)),
        "frozen": lambda: torch.nn.Parameter(torch.ones(2), False),
        "buffer": lambda: torch.nn.Buffer(torch.ones(2), persistent=False),
        "integers": lambda: torch.ones(2, dtype=torch.int64),
    }
    for name, make in makers.items():
        for called, way in WAYS.items():
            x = make()
            x.note = [1]
            _ = x.requires_grad and x.sum().backward()
            y = way(x)
            f"{name} {called}", getattr(y, "note", None), getattr(y, "persistent", None)
            y.requires_grad, hasattr(y, "note") and y.note is x.note, y.grad, y._version
            type(y) is type(x)
not leaves
    made, part = x * 2, torch.ones(2, 2, requires_grad=True)[0]
    for way in WAYS.values():
        way(made), way(part)
    y = copy.copy(made)
    y.detach()[0] = 9
    y.is_leaf, y.grad_fn is None, made
""")


def hooks(torch: Any) -> Any:
    """Hooks are lost, with a warning where they are on a plain tensor."""
    for kind in (torch.Tensor.clone, torch.nn.Parameter):
        for way in (copy.copy, copy.deepcopy, _pickled):
            x = kind(torch.ones(2)).requires_grad_()
            x.register_hook(lambda g: g * 3)
            x.register_post_accumulate_grad_hook(print)
            texts = [re.sub("<function.*?>", "<function>", t) for t in warned(lambda: way(x))]
            with warnings.catch_warnings(action="ignore"):
                y = way(x)
            (y * 1).sum().backward()
            yield [texts, y.grad]


memory = session("""
to dlpack
    x = torch.arange(6.0).view(2, 3)
    array = np.from_dlpack(x)
    array[0, 0] = 7
    view = np.from_dlpack(x[:, ::2].t())
    x, array.flags.writeable, [view.tolist(), view.strides], np.from_dlpack(torch.tensor(3.0)).shape
    np.from_dlpack(torch.zeros(0, 3)).shape, np.from_dlpack(torch.tensor([True, False])).tolist()
    [int(n) for n in x.__dlpack_device__()], type(x.__dlpack__()).__name__
    x.clone().requires_grad_().__dlpack__(), (x.clone().requires_grad_() * 2).__dlpack__()
    x.__dlpack__(stream=3), [hasattr(x, "__array_interface__"), hasattr(x, "__array_struct__")]
from dlpack
    array = np.arange(6.0).reshape(2, 3)
    x = torch.from_dlpack(array)
    array[0, 0] = 9
    y = torch.from_dlpack(array.T)
    z = torch.from_dlpack(array, copy=True)
    array[0, 1] = 8
    fixed = np.arange(3)
    fixed.setflags(write=False)
    [x, y, y.stride(), z], torch.from_dlpack(fixed), warned(lambda: torch.from_dlpack(fixed))
    [torch.from_dlpack(np.ones(2, kind)).dtype for kind in ("f2", "i1", "u1", "i8", "?")]
    raised(torch.from_dlpack, np.array(["a"])).partition(" dtypes")[0], torch.from_dlpack(3)
    torch.from_dlpack([1.0])
between tensors
    x = torch.arange(4.0)
    y = torch.from_dlpack(x)
    capsule = torch.utils.dlpack.to_dlpack(x)
    z = torch.utils.dlpack.from_dlpack(capsule)
    z[0] = 5
    [x, y, y is x], torch.utils.dlpack.from_dlpack(capsule)
    torch.from_dlpack(x.clone().requires_grad_()), torch.from_dlpack(torch.to_dlpack(x))
buffers
    held = bytearray(range(1, 9))
    x = torch.frombuffer(held, dtype=torch.int16)
    held[0] = 0
    frombuffer, byte, whole = torch.frombuffer, torch.uint8, torch.int32
    x, frombuffer(held, dtype=whole, count=1, offset=4)
    frombuffer(held, dtype=torch.int16, count=2, offset=1)
    frombuffer(np.arange(3.0), dtype=torch.float64)
    frombuffer(held, dtype=torch.float32, requires_grad=True).requires_grad
    frombuffer(held, dtype=byte, count=-2), frombuffer(held, dtype=whole, offset=3)
    frombuffer(held, dtype=whole, offset=9), frombuffer(held, dtype=byte, offset=-1)
    frombuffer(held, dtype=whole, count=3), frombuffer(held, dtype=byte, count=0)
    frombuffer(bytearray(), dtype=byte), frombuffer("text", dtype=byte)
    frombuffer(held, dtype=whole, requires_grad=True)
arrays
    asarray, held = torch.asarray, np.arange(3.0)
    shared, own, leaf = asarray(held), asarray(held, copy=True), torch.ones(2, requires_grad=True)
    held[0] = 9
    memory = torch.arange(3.0).untyped_storage()
    shared, own, asarray([1, 2]), asarray(3.5), asarray(held, dtype=torch.float32)
    asarray(leaf) is leaf, asarray(leaf * 2), asarray(leaf * 2, requires_grad=True)
    asarray(torch.ones(2), requires_grad=True), asarray(bytearray(b"abc"))
    asarray(bytearray(8), dtype=torch.float32), memory[2:9].nbytes()
    asarray(memory, dtype=torch.uint8), sys.getsizeof(memory) - sys.getsizeof(memory[:0])
    raised(asarray, [1, 2], copy=False).split(":")[0]
    raised(asarray, held, dtype=torch.float32, copy=False).split(":")[0]
    torch.arange(2.0).view(dtype=torch.int32), raised(torch.ones(2).pin_memory).split(":")[0]
files
    from_file = torch.UntypedStorage.from_file
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/x"
        _ = Path(path).write_bytes(bytes(range(16)))
        first = from_file(path, False, 8)
        values = torch.asarray(first, dtype=torch.uint8)
        values[0] = 7
        written = torch.asarray(from_file(path, True, 16), dtype=torch.int16)
        written[7] = 0
        first.nbytes(), values, written, list(Path(path).read_bytes()), from_file(path).nbytes()
        raised(from_file, path, False, 80).replace(path, "x")
""")


def _traits(torch: Any) -> dict[str, Any]:
    return {
        "copy": copy, "x": torch.arange(6.0).reshape(2, 3), "s": torch.tensor(2.0),
        "g": torch.ones(2, 3, requires_grad=True), "i": torch.tensor([1, 2]),
    }  # fmt: skip


table = tables(_traits)
conversions = table("""
x.to(None) is x|x.to(None, copy=True) is x|x.to() is x|x.to(dtype=None) is x|x.to(None, None) is x
x.to("cpu", torch.float64).dtype|x.to(device=None) is x
x.to(torch.float32, False, True) is x|x.to("a")|x.to([1])|x.to(i).dtype
x.to(torch.int64, True).dtype|x.to(None, torch.float64).dtype|x.to(copy=True) is x|x.to(float).dtype
x.to(torch.device("cpu")) is x|x.to(memory_format=torch.contiguous_format) is x
x.to("cpu", None, True) is x|x.t().to(memory_format=torch.contiguous_format).stride()
x.t().to(torch.float64).stride()|x.t().to(torch.float32, copy=True).stride()
x.t().to(torch.float64, memory_format=torch.contiguous_format).stride()|x.t().double().stride()
x.t().int().stride()|x[:, ::2].double().stride()|x.expand(2, 2, 3).double().stride()
x.expand(2, 2, 3).int().stride()
""")
reversed_and_adjoint = table("""
reversed(x)|reversed(i)|reversed(s)|reversed(g)|list(reversed(i))|s.adjoint()|x.adjoint()
i.adjoint()|torch.adjoint(x)
""")
kinds = table("""
x.layout|torch.strided|x.layout is torch.strided|isinstance(torch.strided, torch.layout)
torch.layout()|copy.deepcopy(torch.strided) is torch.strided|x.is_cpu|x.is_cuda|x.is_sparse
x.is_meta|x.is_mps|x.is_quantized|x.is_mkldnn|x.is_xpu|x.is_nested|x.is_sparse_csr|x.is_xla
x.is_ipu|x.is_vulkan|x.is_maia|x.is_mtia|x.is_shared()|x.is_pinned()|x.is_signed()|i.is_signed()
x.is_pinned("cpu")|x.is_pinned(device=None)
x.bool().is_signed()|x.is_same_size(x)|x.is_same_size(i)|x.dim_order()
x.t().dim_order()|x.is_contiguous(memory_format=torch.contiguous_format)|x.real is x|g.real is g
torch.real(x) is x|x.imag|torch.imag(x)|x.conj() is x|torch.conj(x) is x|x.resolve_conj() is x
x.resolve_neg() is x|torch.conj(1)|torch.is_floating_point(x)
torch.is_floating_point(i)|torch.is_floating_point(1)
""")
storage = table("""
x.storage_offset()|x[1:].storage_offset()|x[1, 1].storage_offset()|x.t()[1].storage_offset()
x.untyped_storage().data_ptr() == x.data_ptr()|x.untyped_storage().nbytes()
x[1:].untyped_storage().nbytes()|len(x.untyped_storage())|x.untyped_storage().size()
x.untyped_storage().device|x.untyped_storage()[7]|x.untyped_storage().element_size()
x.untyped_storage().data_ptr() == x[1].untyped_storage().data_ptr()
x.untyped_storage() == x[1].untyped_storage()|x.untyped_storage() == x.clone().untyped_storage()
x.expand(3, 2, 3).untyped_storage().nbytes()|x.untyped_storage() == 3
""")
OPERATORS = ("+", "-", "*", "/", "//", "%", "**", "@", "==")
PAIRS = """
x a|a x|g a|a g|x z|z x|z g|i k|k i|n a|a n|x single|single x|x double|double x|i whole|whole i
i single|single i|g single|single g
"""


def _arrays(torch: Any) -> dict[str, Any]:
    x = torch.tensor([1.0, 2.0])
    return {
        "np": np, "x": x, "g": x.clone().requires_grad_(), "i": torch.tensor([1, 0]),
        "n": torch.tensor(2.0), "a": np.array([3.0, 4.0]), "k": np.array([1, 0]),
        "z": np.array(2.0), "single": np.float32(2), "double": np.float64(2), "whole": np.int64(2),
    }  # fmt: skip


table = tables(_arrays)
# An array on the right is computed by NumPy and wrapped; one on the left is an error.
operators = table(
    "|".join(pair.replace(" ", f" {o} ") for pair in expressions(PAIRS) for o in OPERATORS)
)
calls = table("""
np.sin(x)|np.sin(g)|np.asarray(x)|np.asarray(g)|np.array(x)|np.array([n, n])|np.add(x, a)
np.add(a, x)|np.add(x, x)|np.multiply(x, 2)|np.dot(a, x)|np.matmul(a, x)|np.argmax(x)
np.concatenate([x, a])|np.stack([x, x])|np.allclose(x, a)|np.exp(i)|np.abs(x)|np.sqrt(n)
np.isnan(x)|np.zeros_like(x)|np.clip(x, 0, 1)|np.where(x > 1, x, 0)|np.reshape(x, (2, 1))
np.transpose(x)|np.linalg.norm(x)|np.round(x)|np.cumsum(x)|np.sort(x)|np.shape(x)|np.ndim(x)
np.float32(n)|a[i]|a[i[0]]|x[k]|x[np.int64(1)]|x[a > 3]|torch.tensor([single, double])
torch.tensor([a, a])|torch.tensor(single)|torch.tensor(whole)|torch.full((2,), single)
x.__array__()|x.__array__(np.float64)|x.__array_wrap__(a)|x.__array_wrap__(a > 3)|x.numpy()
single in x|max(x)|sum(x)|x.__iadd__(a)|a.__iadd__(x)|np.add.reduce(x)|np.less(x, a)
np.add(x, 1, out=a.copy())|np.multiply.outer(a, x)|x == np.ones(3)|x != a|x == np.array(["a", "b"])
x < a|x.__eq__(a)|np.unique(i)
""")
devices = tables(lambda torch: {"D": torch.device, "copy": copy, "pickle": pickle})("""
D('cuda')|D('cuda:0')|D('cuda', 1)|D('cpu')|D('cpu:0')|D('cpu', 0)|D(D('cuda'))|D(type='cuda')
D(1)|D('mps')|D('meta')|D(type='cuda', index=1)|D('cuda', None)|D('cuda:1').index|D('cuda').type
D('cuda') == D('cuda:0')|D('cpu') == D('cpu:0')|D('cuda:1') == D('cuda', 1)|D('cpu') == 'cpu'
hash(D('cuda:1')) == hash(D('cuda', 1))|str(D('cuda:1'))|str(D('cpu'))|f"{D('cpu')}"|D('foo')
D('cuda:x')|D('cuda:-1')|D('cuda:')|D('cuda:01')|D('')|D('CPU')|D('cuda:1', 1)|D('cuda', -1)
D(1.5)|copy.deepcopy(D('cuda:1'))|pickle.loads(pickle.dumps(D('cuda:1')))|{D('cpu'): 1}[D('cpu')]
torch.ones(2).device|torch.ones(2).device == D('cpu')|torch.ones(2, device='cpu:0').device
torch.ones(2).to('cpu', torch.float64)|torch.ones(2).to(D('cpu'), torch.float64, True)
torch.ones(2).to(None)|torch.ones(2, device='foo')|torch.ones(2).to('foo')|torch.ones(2).to('mps')
torch.ones(2, device=1.5)|torch.ones(2).to('xpu')|torch.ones(2, device=None)
torch.ones(2).new_zeros(2, device='cpu')|torch.eye(2, device='cpu')|torch.Generator().device
torch.full_like(torch.ones(2), 3, device='cpu')|torch.nn.Linear(2, 1, device='cpu').weight.device
torch.nn.Linear(2, 1).to(D('cpu')).weight.device|torch.nn.Linear(2, 1).to('foo')
torch.as_tensor([1.0], device='cpu')
torch.cuda.is_available()|torch.cuda.device_count()|torch.cuda.is_initialized()
torch.cuda.manual_seed(0)|torch.cuda.manual_seed_all(0)|torch.cuda.empty_cache()
torch.cuda.memory_allocated()|torch.cuda.max_memory_allocated()|torch.cuda.is_bf16_supported()
torch.accelerator.is_available()|torch.accelerator.device_count()
torch.backends.mps.is_available()|torch.backends.mps.is_built()|torch.backends.cudnn.enabled
torch.backends.cudnn.deterministic|torch.backends.cudnn.benchmark|torch.backends.cudnn.allow_tf32
""")
