"""`out=`: where in memory results go that are larger than it, and in which order."""

import warnings
from typing import Any

from tests.answers import expressions, raised, tables

ROUNDING: dict[str, int] = {}  # numbers agree up to it

# Each is given `base`, and `out` in its memory.
EMPTY = """
base[3:3]|base[12:]|base[14:20]|base[4:2]|base[1:5:2][3:]|base.narrow(0, 4, 0)
base.split([2, 0, 10])[1]|base.tensor_split(13)[12]|base.view(3, 4)[1:1]|base.view(3, 4)[:, 2:2]
base.view(3, 4)[1, 3:3]|base.view(3, 4)[1:1, 2:]|base.view(3, 4)[-2, 4:]|base[3:3].view(0, 2)
base.as_strided((0, 2), (1, 1), 5)|base.view(3, 4)[None, 2:2]|base[5:5].detach()|base[5:5].data
"""
SHARED = """
base.detach()|base.data|base.view(3, 4)|base[3:]|base[3:5]|base.view(3, 4).t()|base[2:6].view(2, 2)
"""
# Of matrices that lie transposed.
ORDERED = """
torch.exp(m, out=out)|torch.add(m, 1, out=out)|torch.add(m, n, out=out)|torch.gt(m, n, out=out)
torch.where(m > 1, m, n, out=out)|torch.sum(m, 0, out=out)|torch.mm(m, n.t(), out=out)
torch.cat([m, m], out=out)|torch.stack([m, m], out=out)|torch.cumsum(m, 0, out=out)
torch.nonzero(m > 1, out=out.long())|torch.tril(m, out=out)|torch.gather(m, 0, i, out=out)
torch.clamp(m, 0, 2, out=out)|torch.lerp(m, n, 0.5, out=out)|torch.full((2, 3), 1.0, out=out)
"""


def without_elements(torch: Any) -> Any:
    """A slice of none has its place, where something larger is written."""
    answers = {}
    for text in expressions(EMPTY):
        base = torch.zeros(12)
        out = eval(text, {"base": base})
        first = out.storage_offset()
        torch.add(torch.ones(2), 1, out=out)
        answers[text] = [first, base.tolist(), out, out.storage_offset()]
    return answers


def beyond_shared_memory(torch: Any) -> Any:
    """All tensors in the memory that becomes too small are in the larger one."""
    answers = {}
    for text in expressions(SHARED):
        for grows in ("base", "out"):
            base = torch.arange(12.0)
            out = eval(text, {"base": base})
            with warnings.catch_warnings(action="ignore"):
                torch.add(torch.ones(14), 1, out=out if grows == "out" else base)
            first = [base.tolist(), out.tolist()]
            base[3:5] = 7
            out.mul_(2)
            answers[f"{text}, {grows}"] = [*first, base.tolist(), out.tolist(), out.stride()]
    held = torch.zeros(3)
    array = held.numpy()
    row = torch.arange(4.0)
    parts = [row[k:] for k in range(3)]
    words = row.view(torch.int32)
    row.resize_(8)[4:] = 1
    words[1] = 0
    leaf = torch.nn.Parameter(torch.ones(3))
    leaf.data.resize_(5).fill_(2)
    return [answers, raised(held.resize_, 5), array.tolist(), parts, words.tolist(), leaf.detach()]


def in_the_order_of_the_inputs(torch: Any) -> Any:
    answers = {}
    for text in expressions(ORDERED):
        for size in (0, 7):
            names = {"torch": torch, "out": torch.zeros(size), "i": torch.zeros(2, 3).long()}
            names["m"] = torch.arange(6.0).view(3, 2).t()
            names["n"] = torch.ones(3, 2).t()
            with warnings.catch_warnings(action="ignore"):
                names["out"] = names["out"].bool() if ".gt" in text else names["out"]
                got = eval(text, names)
            answers[f"{text}, {size}"] = [got.stride(), got.tolist()]
    return answers


def _names(torch: Any) -> dict[str, Any]:
    return {"x": torch.ones(3, 4)}


of_dtypes = tables(_names)("""
torch.any(x, 0, out=torch.zeros(4).byte())|torch.all(x, out=torch.zeros(()).byte())
torch.any(x.byte(), 0, out=torch.zeros(4).bool())|torch.any(x, out=torch.zeros(()).int())
torch.nansum(x, 0, out=torch.zeros(4).int())|torch.nansum(x.int(), 0, out=torch.zeros(4))
torch.nansum(x, 0, out=torch.zeros(4).double())|torch.cumsum(x, 0, dtype=torch.bool)
torch.cumprod(x, 0, out=x.bool())|torch.cumsum(x, 0, out=x.bool())|x.bool().cumprod_(0)
""")


def that_required_grad(torch: Any) -> Any:
    """What makes a tensor decides anew whether its `out` requires grad."""
    for requires_grad in (False, True):
        out = torch.ones(3, requires_grad=True)
        with torch.no_grad():
            torch.full((3,), 2.0, out=out, requires_grad=requires_grad)
        yield out.requires_grad
