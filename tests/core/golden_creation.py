"""Tensors from Python's values, NumPy's arrays, shapes and ranges."""

import array
import collections
import warnings
from typing import Any

import numpy as np

from tests.answers import sessions, tables

KINDS = ("uint8", "int8", "int32", "int64", "float16", "float32", "float64")


def _nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def _reshape(array: np.ndarray, *shape: int) -> None:
    with warnings.catch_warnings(action="ignore"):  # from NumPy 2.5 on
        array.shape = shape


def _names(torch: Any) -> dict[str, Any]:
    return {
        "np": np, "array": array, "collections": collections, "T": torch.tensor,
        "reshape": _reshape, "nan": float("nan"), "inf": float("inf"), "nested": _nested,
        "Tensor": torch.Tensor, "Size": torch.Size, "full": torch.full, "arange": torch.arange,
        "b": torch.bool, "linspace": torch.linspace, "a": np.array([1.0, 2.0, 3.0]),
        "zero": lambda kind: torch.zeros(2, dtype=kind),
        "pair": np.zeros(2, [("a", "i1"), ("b", "f8")]),
        **{kind[0] + kind.lstrip("uintfloa"): getattr(torch, kind) for kind in KINDS},
    }  # fmt: skip


table = tables(_names)
limits = table("""
T(300, dtype=u8)|T(-1, dtype=u8)|T(-300, dtype=u8)|T([300], dtype=u8)|T([-255], dtype=u8)
T([-256], dtype=u8)|T([128], dtype=i8)|T(-129, dtype=i8)|T([1e10], dtype=i32)|T(nan, dtype=i32)
T([nan], dtype=i64)|T([inf], dtype=i64)|T([1.5, 2.7], dtype=i64)|T([-1.5], dtype=u8)
T([2.0**63], dtype=i64)|T([-2.0**63], dtype=i64)|T([127.5], dtype=i8)|T([-128.5], dtype=i8)
T([255.5], dtype=u8)|T([-0.5], dtype=u8)|T(1e300, dtype=f32)|T([70000], dtype=f16)|T(10**40)
T(10**400, dtype=f64)|T(2**63)|T([2**63])|T([2**64])|T(2**63 - 1)|T(-2**63)|T(-2**63 - 1)
T([2**64, 1.5])|T(2**64, dtype=f32)|T(2**63, dtype=i64)|T(2**65, dtype=b)|T([300, 2.5], dtype=u8)
T([1, 2.5], dtype=i64)|T([True, 2], dtype=f16)|T([0.5, nan], dtype=b)|T([0, 2], dtype=b)
torch.as_tensor([300], dtype=u8)|T([1], dtype=u8).new_tensor([300])|T([1]).new_tensor([1.5])
""")
mixed = table("""
T([np.float32(1), 2])|T([np.float64(1), 2])|T([2, np.float64(1)])|T([np.float16(1), 1.0])
T([np.int8(1)])|T([np.int8(1), 2])|T([np.bool_(True)])|T([np.bool_(True), 1])|T([True, 1])
T([True, 1.0])|T([1, 2.0])|T([[1], [2.0]])|T(np.float32(1))|T(np.int8(1))
T([np.float32(1), np.float64(2)])|T([np.int64(3), np.float32(2)])|T([T(1), T(2.5)])
T([T([1.0]), T([2.0])])|T([T([1, 2]), T([2, 3])])|T([T(1), 2.5])|T([T(2.5), 1])|T([2, T([1])])
T([T(1, dtype=i8), T(2, dtype=torch.int16)])|T([T(3, dtype=u8), T(2, dtype=i8)])|T([T([]), 1])
T([[T(1.0), T(2)], [3, 4]])|T([T([1.0, 2.0]), 2])|T([T(1.5)], dtype=i64)|T([[1, 2], T([3, 4])])
T([np.float32(1.5)], dtype=i64)|T([np.float64(1.5)], dtype=i64)|T([np.float32(1.5)], dtype=b)
T([np.array([1, 2]), [3, 4]])|T([[3, 4], np.array([1, 2])])|T([np.array([1, 2]), 3])
T([np.array(1.0)])|T([np.array([300])], dtype=u8)|T(np.array([300.0]), dtype=u8)
""")
nested = table("""
T(range(3))|T(range(0))|T([range(3), range(3)])|T([[1, 2], range(2)])|T(array.array("i", [1, 2]))
T(array.array("d", [1, 2]))|T(bytearray(b"ab"))|T(memoryview(b"ab"))|T(b"ab")|T("a")|T(["a"])
T([""])|T([b"ab"])|T([1, "a"])|T([""], dtype=i64)|T([None])|T(None)|T([1, None])|T({1})|T({1: 2})
T(map(int, [1]))|T(collections.deque([1, 2]))|T([])|T([[]])|T([[], []])|T([[[], []]])|T(())
T([], dtype=i64)|T([(1, 2), [3, 4]])|T([[1, 2], [3]])|T([1, [2]])|T([[1], 2])|T([1.0, [2]])
T([[1], 2.0])|T([[], 1])|T([[1], []])|T([[[1]], [2]])|T([[1], [[2]]])|T([[], [1]])|T([[1], {1}])
T([[1, [2]], [3]], dtype=i64)|T([None], dtype=b)|T([None], dtype=f16)|T(torch.Size([1, 2]))
T([...])|T(np.str_("a"))|T([np.str_("a")])|T(len)|T([1, object()])|T(nested(60))|T(nested(200))
""")
constructor = table("""
Tensor(Size([2, 3])).shape|Tensor(Size([])).shape|Tensor(T([1, 2]))|Tensor(T([1, 2], dtype=i8))
Tensor(T([1.0], dtype=f64))|Tensor(T(3))|Tensor(2.5)|Tensor(True)|Tensor([1, 2])|Tensor((2, 3))
Tensor(np.array([1, 2]))|Tensor(2, 3).shape|Tensor().shape|Tensor([])|Tensor(None)|Tensor("a")
Tensor(2, 2.5)|Tensor(2, None)|Tensor(1, [2])|Tensor(-1)|Tensor(2, -1)|Tensor([1, [2]])
Tensor(range(3))|Tensor([True])|Tensor(np.int64(2)).shape|Tensor(np.float32(2))|Tensor({1})
Tensor(T([2]), 2).shape|Tensor([T(1.0), 2])|Tensor(device="cpu")|Tensor([1], device="cpu")
Tensor({})|Tensor([[1], [1, 2]])|Tensor(b"ab")|Tensor(["a"])|Tensor([None])|Tensor([2**70])
Tensor(True, 2)|Tensor(T([1.0], requires_grad=True))|Tensor(T([1.0]))._is_view()
Tensor(map(int, [1]))
""")
filled = table("""
full(2, 1)|full((2,), T([3]))|full((2,), T(3))|full((2,), T(3.5))|full((2,), True)|full([2], 1.5)
full(T(2), 1)|full((), 1)|full((2,), None)|full((2,), "a")|full((2,), 2**63)|full((2,), 2**64)
full((2,), 300, dtype=u8)|full((2,), -1, dtype=u8)|full((2,), 1.7, dtype=i64)|full((-1,), 1)
full((2,), nan, dtype=i64)|full((2,), 1e10, dtype=i32)|full((2,), 1e40)
full((2,), 70000, dtype=f16)|full((2,), 2, dtype=b)|full((2.0,), 1)|full((2,), np.float32(2))
full(size=(1,), fill_value=1)|torch.full_like(T([1, 2]), 1.5)
torch.full_like(T([1], dtype=u8), 300)|T([1]).new_full((2,), 1.5)|T([1.0]).new_full(2, 1)
T([1], dtype=u8).new_full((2,), 300)|torch.zeros(size=(2,))|torch.ones(size=2)
torch.empty(size=(2, 3)).shape|T([1]).new_ones(size=(2,))|torch.zeros(2, size=(2,))
torch.zeros(2.5)|torch.zeros(())|torch.ones(-1)|torch.eye(2.5)|torch.eye(2, 2.5)|torch.eye(T(2))
""")
ranges = table("""
arange(3, dtype=b)|arange(2.0**53, 2.0**53 + 3, dtype=i64)|arange(2**53, 2**53 + 3)
arange(2**53, 2**53 + 3, dtype=f64)|arange(0, 1, 0.3, dtype=i64)|arange(1, 4, 0.5, dtype=i64)
arange(0.5, 3, dtype=i64)|arange(-2.5, 2.5, dtype=i64)|arange(-3, 0, dtype=u8)
arange(3.7, dtype=i32)|arange(5, 1, -1.5)|arange(0, 5, 2, dtype=f16)|arange(T(3))|arange(T(3.0))
arange(2.5)|arange(nan)|arange(inf)|arange(1, 0)|arange(0)|arange(True)|arange(2**62, 2**62 + 2)
arange(2**63)|arange(0, 1, 0)|arange(end=3)|arange(1, end=3)|arange(start=1, end=3, step=1)
arange("a")|arange(None)|arange()|arange(1e10, 1e10 + 3, dtype=i64)|arange(5, 0, -2)
arange(0, 5, 2)|linspace(0, 1, 2.5)|linspace(0, 1, T(3))|linspace(0, 1, True)
linspace(0, 10, 4, dtype=i64)|linspace(0, 1, -1)|linspace(0, 1, 3, dtype=b)
linspace(0, 300, 4, dtype=u8)|linspace(-3.7, 3.7, 5, dtype=i32)|torch.logspace(0, 1, 2.5)
torch.logspace(0, 1, 3, dtype=i64)|linspace(-0.3, 17.9, 33).tolist()
linspace(5, -5, 9, dtype=f16).tolist()
""")
shared = table("""
T([1.0], requires_grad=None)|torch.as_tensor(a, f32)|torch.as_tensor(a, dtype=f32)
torch.from_numpy(a[::-1])|torch.as_tensor(a[::-1])|T(a[::-1])|torch.from_numpy(np.ma.array(a))
torch.from_numpy(a.astype(">f8"))|T(a.astype(">f8"))|torch.from_numpy([1])|T(np.matrix([[1, 2]]))
torch.from_numpy(np.float32(1))|torch.from_numpy(a.astype(">f8")[::-1])
torch.from_numpy(pair["b"])|torch.from_numpy(np.broadcast_to(a, (2, 3))[:, ::-1])
torch.from_numpy(np.zeros((0, 3))[:, ::-1])|torch.from_numpy(np.ones(1)[::-1])
type(torch.from_numpy(np.ma.array(a)).numpy())
""")
numbers_beside_tensors = table("""
zero(i8) & 300|zero(u8).add_(300)|zero(u8).mul_(300)|zero(u8) + 300|zero(i8) * 300|zero(u8) - 1
zero(i8) == 300|zero(u8) < -1|zero(i8).sub_(200)|zero(i32) + 2**40|zero(f32) + 1e40
zero(u8).fill_(300)|zero(u8).clamp(0, 300)|zero(i8) % 300|300 - zero(u8)|300 & zero(i8)
zero(b) + 300|zero(i8) ** 300|zero(i8).pow(300)|zero(i8).pow_(300)|zero(u8) ** -1
zero(u8).masked_fill_(zero(b), 300)|torch.where(zero(b), zero(u8), 300)
torch.where(zero(b), zero(u8), -1)|torch.where(zero(b), zero(f32), 1e40)
torch.where(zero(b), zero(u8), 2**64)|torch.where(zero(b), zero(f16), 70000.0)
zero(u8).add_(1, alpha=300)|zero(u8).add(1, alpha=300)|zero(u8).sub(1, alpha=-3)
zero(f32).add(1, alpha=1e40)|zero(i8).add_(T(300))|zero(i64).fill_(2**63)|zero(i64).fill_(2**64)
""")
memory = sessions(_names)("""
arrays keep their shape
    # What is done to an array object itself is nothing to the tensor, nor the other way round.
    x, given = torch.arange(6).reshape(2, 3), np.zeros(6)
    out, y, z = x.numpy(), torch.from_numpy(given), torch.as_tensor(given)
    _ = reshape(out, 6), x.numpy().setflags(write=False), x.add_(1), reshape(given, 2, 3)
    _ = y.t_(), z.unsqueeze_(0)
    given[0, 0] = 5
    y[1] = 7
    x, out.shape, y, z, given.tolist(), x.numpy() is x.numpy(), x._version
constructed on memory
    x, a = T([1.0, 2.0]), np.array([1.0, 2.0], np.float32)
    y, z, leaf = Tensor(x), Tensor(a), T([1.0], requires_grad=True)
    y[0] = 5
    z[0] = 7
    out = Tensor(leaf)
    out.sum().backward()
    x, x._version, a.tolist(), leaf.grad, name_of(out.grad_fn)
    type(type("Mine", (Tensor,), {})([1.0])).__name__
""")
