"""Mistakes in calls, unusual and former arguments: what comes of them, or what is said."""

import re
from typing import Any

import numpy as np

from tests.answers import expressions, sessions, tables


class Input:
    """Of the program's own."""


def _names(torch: Any) -> dict[str, Any]:
    own = type("Own", (torch.nn.Module,), {})
    axes = AXES.split()
    return {"Input": Input, "Own": own, "AXES": axes, "FEW": expressions(FEW)}


AXES = (
    "sum mean prod max min argmax argmin amax amin std var median logsumexp all any nansum nanmean"
)
FEW = """
torch.ones(1).std()|torch.ones(1, 3).var(0)|torch.std_mean(torch.ones(1))|torch.ones(0).std()
torch.var_mean(torch.ones(1, 2), 0)|torch.std(torch.ones(2, 2), 0, correction=5)
torch.std(torch.ones(2, 2), 0, correction=2)|torch.std(torch.ones(0, 3), 1)|torch.ones(2).var()
torch.ones(1).std(unbiased=False)
"""
session = sessions(_names)
mistakes = session("""
by numpys names
    x = torch.tensor([[3.0, 1.0, 2.0], [0.0, 5.0, 4.0]])
    for name in AXES:
        for f in (getattr(torch, name), getattr(torch.Tensor, name)):
            f(x, axis=0), f(x, axis=-1, keepdims=True)
    torch.cumsum(x, axis=1), x.cumsum(axis=0), x.cumprod(axis=1), x.sort(axis=1).indices
    x.argsort(axis=0), x.topk(1, axis=1).values, x.softmax(axis=1), torch.sort(x, axis=0)
    torch.stack([x, x], axis=1).shape, torch.cat([x, x], axis=1).shape, x.diff(axis=0)
    torch.var_mean(x, axis=0), torch.std_mean(x, axis=1), x.quantile(0.5, axis=1)
    x[None].squeeze(axis=0), torch.argmax(x, axis=5), x.max(axis=-3)
dtypes of python
    x = torch.tensor([1.0, 2.0])
    x.sum(dtype=float), x.mean(dtype=float), torch.prod(x, dtype=int), x.cumsum(0, dtype=float)
    torch.sum(x, 0, dtype=bool), torch.rand_like(x, dtype=float).dtype, x.norm(dtype=float)
    torch.randperm(3, dtype=None).dtype, x.mean(dtype=torch.int64), torch.mean(x, 0, dtype=int)
    x.nanmean(dtype=torch.int32)
close to what is of another dtype
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0], dtype=torch.float64)
    torch.isclose(x, y), torch.allclose(x, y), x.allclose(x.int()), torch.isclose(x, x, rtol=-1)
    torch.allclose(x, x, atol=-0.5), torch.allclose(x, x, 1e-5, float("nan"))
    torch.isclose(x, x + 1e-9), torch.isclose(x, 1.0)
    torch.isclose(x, x * float("nan"), equal_nan=True)
gradients of arguments in their former order
    y, w = torch.tensor([3.0, 4.0]), torch.tensor([1.0, 2.0], requires_grad=True)
    (w * 1).add_(0.5, y).mul_(w).addcmul_(2, w, y + 2).sum().backward(), w.grad
    raised(y.mul, y, 2).split(":")[0]
neither tensors nor numbers
    x = torch.tensor([1.0, 2.0])
    for function in (torch.amax, torch.argmin, torch.logsumexp, torch.cumprod):
        function([1.0], 0), function("a", 0), function(None, 0)
    for name in ("sin", "abs", "relu", "positive", "exp", "floor"):
        getattr(torch, name)([1.0, 2.0])
    for function in (torch.pow, torch.copysign):
        function(x, None), function(x, "a")
    torch.pow([1.0], x), x.pow_(None), x.copysign_("a"), torch.column_stack((x, 1))
    raised(torch.rand, 2, generator=3).split(":")[0]
    raised(torch.bernoulli, x / 2, generator=3).split(":")[0]
factors that are no numbers
    m = torch.ones(2, 2)
    torch.add(m, m, alpha="a"), m.addmm_(m, m, alpha="a")
dtypes as what they are not
    kind, size, device = torch.float32, torch.ones(2).shape, torch.device("cpu")
    kind(), kind + 1, torch.ones(2) + kind, kind < kind, kind.nope, size.nope, device[0]
    torch.promote_types(kind, "x"), torch.promote_types(1, kind)
    torch.promote_types(type1=kind, type2=torch.int64), torch.tensor([1], dtype=1)
    torch.full((2,), 1, dtype=1)
    [torch.Size.__name__, torch.dtype.__qualname__, type(device).__name__]
grids of what is no axis
    x = torch.tensor([1.0, 2.0])
    raised(torch.meshgrid, torch.ones(2, 2), x, indexing="ij").split(" got:")[0]
    torch.meshgrid(x, x.int(), indexing="ij"), torch.meshgrid(x, x, indexing="a")
    torch.meshgrid(indexing="ij"), torch.cartesian_prod(x, x.int())
    torch.meshgrid([], indexing="ij")
dimensions where a flag is asked for
    x = torch.ones(2, 3)
    x.sum(0, 1), torch.sum(x, 0, 1), x.mean(0, 1), x.max(0, 1), x.argmax(0, 1), x.topk(1, 0, 1)
    x.prod(0, 1), x.logsumexp(0, 1), x.median(0, 1), x.kthvalue(1, 0, 1), x.amax(0, 1)
    [raised(f, 0, 1).split(":")[0] for f in (x.std, x.var, x.any, x.all, x.sort, x.argsort)]
flags that are dimensions
    x = torch.tensor([[1, 1], [0, 2]])
    torch.unique(x, 0), x.unique(True, 1), x.unique(True, False, 1), torch.unique(x, True, 1, dim=0)
    torch.unique_consecutive(x, 0)
numbers where a flag is asked for
    x, v = torch.ones(2, 2), torch.ones(2)
    torch.svd(x, 1), x.svd(some=1), torch.lu_unpack(x, v.int(), True, 1), v.multinomial(1, 1)
    torch.combinations(v, 2, 1), x.max(0, keepdim=1), torch.nonzero(x, as_tuple=1)
    torch.avg_pool1d(x, 2, 1, 0, 1), torch.nn.functional.dropout(x, 0.5, 1)
    torch.isclose(x, x, equal_nan=1), torch.argmin(x, keepdims=1)
    [raised(f, 0.5, 0, 1).split(":")[0] for f in (x.quantile, x.nanquantile)]
    [raised(f, v, v, right=1).split(":")[0] for f in (torch.searchsorted, torch.bucketize)]
arguments of other types
    x = torch.rand(2, 2)
    torch.cdist("a", x), torch.cdist(x, 1.0), torch.trapezoid("a"), torch.lu_unpack([1.0], x)
    torch.where("a"), torch.diff(x, "a"), torch.isclose(x, x, "a"), torch.logit(x, "a")
    x.diff("a"), x.diff(n=[1]), x.isclose(x, atol="a"), x.allclose(x, None)
    raised(x.bernoulli, x).split(":")[0]
a gradient of a draw with one probability
    y = torch.zeros(2, requires_grad=True).bernoulli(1.0)
    y, y.sum().backward()
one tensor for several results
    x, out = torch.tensor([[1.0, 2.0], [0.0, 3.0]]), torch.empty(0)
    torch.median(x, 0, out=out), torch.kthvalue(x, 1, out=out), torch.sum(x, 0, out=(out, out))
sizes that do not fit
    x, s = torch.arange(6.0).reshape(2, 3), torch.tensor(1.0)
    x.view(torch.float64), x.t().view(torch.float64), x.t().view(torch.int16), s.view(torch.int64)
    x.view(torch.int16).shape, x.double().view(torch.float32).shape, x.rot90(1, [0, 5])
    x.repeat_interleave(torch.tensor([1, -2]), 0), x.flatten().split(torch.tensor(4))
    s.quantile(0.5, dim=2), x.reshape(torch.float64)
values at the edge
    nan = torch.tensor([[float("nan"), 1.0], [1.0, 2.0]])
    half = torch.tensor([0.25, 2.0, 3.0], dtype=torch.float16)
    torch.linalg.cholesky(nan), torch.linalg.cholesky_ex(nan).info, half.sinc()
    torch.digamma(torch.tensor([-1e-30, -0.25, -2.25])), torch.Size([2]).__radd__((1,))
    torch.tensor([1, 2]).softmax(0), torch.tensor([[1, 2]]).softmax(0)
    torch.tensor([[1, 2]]).log_softmax(0), torch.fmod(nan > 1, nan > 1)
    torch.multinomial(torch.ones(2, 3), 2).stride(), bits(torch.sinc(torch.ones(3).double()))
""")
unusual = session("""
relaid in place
    x, base = torch.arange(6.0).reshape(3, 2), torch.arange(6.0)
    part = base[1:4]
    _ = base.resize_(2, 2)
    base, part, torch.resize_as_(x, torch.zeros(1, 2)) is x, x.shape
    torch.get_device(x), x.get_device()
anomaly mode by its other name
    for given in ((True,), (True, False), (False,)):
        torch.set_anomaly_enabled(*given)
        torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()
    torch.set_anomaly_enabled(False, True)
a flag that is no bool
    x = torch.ones(2)
    made = [
        (torch.zeros, 2), (torch.ones, 2), (torch.empty, 2), (torch.tensor, [1.0]),
        (torch.full, (2,), 1.0), (torch.zeros_like, x), (torch.full_like, x, 1),
        (x.new_zeros, 2), (x.new_tensor, [1.0]), (x.new_full, (2,), 1.0),
    ]
    for f, *args in made:
        f(*args, requires_grad=1), f(*args, requires_grad="x")
    torch.zeros(2, requires_grad=None), x.requires_grad_(1), x.requires_grad_(None)
    setattr(x, "requires_grad", 1), setattr(x, "requires_grad", None)
    torch.nn.Parameter(x, 1), torch.nn.Parameter(x, requires_grad=None)
    [raised(f, 2, requires_grad=1).split("(")[0] for f in (torch.rand, torch.eye)]
dropout of integers
    f, x = torch.nn.functional, torch.tensor([1, 2, 3])
    f.dropout(x, 0.5), f.dropout(x, 0.5, training=False), f.dropout(x, 0.0), f.dropout(x, 1.0)
    f.dropout(x > 1, 0.5), f.dropout(x, 0.5, inplace=True)
tolerances below zero
    check, x = torch.autograd.gradcheck, torch.ones(2, dtype=torch.float64, requires_grad=True)
    check(torch.sin, (x,), atol=-1.0), check(torch.sin, (x,), rtol=-1e-3)
    check(torch.sin, (x,), atol=float("nan"))
    check(torch.sin, (x,), atol=-1.0, raise_exception=False)
    torch.autograd.gradgradcheck(torch.sin, (x,), atol=-1.0)
a word that no checkpoint knows
    checkpoint, x = torch.utils.checkpoint.checkpoint, torch.ones(2, requires_grad=True)
    for word in ("none", "default", "x", 3):
        checkpoint(torch.sin, x, use_reentrant=False, determinism_check=word)
""")
asked_by_the_way = session("""
versions
    of = torch.torch_version.TorchVersion
    texts = [
        "1.10.0a0", "1.10", "1.10.0", "2", "2.0.0", "2.0.0+cpu", "2.0.0+cu118", "2.0.1.dev3",
        "2.0.1rc2", "2.0.1", "2.0.1.post1", "2.0.1-2", "10.0", "1!0.1", "v1.2", "parrot", "",
    ]
    others = [*texts[:15], (2, 0), (1, 10, 0), (2,), ("2", "0", "1"), [2, 0]]
    held = ("__lt__", "__le__", "__eq__", "__ge__", "__gt__")
    for a in texts[:15]:
        ["".join(str(int(getattr(of(a), c)(b))) for c in held) for b in others]
    of("1.2") < "parrot", of("parrot") > "1.2", of("") < "1", of("2.0") != (2, 1)
    of("2.0") >= 2, of("2.0") == 2, of("2.0.1") >= (2, 0), of("1.2")[:3]
    hash(of("1.2")) == hash("1.2"), {of("1.2"): 1}["1.2"], f"{of('1.2')}", repr(of("1.2"))
    isinstance(torch.__version__, of)
blocks of a generator
    torch.manual_seed(0)
    with torch.random.fork_rng(devices=[], device_type="cpu"):
        first = torch.rand(1).item()
    first == torch.rand(1).item(), torch.random.fork_rng([], True, kind="cpu")
flags of cudnn
    cudnn = torch.backends.cudnn
    for flags in ({}, {"enabled": True, "benchmark": True}, {"deterministic": True}):
        with cudnn.flags(**flags):
            cudnn.enabled, cudnn.benchmark, cudnn.deterministic, cudnn.allow_tf32
        cudnn.enabled, cudnn.benchmark, cudnn.deterministic, cudnn.allow_tf32
globals called safe
    s = torch.serialization
    before = s.get_safe_globals()
    added = lambda: sorted(kind.__name__ for kind in s.get_safe_globals() if kind not in before)
    with s.safe_globals([Input, dict]):
        added()
    s.add_safe_globals([Input]), added(), s.clear_safe_globals(), s.get_safe_globals()
methods of modules
    nets = (torch.nn.Linear(1, 1), torch.nn.ReLU(), Own())
    repr(nets[0].parameters), repr(nets[1].parameters), repr(nets[2].parameters)
    repr(nets[0].state_dict), repr(nets[0].forward), repr(nets[0].register_buffer)
    repr(nets[0].named_modules), repr(nets[0].train), torch.nn.Module.parameters.__qualname__
    repr(torch.optim.SGD(nets[0].parameters(), 0.1).zero_grad)[:40]
slopes beside zeros
    # Those of running products, in memory for as many numbers as there are elements.
    rows = [[1.0, 2, 0, 3, 0, 4], [1, 2, 3, 4, 5, 6], [0, 1, 2, 3, 0, 1], [2, 0, 0, 1, 1, 1]]
    for dim in (0, 1):
        for recorded in (False, True):
            x = torch.tensor(rows, requires_grad=True)
            weighted = (x.cumprod(dim) * torch.arange(1.0, 7)).sum()
            (g,) = torch.autograd.grad(weighted, x, create_graph=recorded)
            g.tolist(), recorded and torch.autograd.grad((g * g).sum(), x)[0].tolist()
    for values in ([1.0, float("nan"), 0, 2], [1, float("inf"), 0, 2], [0.0, 0]):
        x = torch.tensor(values, requires_grad=True)
        x.cumprod(0).sum().backward(), str(x.grad)
    long = torch.ones(100_000)
    long[7::1000] = 0
    _ = long.requires_grad_()
    long.cumprod(0).sum().backward(), long.grad[:9].tolist(), long.grad.sum().item()
too few elements
    for call in FEW:
        str(eval(call, {"torch": torch})), warned(lambda: eval(call, {"torch": torch}))
""")


