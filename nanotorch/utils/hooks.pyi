"""Names that are at home elsewhere.

`scripts/stubs.py` writes this file.
"""

from nanotorch._core.graph import RemovableHandle as RemovableHandle
