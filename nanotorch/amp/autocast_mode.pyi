"""Names that are at home elsewhere.

`scripts/stubs.py` writes this file.
"""

from nanotorch.amp import autocast as autocast
from nanotorch.amp import autocast_decorator as autocast_decorator
from nanotorch.amp import custom_bwd as custom_bwd
from nanotorch.amp import custom_fwd as custom_fwd
from nanotorch.amp import is_autocast_available as is_autocast_available
from nanotorch.amp import is_autocast_enabled as is_autocast_enabled
