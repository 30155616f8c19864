"""Nodes: names, edges, saved values, freeing."""

import numpy as np
import pytest

import nanotorch as torch
from nanotorch._core.graph import AccumulateGrad


def test_an_accumulator_lives_as_long_as_a_graph_holds_it() -> None:
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    first = y.grad_fn.next_functions[0][0]
    assert isinstance(first, AccumulateGrad)
    assert (x + 1).grad_fn.next_functions[0][0] is first
    assert first.variable is x


def test_nothing_is_saved_that_no_formula_asks_for() -> None:
    x = torch.ones(2, requires_grad=True)
    constant = torch.ones(2)
    assert (x + constant).grad_fn._saved == (1,)  # alpha
    saved_for_x = (x * constant).grad_fn._saved
    assert [s is None for s in saved_for_x] == [False, True]
    assert (x * constant).grad_fn._saved_other is constant
    assert (x * constant).grad_fn._saved_self is None


def test_a_saved_result_is_not_the_tensor_itself() -> None:
    """Else the tensor would hold its node and the node the tensor."""
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    saved = y.grad_fn._saved_result
    assert saved is not y
    assert saved.grad_fn is y.grad_fn
    assert np.shares_memory(saved.detach().numpy(), y.detach().numpy())


def test_unknown_saved_names_are_attribute_errors() -> None:
    node = torch.ones(2, requires_grad=True).exp().grad_fn
    with pytest.raises(AttributeError, match=r"ExpBackward0.*_saved_nothing"):
        _ = node._saved_nothing
    with pytest.raises(AttributeError, match=r"ExpBackward0.*no_such"):
        _ = node.no_such
