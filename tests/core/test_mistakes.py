"""Common mistakes, and PyTorch's other spellings."""

import pytest

import nanotorch as torch
from nanotorch._core import call_site


def test_the_former_order_is_told_to_be_deprecated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The warning names what is to be written instead, and is not repeated."""
    monkeypatch.setattr(call_site, "said", set())
    x = torch.ones(2)
    with pytest.warns(UserWarning, match=r"add_\(Tensor other, \*, Number alpha = 1\)") as caught:
        x.add_(2, x).sub_(2, x)
    assert [w.filename for w in caught] == [__file__]
