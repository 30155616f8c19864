"""What is written where: `out=` and in-place operations on views, expanded and shared memory."""

import warnings
from typing import Any

from tests.answers import expressions, raised, warned

ROUNDING: dict[str, int] = {}  # numbers agree up to it

# What is written to views, which lie as the names say; nothing else in their memory changes.
FILLING = """
torch.arange(6, out=out)|torch.arange(0, 3, 0.5, out=out)|torch.linspace(0, 10, 6, out=out)
torch.logspace(0, 5, 6, 2, out=out)|torch.randperm(6, out=out)|torch.zeros(6, out=out)
torch.full((3, 2), 2, out=out)|torch.eye(3, 2, out=out)|torch.add(m, 1, out=out)
torch.mul(m[0, 0], 3, out=out)|torch.cumsum(m, 0, out=out)|torch.sum(m, 0, out=out)
torch.gather(m, 0, m.long() % 3, out=out)|torch.cat([m, m], out=out)|torch.mm(m, m.t(), out=out)
torch.sort(m, out=(out, torch.zeros(0).long()))[0]|torch.rand(6, out=out)
torch.where(m > 2, m, -m, out=out)|torch.masked_select(m, m > 2, out=out)
"""
# Memory that is written to more than once, or read and written to.
SHARING = """
six.masked_fill_(mask, 0.5)
six.masked_fill_(mask[:1], torch.tensor(2.0))|mask[1:].masked_fill_(mask[:-1], False)
mask.masked_fill_(mask, False)|six.index_put_((i,), row[:3])|row.index_put_((i,), row[0])
i.index_put_((i,), i)|i.index_put_((i,), i[0])|row.index_put_((i,), row[:3])
i.index_put_((i,), i.clone())|i.index_put_((i.clone(),), i)|torch.gather(row, 0, i, out=six[:3])
torch.gather(row, 0, i, out=row)|torch.gather(i.clone(), 0, i[1:], out=i[:1])
torch.gather(i.clone(), 0, i, out=i)|torch.index_select(row, 0, i, out=six[:3])
torch.index_select(row, 0, i, out=row[:3])|torch.index_select(i.clone(), 0, i, out=i)
torch.take(i.clone(), i, out=i)|six.scatter_(0, i, 1.0)|row.scatter_(0, i, row)|i.scatter_(0, i, 1)
i.scatter_(0, i, i.clone())|row.scatter_reduce_(0, i, row, "sum")|i.index_add_(0, i, i.clone())
i.index_copy_(0, i.clone(), i)
six.masked_scatter_(mask, row)|row[:3].masked_scatter_(mask[:3], row[3:])
row[:3].masked_scatter_(mask[:3], row[1:4])
six.fill_(1)|six.fill_(torch.tensor(1.0))|six.zero_()
torch.zeros(6, out=six)|torch.full((6,), 2.0, out=six)|torch.eye(3, out=square)
torch.ones(6, out=six)|torch.rand(6, out=six)|torch.arange(6, out=six)
torch.linspace(0, 1, 6, out=six)|six.add_(1)
torch.addmm(row[:4].view(2, 2), flat, flat, out=row[1:5].view(2, 2))|torch.add(m[0], 1, out=m)
torch.add(m, 1, out=m[0])|torch.add(m, 1, out=m.t())|torch.add(m, 1, out=m.view(6))
torch.add(row[:3], 1, out=row)|torch.add(m[0], m, out=m[0])
torch.add(row[:2], 1, out=six[:1].expand(5))|torch.cumsum(row[:3], 0, out=row)
torch.linalg.cross(square, square, out=square)|torch.diff(row, out=row[1:])
six[i] = 1.0|six[mask] = 1.0|six[i] = row[:3]
"""
DTYPES = """
torch.bernoulli(p, out=p.int())|torch.bernoulli(p, out=p.bool())|torch.bernoulli(p, out=p.half())
torch.bernoulli(p, out=torch.zeros(5).long())
torch.logspace(0, 1, 3, dtype=torch.bool)|torch.arange(3, out=p.clone())
torch.arange(3, out=p.double())
"""


def _layouts(torch: Any) -> dict[str, tuple[Any, Any]]:
    """For each layout: all of the memory, and the view of it that is written to."""
    whole, rows, few, larger = torch.zeros(5, 5), torch.zeros(13), torch.zeros(2, 1), torch.zeros(9)
    return {
        "inner": (whole, whole[1:4, 1:3]), "steps": (rows, rows[1::2]), "too small": (few, few.t()),
        "across": (larger, larger[:6].view(2, 3).t()), "empty": (few, few.new_zeros(0, 4)),
        "behind": (larger, larger[7:]),
    }  # fmt: skip


def written_to_views(torch: Any) -> Any:
    answers = {}
    for call in expressions(FILLING):
        for layout in _layouts(torch):
            base, out = _layouts(torch)[layout]
            # Only the base of a view that grows is known.
            base = out if layout == "behind" else base
            names = {"torch": torch, "out": out, "m": torch.arange(6.0).view(3, 2)}
            torch.manual_seed(1)
            with warnings.catch_warnings(action="ignore"):
                found = raised(eval, call, names)
            answers[f"{call}, {layout}"] = [found, list(out.stride()), base.tolist()]
    return answers


def _names(torch: Any) -> dict[str, Any]:
    torch.manual_seed(2)
    return {
        "torch": torch, "six": torch.arange(1.0).expand(6), "i": torch.tensor([2, 1, 0]),
        "mask": torch.tensor([True, False, True, True, False, False]), "row": torch.arange(6.0),
        "square": torch.ones(1).expand(3, 3), "m": torch.arange(6.0).view(3, 2),
        "flat": torch.ones(2, 2), "p": torch.tensor([0.2, 0.7]),
    }  # fmt: skip


def sharing(torch: Any) -> Any:
    """The warnings, and the first words of the error, if there is one; else what is there then."""
    answers = {}
    for call in expressions(SHARING):
        names, found = _names(torch), []
        told = warned(lambda: found.append(raised(exec, call, names)))
        found = [text[:80] for text in found]
        if found == ["no error, but None"]:
            found = [names[n] for n in ("six", "i", "mask", "row", "square", "m", "flat")]
        answers[call] = [*found, sorted({text[:120] for text in told})]
    return answers


def of_dtypes(torch: Any) -> Any:
    answers = {}
    for call in expressions(DTYPES):
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            answers[call] = raised(eval, call, _names(torch)).partition(" (Triggered")[0]
    return answers


def that_requires_grad(torch: Any) -> Any:
    """Outside grad mode it is written to, and given another shape."""
    leaf, held = torch.zeros(2, requires_grad=True), torch.zeros(1, 2)
    with torch.no_grad(), warnings.catch_warnings(action="ignore"):
        torch.add(torch.ones(2, 3), 1, out=leaf)
        few = held.t()
        torch.ones(2, 3, out=few)
        few[0, 0] = 7
    return [leaf, leaf._version, held, few, few._base is held, raised(leaf.resize_, 3)]
