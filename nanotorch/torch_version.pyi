"""Names that are at home elsewhere.

`scripts/stubs.py` writes this file.
"""

from nanotorch.version import TorchVersion as TorchVersion
