"""`Variable`, as old scripts use it."""

from typing import Any

from tests.answers import raised, warned
from tests.autograd.golden_function import leaf


def wrapping(torch: Any) -> Any:
    variable, data = torch.autograd.Variable, torch.tensor([1.0, 2.0])
    leaf_of = variable(data, requires_grad=True)
    with torch.no_grad():
        leaf_of.fill_(7)
    inner = variable(leaf(torch, 1.0) * 2)
    return [
        leaf_of, data, leaf_of is data, variable(leaf_of).requires_grad, [inner, inner.is_leaf],
        variable(data, True).requires_grad, variable(), isinstance(data, variable),
        isinstance(3, variable), type(variable(data)) is torch.Tensor,
    ]  # fmt: skip


def refusals(torch: Any) -> Any:
    variable = torch.autograd.Variable
    return [
        raised(variable, [1.0, 2.0]),
        raised(variable, torch.tensor([1]), requires_grad=True),
        warned(lambda: variable(torch.ones(1), volatile=True)),
    ]
