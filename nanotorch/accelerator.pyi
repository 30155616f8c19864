"""Names that are at home elsewhere.

`scripts/stubs.py` writes this file.
"""

from typing import Any

from nanotorch.cuda import device_count as device_count
from nanotorch.cuda import is_available as is_available

def __getattr__(name: str) -> Any: ...
