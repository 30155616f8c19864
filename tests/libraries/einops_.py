"""einops: rearrange, reduce, repeat, einsum and pack on tensors; layers in a network, trained."""

import torch
from einops import einsum, pack, rearrange, reduce, repeat, unpack
from einops.layers.torch import EinMix, Rearrange, Reduce
from torch import nn

torch.manual_seed(0)
x = torch.randn(2, 3, 8, 8)
print(rearrange(x, "b c (h p) (w q) -> b (h w) (p q c)", p=4, q=4).shape)
print(reduce(x, "b c h w -> b c", "mean"))
print(repeat(x[0, 0, :2, 0], "h -> h w", w=3))
print(einsum(x[..., 0], x[..., 1], "b c h, b d h -> b c d").shape)
packed, shapes = pack([x[:, :, 0, 0], x[:, :, 1]], "b *")
print(packed.shape, [part.shape for part in unpack(packed, shapes, "b *")])
model = nn.Sequential(
    nn.Conv2d(3, 4, 3, padding=1),
    nn.ReLU(),
    Reduce("b c (h 2) (w 2) -> b c h w", "max"),
    Rearrange("b c h w -> b (c h w)"),
    EinMix("b i -> b o", weight_shape="i o", bias_shape="o", i=64, o=2),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(5):
    loss = nn.functional.cross_entropy(model(x), torch.tensor([0, 1]))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, f"{loss.item():.5f}")
