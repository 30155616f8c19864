"""Names that are at home elsewhere.

`scripts/stubs.py` writes this file.
"""

from typing import Any

from nanotorch.cuda import device_count as device_count
from nanotorch.cuda import empty_cache as empty_cache
from nanotorch.cuda import is_available as is_available
from nanotorch.cuda import is_initialized as is_initialized
from nanotorch.cuda import manual_seed as manual_seed
from nanotorch.cuda import manual_seed_all as manual_seed_all

def __getattr__(name: str) -> Any: ...