def _arguments(torch: Any) -> dict[str, Any]:
    return {"np": np, "x": torch.ones(2, 3), "i": torch.tensor([0, 1])}


# Arguments of the wrong kind: what the errors say, or where PyTorch's go on at length, their type.
table = tables(_arguments)
# A shape is integers, given one by one or as one sequence.
sizes = table("""
torch.zeros('a')|torch.zeros(('a',))|torch.zeros(2, 'a')|torch.zeros((2, 'a'))|torch.zeros(True)
torch.zeros(2, True)|torch.zeros(None)|torch.zeros([2, None])|torch.zeros(2.0)|torch.zeros()
torch.zeros(torch.tensor(2))|torch.zeros(2, torch.tensor(3))|torch.zeros(np.array([2, 3]))
torch.zeros(np.int64(2))|torch.full('a', 1)|torch.randn('a')|torch.ones(2, 1.5)
x.view(6, 'a')|x.view((6, 1.5))|x.view((6, True))|x.view(torch.tensor(6))|x.view(np.array(6))
x.expand((2, 'a'))|x.permute('a')|x.permute(0, 'a')|x.permute((0, 'a'))|x.reshape('a')
x.reshape(6, 'a')|x.repeat('a')|x.repeat(1, 'a')|x.flip('a')|x.flip(0, 'a')|x.roll('a')
x.roll(1, 'a')|x.roll(1.5)|x.tile('a')|x.tile((2, 'a'))
""")
# A dimension is an integer: no bool, no float, but a 0-d tensor of integers.
dimensions = table("""
x.sum((0, 'a'))|x.sum(torch.tensor(0))|x.sum(np.int64(0))|x.sum(None)|x.sum(dim=(0, 'a'))
x.softmax('a')|torch.softmax(x, 'a')|torch.softmax(x, 1.5)|torch.softmax(x, True)
torch.softmax(x, torch.tensor(0))|torch.softmax(x, torch.tensor([0]))|torch.softmax(x, None)
x.softmax(0, 'a')|x.unsqueeze('a')|x.unsqueeze(1.5)|x.unsqueeze(True)|x.transpose(0, 'a')
torch.transpose(x, 0, 'a')|x.argmax('a')|x.cumsum('a')|x.amax('a')|torch.amax(x, 'a')
x.amax(('a',))|x.unbind('a')|x.squeeze((0, 'a'))|x.select('a', 0)|x.select(0, 'a')|x.size('a')
x.stride('a')|torch.cat([x, x], 'a')|torch.stack([x, x], 1.5)|x.chunk('a')|x.flatten('a')
x.diagonal('a')|x.tril('a')|torch.tril(x, 1.5)|x.rot90(1.5)|x.as_strided('a', (1,))
""")
# What must be a tensor, or a sequence of them.
tensors = table("""
torch.cat(x)|torch.cat(1)|torch.cat([1, 2])|torch.cat([x, 1])|torch.stack('a')|x.equal(1)
x.expand_as(1)|x.view_as(1)|x.reshape_as(None)|x.type_as(1)|x.inner(1)|torch.inner(x, 1)
torch.kron(x, np.ones(2))|torch.cross(x, 1)|torch.outer(x[0], 1)|torch.atleast_1d(x, 1)
torch.broadcast_tensors(x, 1)|torch.meshgrid(1)|torch.ones_like(1)|torch.zeros_like('a')
torch.nn.functional.linear(np.ones((2, 3)), x)|torch.nn.functional.linear([1.0], x)
torch.nn.functional.linear(x, None)|torch.nn.Linear(3, 2)(np.ones((2, 3)))
torch.nn.functional.mse_loss(x, np.ones((2, 3)))|torch.nn.functional.mse_loss(x, [1.0])
torch.nn.functional.mse_loss(np.ones((2, 3)), x)|torch.nn.functional.l1_loss(x, 1.0)
torch.nn.functional.binary_cross_entropy(x, np.ones((2, 3)))
torch.take_along_dim(x, 1)
""")
numbers = table("""
torch.full((2,), 'a')|torch.eye('a')|torch.eye(1.5)|torch.full((2,), x)
torch.full((2,), torch.tensor(3.0))|torch.arange(torch.tensor(2))|torch.eye(np.int64(2))
x.masked_fill(x > 0, np.float32(2))|x.repeat_interleave(np.int64(2))|x.narrow(0, np.int64(0), 1)
""")
# Errors name what users have called: methods in place and their kin, put together of others.
inner = table("""
x.index_copy_(0, i, 1)|x.index_copy_(1, i, 1)|x.index_copy_(1, 1, x)|x.index_copy(1, i, 1)
x.index_add_(0, i, 1)|x.index_add_(1, i, 1)|x.index_add(1, 1, x)
x.scatter_add_(0, i, 1)|x.scatter_add_(1, i, 1)|x.scatter_add(1, 1, x)
x.scatter_reduce_(1, i, 1, 'sum')|x.index_select(1, 1)
x.gather(1, 1)|x.addcmul_(x, 1)
x.addmm(x, 1, beta=1)|torch.maximum(x, 1)
""")
# What PyTorch answers with a list of all forms of the function, or from inside another.
at_length = tables(_arguments, lambda answer: answer.split(":")[0])("""
x.view('a')|x.view(True)|x.view(None)|x.view()|x.expand('a', 2)|x.sum('a')|x.sum(1.5)|x.sum(True)
x.sum(torch.ones(2))|torch.sum(x, torch.ones(2))|x.sum({})|x.sum(dim='a')|x.max('a')|x.mean('a')
x.split('a')|x.split(['a'])|x.squeeze('a')|x.narrow('a', 0, 1)|x.narrow(0, 1.5, 1)
x.movedim('a', 0)|x.var('a')|x.repeat_interleave('a')|x.clamp('a')|x.clamp(0, x)|x.clamp_(x, 0)
torch.where(x > 0, x, 'a')|torch.where(1, x, x)|torch.linspace('a', 1, 2)|torch.arange('a')
torch.arange(x)|x.fill_('a')|x.masked_fill(x > 0, 'a')|x.masked_fill('a', 1)|x.norm(x)
x.tensor_split('a')|x.transpose_(0, 'a')
""")


