"""The device "meta": tensors with a shape and a dtype, and without values."""

import copy
import pickle
from typing import Any

from tests.answers import sessions, warned


def _names(torch: Any) -> dict[str, Any]:
    x = torch.empty(2, 3, device="meta")
    return {"x": x, "meta": {"device": "meta"}, "copy": copy, "pickle": pickle, "warned": warned}


session = sessions(_names)
meta = session("""
what it is
    x, x.device, x.is_meta, x.is_cpu, x.get_device(), x.data_ptr(), x.numel(), x.nbytes, len(x)
    x.stride(), x.is_contiguous(), x.t().stride(), x.t().is_contiguous(), x.expand(4, 2, 3).stride()
    x.bfloat16(), x.double(), x.requires_grad_(), f"{x[0, 0]}", nn.Parameter(x), list(x)
    torch.empty(0, **meta), torch.empty((), dtype=torch.int32, **meta)
made there
    torch.zeros(2, **meta), torch.ones([2, 1], **meta), torch.full((2,), 3, **meta)
    torch.tensor([1.0, 2.0], **meta), torch.tensor(3, **meta), torch.arange(5, **meta)
    torch.eye(3, **meta), torch.rand(2, 2, **meta), torch.randn(2, **meta)
    torch.randperm(3, **meta)
    torch.randint(3, (2,), **meta), torch.as_tensor([1.0], **meta), torch.asarray([1.0], **meta)
    torch.as_tensor(torch.ones(2), **meta), torch.scalar_tensor(2, **meta), torch.ones(2).to("meta")
    torch.ones(2).to("meta", torch.float16), torch.ones(2, requires_grad=True).to("meta")
    torch.empty_like(x), torch.rand_like(x), torch.randn_like(x), torch.randint_like(x, 3)
    torch.full_like(x, 2), torch.zeros_like(x, device="cpu"), torch.zeros_like(torch.ones(2)
    **meta)
    x.new_zeros(2), x.new_tensor([1, 2]), x.new_full((2,), 1.0), torch.empty(2, device="meta:0")
    x.to("meta") is x, x.to(torch.float32) is x
its values
    x.item(), x[0, 0].item(), x.tolist(), x.numpy(), x.__array__(), x.to("cpu"), x.cpu()
    bool(x[0, 0]), float(x[0, 0]), int(x[0, 0]), 1.0 in x, torch.as_tensor(x)
    torch.ones(2, 3).copy_(x), torch.allclose(x, x)
    setattr(torch.ones(2, 3), "data", x), setattr(x, "data", torch.ones(2, 3))
writes
    x.copy_(torch.ones(2, 3)), x.zero_(), x.add_(1), x.normal_(), x.fill_(2), x.uniform_()
    x.mul_(x)
    x[0] = 1
    x[:, 1] = torch.ones(2, **meta)
    x.t_(), x.unsqueeze_(0), x
operations
    x + 1, x > 0, x * x.t().t(), x.sum(), x.sum(1, keepdim=True), x.mean(0), x @ x.t()
    x[0], x[:, 1:]
    x.max(), x.max(0), x.topk(2), x.sort(), x.argmax(1), x.view(6), x.t().reshape(6), x.t().view(6)
    x.view(7), x.cumsum(0), torch.cat([x, x]), torch.stack([x, x]), torch.where(x > 0, x, 0)
    x.softmax(-1), F.layer_norm(x, (3,)), F.gelu(x), x.clone(), x.detach(), x.data, x.half() + x
    F.embedding(torch.zeros(2, 4, dtype=torch.long, **meta), x), x.masked_fill(x > 0, 1), x.norm()
    F.cross_entropy(x, torch.zeros(2, dtype=torch.long, **meta)), F.dropout(x), x.isnan().any()
    F.conv2d(torch.empty(1, 2, 5, 5, **meta), torch.empty(4, 2, 3, 3, **meta))
    F.scaled_dot_product_attention(x[None], x[None], x[None]), x + torch.ones(()), x.var(0), x.int()
    x.squeeze(5)
gradients
    x.requires_grad_()
    y = (x * 2).tanh().sum()
    y, y.backward(), x.grad, y.grad_fn is None
    layer = nn.Linear(3, 2, **meta)
    layer(x), layer(x).sum().backward(), layer.weight.grad
copies
    copy.deepcopy(x), copy.copy(x), pickle.loads(pickle.dumps(x)), copy.deepcopy(nn.Parameter(x))
    pickle.loads(pickle.dumps(x.t())).stride()
defaults
    with torch.device("meta"):
        torch.ones(2), torch.get_default_device(), nn.Linear(2, 2).weight, torch.arange(2)
        torch.Tensor(2).device, torch.zeros_like(torch.ones(2, device="cpu")), torch.tensor(1.0)
        with torch.device("cpu"):
            torch.ones(2), torch.get_default_device()
        torch.get_default_device()
    torch.ones(2), torch.get_default_device()
    torch.set_default_device("meta")
    torch.ones(2), torch.get_default_device()
    torch.set_default_device(None)
    torch.ones(2), torch.get_default_device()
random numbers
    before = torch.get_rng_state()
    nn.Linear(2, 2, **meta), torch.rand(3, **meta), nn.Embedding(4, 2, **meta), F.dropout(x)
    (torch.get_rng_state() == before).all()
modules
    layer = nn.Linear(2, 3, **meta)
    layer, layer.state_dict(), layer.to("cpu"), layer.cpu(), layer.half().weight
    layer.to_empty(device="cpu").weight.device, layer.to("meta").weight, layer.weight.shape
    state = nn.Linear(2, 3).state_dict()
    warned(lambda: layer.load_state_dict(state)), layer.float().weight.device
    layer.load_state_dict(state, assign=True), layer.weight.device, layer.weight.requires_grad
    nn.BatchNorm1d(3, **meta).running_mean, nn.Linear(2, 3).to_empty(device="meta").bias
""")
