"""Automatic mixed precision, which serves GPUs: `autocast` and `GradScaler`, mostly switched off.

Tensors keep their dtypes here; programs that use mixed precision where there is a GPU run as they
do where there is none.
"""

from nanotorch.amp.autocast_mode import autocast as autocast
from nanotorch.amp.autocast_mode import custom_bwd as custom_bwd
from nanotorch.amp.autocast_mode import custom_fwd as custom_fwd
from nanotorch.amp.autocast_mode import is_autocast_available as is_autocast_available
from nanotorch.amp.grad_scaler import GradScaler as GradScaler