def _called(torch: Any) -> dict[str, Any]:
    x, b = torch.arange(4.0).reshape(2, 2), torch.arange(8.0).reshape(2, 2, 2)
    return {"x": x, "y": x + 1, "v": torch.arange(2.0), "b": b}


called = tables(_called)
arguments_in_their_former_order = called("""
torch.add(x,2,x)|x.add(2,x)|x.clone().add_(2,x)|torch.sub(x,2,x)|x.sub(2,x)|x.clone().sub_(2,x)
torch.addcmul(x,2,x,x)|x.addcmul(2,x,x)|x.clone().addcmul_(2,x,x)|torch.addcdiv(x,2,y,y)
x.addcdiv(2,y,y)|x.clone().addcdiv_(2,y,y)|torch.addmm(2,x,x,y)|torch.addmm(2,x,3,x,y)
x.addmm(2,x,y)|x.addmm(2,3,x,y)|x.clone().addmm_(2,x,y)|x.clone().addmm_(2,3,x,y)
torch.baddbmm(2,b,b,b)
torch.baddbmm(2,b,3,b,b)|b.baddbmm(2,b,b)|b.baddbmm(2,3,b,b)|b.clone().baddbmm_(2,b,b)
b.clone().baddbmm_(2,3,b,b)|torch.add(x,2,x,out=y.clone())|torch.addmm(2,x,x,y,out=y.clone())
x.add(x,x)|x.addmm(2,x)|x.addmm(2,3,x)|x.addmm(x,x,x)|x.addmm(1.5,x,x)|x.addmm(True,x,x)
x.addmm(2,x,x,alpha=3)|torch.add(x,2,1)|x.clone().add_(2,1)
""")
two_numbers = called("""
torch.add(1.0,2.0)|torch.add(1,2)|torch.add(1.0,2)|torch.mul(2,3)|torch.sub(1.0,2)|torch.div(1,2)
torch.add(1.0,2.0,alpha=2)|torch.true_divide(1,2)|torch.floor_divide(7,2)|torch.add(True,False)
torch.sub(True,False)|torch.multiply(2,3)|torch.subtract(2,3)|torch.divide(2,3)
torch.add(1.0,2.0,out=torch.empty(()))|torch.pow(2,3)|torch.exp(1.0)|torch.div(1,2).dtype
""")
types_and_methods = called("""
x.long().type(torch.Tensor)|x.double().type(torch.Tensor).dtype|x.type('torch.Tensor').dtype
x.type(torch.DoubleTensor).dtype|x.type(torch.tensor)|x.type(3)|x.type('torch.NoTensor')
x.__rmatmul__(y)
torch.Tensor.__rmatmul__(x, 2)|x.is_same_size(y)|torch.Tensor.is_same_size(x, v)
""")
closed_ranges = called("""
torch.range(0,4)|torch.range(1,2,.5)|torch.range(0,3,dtype=torch.int64)|torch.range(5)
torch.range(start=1,end=3)|torch.range(1,0)|torch.range(0,1,0)|torch.range(0,4).dtype
torch.range(0,2,out=torch.empty(0))|torch.range(0,1,requires_grad=True)|torch.range(0,0.3,0.1)
torch.range(3,0,-1)|torch.range(0,-1)|torch.range(0,float('inf'))|torch.range(1,10,4)
""")


