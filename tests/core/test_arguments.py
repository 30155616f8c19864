"""Arguments of the wrong kind."""

import pytest

import nanotorch as torch
from nanotorch._core.arguments import as_int, as_ints


def test_an_error_without_an_operation_names_none() -> None:
    """Called by the user's own code, no argument of an operation is at fault."""
    with pytest.raises(TypeError, match=r"^expected int, not str$"):
        as_int("a")
    with pytest.raises(TypeError, match=r"^expected tuple of ints, but found str at pos 1$"):
        as_ints((0, "a"))


def test_the_function_called_first_is_named() -> None:
    """`hsplit` is made of other operations."""
    with pytest.raises(TypeError, match=r"^hsplit\(\): argument 'indices_or_sections' \(posi"):
        torch.ones(2, 2).hsplit("a")
