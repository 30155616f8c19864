"""`torch.onnx`, which programs import though they may never export: nothing is in it."""

from typing import TYPE_CHECKING

from nanotorch.names.lookup import on_demand

if not TYPE_CHECKING:  # so that checkers of types see which names there are
    __getattr__, __dir__ = on_demand(__name__)
