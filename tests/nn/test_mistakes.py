"""What layers and losses cannot take they refuse as PyTorch does."""

import pytest

import nanotorch as torch


def test_layers_of_users_inherit_as_always() -> None:
    """Only nanotorch's own layers bear their names on methods that they inherit."""

    class Mine(torch.nn.Conv2d):
        pass

    assert Mine.__init__ is torch.nn.Conv2d.__init__
    assert torch.nn.Conv1d.__init__ is not torch.nn.Conv2d.__init__
    with pytest.raises(TypeError, match=r"^Conv2d.__init__\(\) missing"):
        Mine()  # type: ignore[call-arg]
