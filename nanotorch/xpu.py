"""`torch.xpu`, Intel's GPUs: there are none, as `nanotorch.cuda` says of NVIDIA's."""

from nanotorch.cuda import device_count as device_count
from nanotorch.cuda import empty_cache as empty_cache
from nanotorch.cuda import is_available as is_available
from nanotorch.cuda import is_initialized as is_initialized
from nanotorch.cuda import manual_seed as manual_seed
from nanotorch.cuda import manual_seed_all as manual_seed_all
from nanotorch.names.lookup import on_demand as _on_demand

__getattr__, __dir__ = _on_demand("nanotorch.xpu")
