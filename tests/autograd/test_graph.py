"""What nodes keep for the backward pass, and packing it."""

import pytest

import nanotorch as torch


def test_hooks_have_to_be_functions() -> None:
    with pytest.raises(TypeError, match="takes two functions"):
        torch.autograd.graph.saved_tensors_hooks(None, None).__enter__()
