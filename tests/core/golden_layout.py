"""How tensors lie in memory: strides of results, and what follows from them."""

import itertools
from typing import Any

from tests.answers import expressions, raised, sessions


def _lies(tensor: Any) -> Any:
    """The strides, None where there is one element or none, and whether `view` makes it flat."""
    pairs = zip(tensor.shape, tensor.stride(), strict=True)
    strides = [stride if n > 1 and tensor.numel() else None for n, stride in pairs]
    flat = raised(tensor.view, -1).startswith("no error")
    return [list(tensor.shape), strides, tensor.is_contiguous(), flat, tensor.flatten().tolist()]


RESULTS = """
i.t().floor()|i.t().ceil()|i.t().round()|i.t().trunc()|x.t().floor()|x.t() + i.t()|i.t() + x.t()
i.t() + 1.5|x.t().double() * x.t()|x.t().flip(0)|x.flip(0, 1)|x.t().flip(1)|torch.rot90(x)
torch.rot90(x, 2)|torch.rot90(x, 3)|torch.rot90(x.t())|torch.rot90(x.t(), 2)|torch.rot90(x.t(), 4)
torch.kron(x, x)|x.t().tile(1)|x.t().tile(2)|x.t().repeat(1, 1)|x.t().clone()|x.t() > 1
torch.cat([x.t(), x.t()])|torch.stack([x.t(), x.t()])|x.t().masked_fill(x.t() > 2, 0)
x.t().index_add(0, n, x.t()[:1])|x.t().sort(0)[0]|x.t().sort(0)[1]
x.t().argsort()|x.t().cummax(0)[0]|torch.full_like(x.t(), 2)|torch.zeros_like(x.t())|x.t().exp()
torch.ones_like(x[:, ::2])|torch.zeros_like(x.expand(2, 2, 3))|-x.t()|x.t().where(x.t() > 1, 0)
x.t().gather(0, i.t() // 3)|x.t().take(i.t())|x.t().index_select(1, n)
torch.aminmax(x.t(), dim=0)[0]|i[:1].expand(3, 3) * x[0]|x[:1].expand(3, 3) + x[0, :1].double()
torch.nn.functional.layer_norm(x.t(), (2,))|torch.nn.functional.logsigmoid(x.t())|x.t().cumsum(0)
"""


def _names(torch: Any) -> dict[str, Any]:
    return {"itertools": itertools, "lies": _lies, "RESULTS": expressions(RESULTS)}


layout = sessions(_names)("""
brackets
    base, flags = torch.arange(24).reshape(2, 3, 4), torch.tensor([True, False, True, True])
    square = torch.tensor([[0, 1], [1, 0], [1, 1]])
    row, column = torch.tensor([[1, 0, 1]]), torch.tensor([[0], [1]])
    for order in itertools.permutations(range(3)):
        x = base.permute(order)
        masks = [flags[: n if n < 4 else None] for n in x.shape]
        keys = {
            "first": (square,), "second": (slice(None), square), "last": (..., square),
            "turned": (slice(None), square.t()), "turned in front": (square.t(),),
            "expanded": (square[:, :1].expand(3, 2),), "two": (row, column),
            "two behind": (slice(None), row, column), "apart": (column, slice(None), row),
            "new between": (column, None, row), "new in front": (None, column[:, 0]),
            "mask": (masks[0],), "second mask": (slice(None), masks[1]),
            "last mask": (..., masks[2]), "mask of two": (x[..., 0] > 5,),
            "mask of the last two": (slice(None), x[0] > 5), "all": (column, row, row),
            "step": (slice(None, None, 2), column[:, 0]),
            "none of them": (slice(None), column[:0, 0]),
        }
        {f"{name} {order}": lies(x[key]) for name, key in keys.items()}
brackets that repeat
    i, expanded = torch.tensor([1, 0, 1]), torch.arange(6).reshape(1, 2, 3).expand(2, 2, 3)
    part = torch.arange(60).reshape(3, 4, 5)[:, ::2, 1:4]
    [lies(x[key]) for x in (expanded, part) for key in ((i % 2,), (slice(None), i % 2))]
new dimensions
    x = torch.zeros(2, 3, 4)
    made = [
        x.unsqueeze(0), x.unsqueeze(1), x.unsqueeze(3), x[None], x[:, None, :, None],
        x.transpose(0, 2).unsqueeze(1), x[:1].expand(1, 3, 4), torch.tensor(1.0)[None],
        torch.zeros(1, 1).expand(1, 3), x.expand(1, 2, 3, 4), x.sum(1, keepdim=True),
    ]
    [list(y.stride()) for y in made], x[None].stride(0), x.unsqueeze(3).stride(-1)
results
    x = torch.arange(6.0).reshape(2, 3)
    names = {"torch": torch, "x": x, "i": torch.arange(6).reshape(2, 3), "n": torch.tensor([0])}
    {text: lies(eval(text, names))[1:4] for text in RESULTS}
gradients
    # A leaf's gradient lies as the leaf does, if that has no gaps.
    for leaf in (torch.ones(2, 3), torch.ones(3, 2).t(), torch.ones(2, 6)[:, ::2]):
        leaf = leaf.detach().requires_grad_()
        columns = leaf[:, [0, 2]]
        for used in (leaf, (leaf * 2).t().exp(), leaf @ leaf.t(), columns, leaf.expand(2, 2, 3)):
            leaf.grad = None
            used.sum().backward(), lies(leaf.grad)[1:3]
gradients of leaves that are views
    # They lie as a leaf does that fills its memory, else in order.
    views = {
        "turned": lambda x: x.t(), "with gaps": lambda x: x[:, ::2],
        "with gaps, turned": lambda x: x[:, ::2].t(), "repeated": lambda x: x[:1].expand(4, 6),
        "repeated, turned": lambda x: x[:, :1].expand(4, 6).t(),
        "permuted": lambda x: x.reshape(2, 2, 6).permute(2, 0, 1),
    }
    uses = [
        lambda w: w.sum(), lambda w: w.exp().sum(), lambda w: w.t().mean(), lambda w: w[0].sum(),
    ]
    for name, view in views.items():
        for use in uses if name != "permuted" else uses[:2]:
            leaf = view(torch.ones(4, 6)).requires_grad_()
            use(leaf).backward(), leaf.grad.stride()
""")