def _beyond(torch: Any) -> dict[str, Any]:
    names = {"x": torch.ones(3), "n": 2**62, "tree": torch.utils._pytree}
    names |= {"wide": torch.ones(1).expand(2**45), "long": torch.ones(2**23)}
    return names | {"picture": torch.zeros(1, 1, 3), "to": torch.zeros(())}


def _shown(answer: str) -> str:
    """Without numbers of bytes, and sizes, that are beyond all means."""
    return re.sub(r"allocate \d+ bytes", "allocate bytes", re.split(r" with sizes|\n", answer)[0])


beyond = tables(_beyond, _shown)
too_large = beyond("""
torch.zeros(n)|torch.ones(n)|torch.empty(n)|torch.full((n,), 1.0)|torch.rand(n)|torch.randn(n)
torch.randint(3, (n,))|torch.arange(n)|torch.linspace(0, 1, n)|torch.logspace(0, 1, n)
x.new_zeros(n)|x.new_ones(n)|x.new_empty(n)|x.new_full((n,), 1)|torch.empty(0).resize_(n)
torch.zeros(n, 4)|torch.zeros(2**32, 2**32)|torch.zeros_like(wide)|torch.ones_like(wide)
torch.full_like(wide, 2)|wide.clone()|wide.contiguous()|wide + 1|wide.exp()|wide.double()
torch.cat([wide, wide])|torch.outer(long, long)|long[:, None] * long|long[:, None] @ long[None]
torch.diag(long)|x.repeat(2**45)|x.repeat_interleave(2**45)|torch.nn.Linear(2**23, 2**23)
torch.Tensor(n)|torch.Tensor(2**45)|torch.Tensor(2**40, 2**40)|torch.rand_like(wide)
torch.tril_indices(2**40, 2**40)|torch.triu_indices(2**45, 2**45)
torch.nn.functional.dropout(wide)|torch.nn.functional.interpolate(picture, 2**45)
""")
of_a_higher_kind = beyond("""
x.int().clamp_(0.5, 2)|x.byte().clamp_(0.5, 2)|x.long().clamp_(max=0.5)|x.short().clamp_(min=0.5)
x.int().clamp_(x)|x.int().clamp_min_(0.5)|x.int().clamp_max_(0.5)|x.int().clamp_max_(0)
x.bool().clamp_(0, 1)|x.int().clamp_(True, 2)|x.int().bitwise_and_(x)|x.int().bitwise_and_(1.5)
x.int().bitwise_or_(1.5)|x.byte().bitwise_xor_(x)|x.bool().bitwise_xor_(x.int())
x.bool().bitwise_xor_(1)|x.int().bitwise_left_shift_(1.5)|x.bitwise_and_(1)|x.int().__iand__(1.5)
torch.cumsum(x, 0, dtype=torch.bool)|torch.cumprod(x, 0, dtype=torch.bool)
torch.constant_pad_nd(x.byte(), (1, 1), -1)|torch.constant_pad_nd(x.byte(), (1, 1), 300)
torch.constant_pad_nd(x.bool(), (1, 1), -1)|torch.constant_pad_nd(x.int(), (1, 1), 2.5)
torch.constant_pad_nd(x.int(), (1, 1), float("nan"))|torch.constant_pad_nd(x.half(), (1, 1), 1e9)
torch.nn.functional.pad(x.byte(), (1, 1), value=-1)
torch.nn.functional.pad(x.long(), (1, 1), value=2**62 + 1)
torch.tensor(eval("[" * 64 + "1.0" + "]" * 64)).ndim
torch.tensor(eval("[" * 129 + "1.0" + "]" * 129))
""")
of_forms = beyond("""
torch.norm(x, 2, 0, False, None, torch.float64)|torch.norm(x, 2, 0, False, torch.zeros(()))
torch.norm(x, 2, 0, False, torch.float64)|x.norm(2, 0, False, torch.float64)
torch.norm(x, "fro", None, False, None, torch.float64)|torch.norm(x, p=1, out=torch.zeros(()))
torch.norm(x, dtype=torch.float64)
tree.tree_map(lambda a: a + 1, {"b": [1, 2], "a": (3,)})
tree.tree_map(lambda a, b: a + b, [1, (2, 3)], [4, (5, 6)])
tree.tree_flatten([1, {"b": (2, None)}])[0]
tree.tree_unflatten([4, 5], tree.tree_flatten([1, {"b": 2}])[1])
torch.compiler.disable(len)([1])|torch.compiler.disable(recursive=False)(len)([1])
""")
# What `to` of tensors and of modules takes, and what it refuses.
TARGETS = """
[]|{}|None, True|None, None|None, None, True|"cpu", True|"cpu", None, True|"cpu", None, 1
"cpu", "cpu"|"cpu", copy=True|"cpu", float|float|dtype=float|0|-1|device=0|"nope"
torch.float64, True
torch.float64, True, copy=False|torch.float64, True, True, True
torch.float64, True, copy=None
torch.float64, dtype=torch.float64|torch.float64, device="cpu"|np.float32|x, True|x, dtype=x.dtype
x, x|tensor=x.double()|other=x|foo=1|"cpu", non_blocking=1|"cpu", memory_format=None
"cpu", memory_format=3|memory_format=torch.contiguous_format|torch.device("cuda")|torch.int64
"""
targets = tables(lambda torch: {"x": torch.ones(2), "own": torch.nn.Linear(1, 1), "np": np})(
    "|".join(
        form.replace("...", target)
        for target in expressions(TARGETS)
        for form in ("x.to(...)", "own.to(...).weight.dtype")
    )
)
sizes_and_devices = table("""
torch.Size([1.5])|torch.Size([1, "a"])|torch.Size("ab")|torch.Size([None])|torch.Size(3)
torch.Size([True, 2])|type(torch.Size([True])[0])
torch.Size(torch.tensor([1, 2]))|torch.Size([torch.tensor(1)])|torch.Size([torch.tensor(1.0)])
torch.Size({3: 4})|torch.Size(n for n in (1, 2))|torch.Size([1, 2]) + (1.5,)
(1.5,) + torch.Size([1, 2])|torch.Size([1]) + [2]|torch.Size([1, 2]) * 2|torch.Size()
torch.device(-1)|torch.device(0)|torch.device(1.5)|torch.device(None)|torch.device([])|torch.device()
torch.device("cpu", -1)|torch.device("cpu", 1.5)|torch.device("cpu", True)|torch.device("cuda", 1)
torch.zeros(2, device=0)|torch.zeros(2, device=-1)|torch.ones(2).cuda(0)|torch.ones(2).cuda(None)
torch.ones(2).cuda("cpu")|torch.ones(2).cuda("cuda:1")
""")
factors = tables(
    lambda torch: {
        "x": torch.ones(2, 2),
        "n": torch.tensor([[1, 2], [3, 4]]),
        "one": torch.tensor(1.0),
        "leaf": torch.tensor(2.0, requires_grad=True),
    }
)("""
torch.add(n, n, alpha=1.0)|torch.add(n, 1, alpha=1.0)|n.sub(1, alpha=1.0)|torch.add(1, 1, alpha=1.0)
n.add_(n, alpha=1.0)|torch.add(n, x, alpha=1.0)|torch.add(x, n, alpha=True)|n.add(n, alpha=True)
torch.add(x, x, alpha=one)|torch.add(x, x, alpha=leaf)|x.sub_(x, alpha=leaf)|x.add(x, alpha=one * 2)
torch.addcmul(x, x, x, value=leaf)|torch.addcdiv(x, x, x, value=leaf)|torch.full((2,), leaf)
torch.addcmul(x, x, x, value=one)|torch.addmm(x, x, x, alpha=leaf)|torch.addmm(x, x, x, beta=leaf)
torch.addmm(x, x, x, alpha=one + 1)|torch.addmm(n, n, n, alpha=1.5)
""")
# What takes a layout; `at` stands for it.
CREATING = """
torch.zeros(2, at)|torch.ones(2, at)|torch.empty(2, at)|torch.full((2,), 1.0, at)|torch.eye(2, at)
torch.arange(2, at)|torch.linspace(0, 1, 2, at)|torch.logspace(0, 1, 2, at)|torch.rand(2, at)
torch.randn(2, at)|torch.randint(3, (2,), at)|torch.randperm(3, at)
torch.normal(0.0, 1.0, (2,), at)|torch.zeros_like(x, at)|torch.ones_like(x, at)
torch.empty_like(x, at)|torch.full_like(x, 2, at)|torch.rand_like(x, at)|torch.randn_like(x, at)
torch.randint_like(x, 3, at)|x.new_zeros(2, at)|x.new_ones(2, at)|x.new_empty(2, at)
x.new_full((2,), 1.0, at)
torch.tril_indices(2, 2, at)|torch.triu_indices(2, 2, at)|torch.scalar_tensor(1.0, at)
torch.zeros(2, at, out=torch.empty(2))|torch.tensor([1.0], at)
torch.as_tensor([1.0], at)|x.new_tensor([1.0], at)
"""
# How each takes a layout: the result's dtype and shape, or the type of the error.
layouts = tables(
    lambda torch: {"x": torch.ones(2)},
    lambda told: told if "no error" in told else told.partition(":")[0],
)(
    "|".join(
        f"({call}).shape".replace(" at", f" layout={layout}")
        for layout in ("torch.strided", "None", "'strided'", "0")
        for call in expressions(CREATING)
    )
)


