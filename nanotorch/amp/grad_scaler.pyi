"""Names that are at home elsewhere.

`scripts/stubs.py` writes this file.
"""

from nanotorch.amp import GradScaler as GradScaler
