"""Numbers beyond what functions take: too large, or of a higher kind than what is written to."""

import math
import re
import warnings
from typing import Any

from tests.answers import expressions, tables


def _names(torch: Any) -> dict[str, Any]:
    names = {"x": torch.ones(3), "n": 2**62, "tree": torch.utils._pytree}
    return names | {"wide": torch.zeros(1).expand(2**50), "picture": torch.zeros(1, 1, 3)}


def _shown(answer: str) -> str:
    """Without numbers of bytes, and sizes, that are beyond all means."""
    return re.sub(r"allocate \d+ bytes", "allocate bytes", re.split(r" with sizes|\n", answer)[0])


table = tables(_names, _shown)
too_large = table("""
torch.Tensor(n)|torch.Tensor(2**45)|torch.Tensor(2**40, 2**40)|torch.rand_like(wide)
torch.tril_indices(2**40, 2**40)|torch.triu_indices(2**45, 2**45)
torch.nn.functional.dropout(wide)|torch.nn.functional.interpolate(picture, 2**45)
""")
of_a_higher_kind = table("""
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
NORMS = """
torch.norm(x, 2, 0, False, None, torch.float64)|torch.norm(x, 2, 0, False, torch.zeros(()))
torch.norm(x, 2, 0, False, torch.float64)|x.norm(2, 0, False, torch.float64)
torch.norm(x, "fro", None, False, None, torch.float64)|torch.norm(x, p=1, out=torch.zeros(()))
torch.norm(x, dtype=torch.float64)
"""
FORMS = """
tree.tree_map(lambda a: a + 1, {"b": [1, 2], "a": (3,)})
tree.tree_map(lambda a, b: a + b, [1, (2, 3)], [4, (5, 6)])
tree.tree_flatten([1, {"b": (2, None)}])[0]
tree.tree_unflatten([4, 5], tree.tree_flatten([1, {"b": 2}])[1])
torch.compiler.disable(len)([1])|torch.compiler.disable(recursive=False)(len)([1])
"""
WARNING = """
torch.ones(1).std()|torch.ones(1, 3).var(0)|torch.std_mean(torch.ones(1))|torch.ones(0).std()
torch.var_mean(torch.ones(1, 2), 0)|torch.std(torch.ones(2, 2), 0, correction=5)
torch.std(torch.ones(2, 2), 0, correction=2)|torch.std(torch.ones(0, 3), 1)|torch.ones(2).var()
torch.ones(1).std(unbiased=False)
"""


def of_forms(torch: Any) -> Any:
    names = _names(torch)  # the last of the forms is given what the one before has written
    table = tables(lambda torch: names, _shown)
    return [table(NORMS)(torch), table(FORMS)(torch)]


def of_too_few_elements(torch: Any) -> Any:
    answers = {}
    for call in expressions(WARNING):
        with warnings.catch_warnings(record=True, action="always") as told:
            found = eval(call, {"torch": torch})
        answers[call] = [str(found), [str(w.message).partition(" (Trig")[0] for w in told]]
    return answers


def slopes_beside_zeros(torch: Any) -> Any:
    """Those of running products, in memory for as many numbers as there are elements."""
    answers = []
    rows = [[1.0, 2, 0, 3, 0, 4], [1, 2, 3, 4, 5, 6], [0, 1, 2, 3, 0, 1], [2, 0, 0, 1, 1, 1]]
    for dim in (0, 1):
        for recorded in (False, True):
            x = torch.tensor(rows, requires_grad=True)
            weighted = (x.cumprod(dim) * torch.arange(1.0, 7)).sum()
            (g,) = torch.autograd.grad(weighted, x, create_graph=recorded)
            answers.append(g.tolist())
            if recorded:
                answers.append(torch.autograd.grad((g * g).sum(), x)[0].tolist())
    for values in ([1.0, math.nan, 0, 2], [1, math.inf, 0, 2], [0.0, 0]):
        x = torch.tensor(values, requires_grad=True)
        x.cumprod(0).sum().backward()
        answers.append(str(x.grad))
    long = torch.ones(100_000)
    long[7::1000] = 0
    long.requires_grad_()
    long.cumprod(0).sum().backward()
    return [answers, long.grad[:9].tolist(), long.grad.sum().item()]