def _pictures(torch: Any) -> dict[str, Any]:
    x = torch.ones(1, 1, 4, 4, 4)
    return {"nn": torch.nn, "x1": x[..., 0, 0], "x2": x[..., 0], "x3": x}


windows_that_stay = tables(_pictures, lambda told: told[:99])("""
nn.MaxPool1d(2, 0)(x1)|nn.MaxPool2d(2, 0)(x2)|nn.MaxPool3d(2, 0)(x3)|nn.AvgPool1d(2, 0)(x1)
nn.AvgPool2d(2, 0)(x2)|nn.AvgPool3d(2, 0)(x3)
nn.AvgPool2d(2, [])|nn.AvgPool2d(2, [])(x2)|nn.AvgPool2d(2, (0, 1))(x2)|nn.AvgPool2d(2, -1)(x2)
nn.functional.avg_pool2d(x2, 2, 0)
nn.functional.max_pool2d(x2, 2, (1, 0))
""")


former_constructors = tables(lambda torch: {"x": torch.ones(2)})("""
torch.FloatTensor([1.0], device="cpu")|torch.LongTensor([2.0], device=None)
torch.FloatTensor(2, device="cpu").shape|torch.FloatTensor([1.0], device="cuda")
torch.FloatTensor(device="cpu")|torch.FloatTensor(x, device="cpu")
torch.FloatTensor([1.0], device=3)|torch.Tensor([2.0], device="meta")
torch.Tensor(2, device="cuda")|torch.Tensor(x, device="cpu")
x.new([1.0], device="cpu")|x.new(3, device="cpu").shape|x.new([1.0], device="cuda")
x.new(device="cpu")|x.bfloat16().new([1.0], device="cpu")
""")
of_no_dimensions = tables(lambda torch: {"x": torch.arange(6).reshape(2, 3)})("""
torch.roll(x, 1, None)|x.roll(1, dims=None)|x.roll((4,), None)|torch.roll(x, (1, 2), None)
torch.func.vmap(lambda row: row.roll(1, None))(x)
""")
deletions = session("""
of what tensors have
    x, leaf = torch.ones(2), torch.ones(2, requires_grad=True)
    for text in ("del x.data", "del x[0]", "del x[:]", "del x.requires_grad", "del leaf.grad"):
        raised(exec, text, {"x": x, "leaf": leaf})
of what cannot be deleted
    for name in ("shape", "dtype", "grad_fn", "is_leaf", "nothing"):
        raised(delattr, torch.ones(2), name).split(":")[0]
""")
bytes_in_bfloat16 = session("""
of a storage
    held = torch.tensor([1.0, -2.5], dtype=torch.bfloat16).untyped_storage()
    held.nbytes(), len(held), held.size(), [held[k] for k in range(4)], held[1:3].nbytes()
    torch.ones(3).bfloat16()[1:].untyped_storage().nbytes(), torch.ones(3).half().nbytes
""")
expanded_outputs = session("""
of index_select
    x, i = torch.arange(4.0), torch.tensor([0, 1])
    for size in ((2,), (3,), (2, 2)):
        torch.index_select(x, 0, i, out=torch.ones(1).expand(size))
        torch.index_select(x, 0, i[:0], out=torch.ones(1).expand(size))
""")
ranges_beyond_a_float = session("""
of random integers
    for kind in (torch.float16, torch.float32, torch.float64):
        for bounds in ((2**11,), (2**11 + 2,), (2**24 + 2,), (-2049, 2), (-(2**53) - 2, 2)):
            warned(lambda: raised(torch.empty(2, dtype=kind).random_, *bounds))
    warned(lambda: torch.randint(0, 2**30, (2,), dtype=torch.float32))
""")
of_sampling = session("""
grids of a single point
    theta, volume = torch.eye(2, 3)[None], torch.eye(3, 4)[None]
    for flag in (None, True, False):
        warned(lambda: F.affine_grid(theta, (1, 1, 1, 2), flag))
        warned(lambda: F.affine_grid(volume, (1, 1, 1, 2, 2), flag))
    F.affine_grid(theta, (1, 1, 2, 2), 1)
    F.grid_sample(torch.ones(1, 1, 2, 2), torch.zeros(1, 1, 1, 2), align_corners=1)
pictures without channels
    x = torch.ones(1, 0, 4, 4, requires_grad=True)
    grid = torch.zeros(1, 2, 2, 2, requires_grad=True)
    for mode in ("bilinear", "nearest", "bicubic"):
        out = F.grid_sample(x, grid, mode, align_corners=True)
        out.shape, out.sum().backward(), x.grad.shape, grid.grad
""")
forms = session("""
numbers as tensors without dimensions
    x = torch.tensor([-1.5, 0.25, 2.0], requires_grad=True)
    t, m, i = torch.tensor(0.5), torch.ones(2, 2), torch.tensor(2)
    calls = [
        lambda: F.elu(x, t), lambda: F.elu_(x * 1, t), lambda: F.celu(x, t),
        lambda: F.leaky_relu(x, t), lambda: F.leaky_relu_(x * 1, t), lambda: F.softplus(x, t, i),
        lambda: F.hardtanh(x, -t, t), lambda: F.hardshrink(x, t), lambda: F.softshrink(x, t),
        lambda: F.threshold(x, t, i), lambda: torch.add(x, x, alpha=t), lambda: x.sub(x, alpha=i),
        lambda: (x * 1).add_(x, alpha=t), lambda: torch.addcmul(x, x, x, value=t),
        lambda: torch.addcdiv(x, x, x, value=t), lambda: x.clamp(-1, t), lambda: x.clamp(t, 1),
        lambda: (x * 1).clamp_(-1, t), lambda: x.logit(t / 9), lambda: torch.var(x, correction=t),
        lambda: F.huber_loss(x, x * 2, delta=t), lambda: F.smooth_l1_loss(x, x * 2, beta=t),
        lambda: torch.trapezoid(x, dx=t),
        lambda: torch.dist(x, x * 2, i), lambda: F.pad(x, (1, 1), value=t),
        lambda: F.cross_entropy(x, i, label_smoothing=t),
        lambda: F.nll_loss(x[None], i[None], ignore_index=i - 1),
    ]
    for call in calls:
        torch.autograd.grad(call().sum(), x)
    torch.addmm(m, m, m, beta=t, alpha=t), torch.matrix_power(m, i), torch.tensordot(m, m, i)
    F.cosine_similarity(m, m, i - 1, t), torch.histc(m, i), torch.logspace(1, 2, 2, base=i)
    grad = t.clone().requires_grad_()
    torch.add(m, m, alpha=grad), F.elu(m, alpha=grad), x.clamp(grad, 1)
    F.leaky_relu(m, torch.tensor([0.5])), F.softplus(m, None), F.dropout(m, grad)
other than the asked kinds
    x, v = torch.ones(2, 2), torch.ones(2)
    F.batch_norm(x, None, None, None, None, 1), F.instance_norm(x[None], v, v, None, None, 1)
    F.batch_norm(x, v, v, None, None, True, None), F.rrelu(x, 0.1, 0.2, 1)
    F.max_pool1d(x, 2, ceil_mode=1), F.poisson_nll_loss(x, x, 1)
    F.kl_div(x, x, reduction="sum", log_target=1)
    F.triplet_margin_loss(x, x, x, swap=1), x.new_tensor(1, requires_grad=None)
    F.cosine_similarity(x, x, None), torch.cov(x, correction=1.5), torch.pinverse(x, None)
    x.fill_diagonal_(1, 1), torch.diff(x, True)
    raised(F.cross_entropy, x, v.long(), ignore_index=1.5).split(":")[0]
    torch.zeros_like(x, memory_format=1), x.clone(memory_format=1)
    torch.ones(2, pin_memory=1), F.pairwise_distance(x, x, v.requires_grad_()[0])
    x.view(4, dtype=torch.int32), raised(x.sort, stable=1).split(" - ")[0]
    torch.repeat_interleave(x, 2, 0, output_size=7)
    torch.repeat_interleave(x, torch.tensor([1, 2]), 0, output_size=7)
one integer where several are asked for
    x = torch.ones(2, 3)
    torch.flip(x, 1), torch.tile(x, 2), torch.permute(x, 1), torch.reshape(x, 6), torch.flip(x)
    torch.rot90(x, 1, 2), torch.broadcast_to(x, 2), torch.unflatten(x, 1, 3)
    torch.split_with_sizes(x, 2), torch.as_strided(x, 2, (1,)), torch.as_strided(x, (2,), 1)
    x.flip(1), x.tile(2), x.permute(1, 0), x.reshape(6), torch.flip(x, (1,)), torch.tile(x, [2])
    torch.permute(x, dims=(1, 0)), torch.reshape(input=x, shape=(6,)), torch.reshape(x, [3, -1])
    torch.roll(x, 1, 1), torch.sum(x, 1), torch.squeeze(x, 1).shape
results in memory that elements share
    m, v, out = torch.arange(4.0).view(2, 2), torch.ones(2), torch.zeros(2, 1).expand(2, 2)
    torch.tril(m, out=out), torch.triu(m, out=out), torch.bmm(m[None], m[None], out=out[None])
    torch.mv(m, v, out=torch.zeros(1).expand(2)), out, torch.mm(m, m, out=out)
""")
