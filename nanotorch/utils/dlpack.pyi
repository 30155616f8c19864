"""Names that are at home elsewhere.

`scripts/stubs.py` writes this file.
"""

from nanotorch.ops.memory import from_dlpack as from_dlpack
from nanotorch.ops.memory import to_dlpack as to_dlpack
