"""Devices: what they say of themselves, what is refused, and the switches that scripts set."""

import copy
import pickle
from typing import Any

from tests.answers import tables


def _names(torch: Any) -> dict[str, Any]:
    return {"D": torch.device, "copy": copy, "pickle": pickle}


calls = tables(_names)("""
D('cuda')|D('cuda:0')|D('cuda', 1)|D('cpu')|D('cpu:0')|D('cpu', 0)|D(D('cuda'))|D(type='cuda')
D(1)|D('mps')|D('meta')|D(type='cuda', index=1)|D('cuda', None)|D('cuda:1').index|D('cuda').type
D('cuda') == D('cuda:0')|D('cpu') == D('cpu:0')|D('cuda:1') == D('cuda', 1)|D('cpu') == 'cpu'
hash(D('cuda:1')) == hash(D('cuda', 1))|str(D('cuda:1'))|str(D('cpu'))|f"{D('cpu')}"|D('foo')
D('cuda:x')|D('cuda:-1')|D('cuda:')|D('cuda:01')|D('')|D('CPU')|D('cuda:1', 1)|D('cuda', -1)
D(1.5)|copy.deepcopy(D('cuda:1'))|pickle.loads(pickle.dumps(D('cuda:1')))|{D('cpu'): 1}[D('cpu')]
torch.ones(2).device|torch.ones(2).device == D('cpu')|torch.ones(2, device='cpu:0').device
torch.ones(2).to('cpu', torch.float64)|torch.ones(2).to(D('cpu'), torch.float64, True)
torch.ones(2).to(None)|torch.ones(2, device='foo')|torch.ones(2).to('foo')|torch.ones(2).to('mps')
torch.ones(2, device=1.5)|torch.ones(2).to('xpu')|torch.ones(2, device=None)
torch.ones(2).new_zeros(2, device='cpu')|torch.eye(2, device='cpu')|torch.Generator().device
torch.full_like(torch.ones(2), 3, device='cpu')|torch.nn.Linear(2, 1, device='cpu').weight.device
torch.nn.Linear(2, 1).to(D('cpu')).weight.device|torch.nn.Linear(2, 1).to('foo')
torch.as_tensor([1.0], device='cpu')
torch.cuda.is_available()|torch.cuda.device_count()|torch.cuda.is_initialized()
torch.cuda.manual_seed(0)|torch.cuda.manual_seed_all(0)|torch.cuda.empty_cache()
torch.cuda.memory_allocated()|torch.cuda.max_memory_allocated()|torch.cuda.is_bf16_supported()
torch.accelerator.is_available()|torch.accelerator.device_count()
torch.backends.mps.is_available()|torch.backends.mps.is_built()|torch.backends.cudnn.enabled
torch.backends.cudnn.deterministic|torch.backends.cudnn.benchmark|torch.backends.cudnn.allow_tf32
""")


def switches(torch: Any) -> Any:
    """They keep what they are set to."""
    cudnn = torch.backends.cudnn
    before = cudnn.deterministic, cudnn.benchmark
    cudnn.deterministic, cudnn.benchmark = True, True
    after = cudnn.deterministic, cudnn.benchmark
    cudnn.deterministic, cudnn.benchmark = before
    return [*before, *after]
