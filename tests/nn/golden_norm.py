"""Normalizations as modules: what they print, hold, compute in both modes, and refuse."""

import math
from typing import Any

from tests.answers import given, sessions


def wave(torch: Any, *shape: int) -> Any:
    places = torch.arange(math.prod(shape), dtype=torch.float64).reshape(shape)
    return ((places * 0.7).sin() * 2 + 0.5).float()


def layers(torch: Any) -> list[Any]:
    """Each with the shape of an input."""
    nn = torch.nn
    return [
        (nn.BatchNorm2d(3), (2, 3, 4, 2)), (nn.BatchNorm2d(3, affine=False), (2, 3, 4, 2)),
        (nn.BatchNorm3d(2), (2, 2, 1, 3, 2)), (nn.BatchNorm2d(3, bias=False), (2, 3, 4, 2)),
        (nn.BatchNorm2d(3, momentum=None), (2, 3, 1, 2)),
        (nn.BatchNorm2d(3, track_running_stats=False), (2, 3, 4, 2)),
        (nn.GroupNorm(2, 4), (2, 4, 3)), (nn.GroupNorm(1, 4, 0.1), (3, 4)),
        (nn.GroupNorm(4, 4, affine=False), (2, 4, 2, 2)),
        (nn.GroupNorm(2, 4, bias=False), (1, 4, 3)), (nn.InstanceNorm1d(3), (2, 3, 4)),
        (nn.InstanceNorm1d(3), (3, 4)), (nn.InstanceNorm2d(3, affine=True), (2, 3, 2, 3)),
        (nn.InstanceNorm2d(3, affine=True, track_running_stats=True), (2, 3, 2, 3)),
        (nn.InstanceNorm3d(2, track_running_stats=True, momentum=0.3), (2, 2, 2, 2, 1)),
        (nn.InstanceNorm1d(3, affine=True, bias=False), (2, 3, 4)), (nn.LayerNorm(4), (2, 3, 4)),
        (nn.LayerNorm((3, 4), bias=False), (2, 3, 4)),
        (nn.LayerNorm(4, elementwise_affine=False), (5, 4)), (nn.RMSNorm(4), (2, 3, 4)),
        (nn.RMSNorm((3, 4), 1e-3), (2, 3, 4)), (nn.RMSNorm(4, elementwise_affine=False), (5, 4)),
        (nn.LocalResponseNorm(2), (2, 4, 3)), (nn.LocalResponseNorm(3, 0.1, 0.2, 2), (2, 4, 3, 2)),
    ]  # fmt: skip


session = sessions(lambda torch: given(torch, layers, wave))
norms = session("""
states
    [[dict(layer.state_dict()), layer.state_dict()._metadata] for layer, _ in layers()]
second derivatives
    for layer, shape in layers():
        layer = layer.double()
        _ = torch.manual_seed(4)
        for p in layer.parameters():
            p.data = torch.rand_like(p) + 0.5
        for training in (True, False):
            _ = layer.train(training)
            _ = layer.zero_grad()
            x = wave(*shape).double().requires_grad_()
            inputs = [x, *layer.parameters()]
            first = torch.autograd.grad((layer(x) ** 3).sum(), inputs, create_graph=True)
            total = sum((g**2).sum() for g in first)
            second = torch.autograd.grad(total, inputs)
            numbers(first), numbers(second)
refusals
    x = wave(2, 4, 3)
    F.instance_norm(x, torch.zeros(3), torch.ones(4)), nn.GroupNorm(3, 4), F.group_norm(x, 0)
    F.group_norm(x, 2, torch.ones(4).double())
    F.group_norm(x, 2, torch.ones(4), torch.ones(4).double()), nn.InstanceNorm1d(3)(torch.ones(2))
    nn.InstanceNorm2d(3)(torch.ones(2, 3)), nn.InstanceNorm3d(3)(torch.ones(2, 3))
    nn.InstanceNorm1d(3, affine=True)(torch.ones(2, 4, 5))
    warned(lambda: nn.InstanceNorm1d(3)(torch.ones(2, 4, 5)))
    warned(lambda: nn.InstanceNorm1d(3)(torch.ones(4, 5))), nn.BatchNorm2d(3)(torch.ones(2, 3))
    nn.BatchNorm3d(3)(torch.ones(2, 3)), nn.BatchNorm2d(3)(torch.ones(1, 3, 1, 1))
    nn.BatchNorm2d(3)(torch.ones(1, 4, 2, 1))
    nn.InstanceNorm1d(2).load_state_dict(
        {"running_mean": torch.ones(2), "running_var": torch.ones(2)}
    )
    F.rms_norm(x, 3), F.rms_norm(x, (4,)), F.rms_norm(x.long(), (3,))
    nn.LocalResponseNorm(2)(torch.ones(2, 3))
batch norm errors
    layer = nn.BatchNorm1d(3)
    layer(torch.ones(3)), layer(torch.ones(2, 3, 4, 5)), layer(torch.ones(2, 4))
    layer(torch.ones(1, 3)), nn.BatchNorm1d(3, eps=-1.0)(torch.ones(2, 3))
    F.batch_norm(torch.ones(2, 3), None, None)
    F.batch_norm(torch.ones(2, 3), torch.ones(2), torch.ones(3))
    F.batch_norm(torch.ones(2, 3), torch.ones(3), torch.ones(3), torch.ones(2))
    F.batch_norm(torch.ones(3), None, None, training=True)
layer norm errors
    x = wave(2, 3, 4)
    F.layer_norm(x, (2,)), F.layer_norm(x, (9, 2, 3, 4)), F.layer_norm(x, (4,), torch.ones(2))
    F.layer_norm(x, ()), F.layer_norm(x, (4,), None, torch.ones(2)), F.layer_norm(x, 4)
    F.layer_norm(x.long(), (4,)), nn.LayerNorm(3).normalized_shape
    F.layer_norm(x, (4,), torch.ones(4).double()), nn.LayerNorm([2, 3]).weight.shape
distances
    x, y = wave(3, 4), wave(3, 4).cos()
    out = torch.empty(3, 4)
    nn.CosineSimilarity(0), nn.PairwiseDistance(1.0, keepdim=True)
    numbers(nn.CosineSimilarity(0)(x, y)), numbers(nn.PairwiseDistance(3.0, 0.1, True)(x, y))
    F.normalize(x, out=out) is out, numbers(out), numbers(torch.cosine_similarity(x, y))
    numbers(torch.pairwise_distance(x, y))
""")
