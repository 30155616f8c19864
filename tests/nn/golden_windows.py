"""Layers of convolution, pooling, padding and resampling: what they print, compute and refuse."""

from typing import Any

from tests.answers import given, name_of, numbers, sessions, slopes
from tests.nn.golden_layers import ramp


def answer(layer: Any, x: Any) -> Any:
    """The result, its node, and the gradients of input and parameters."""
    x = x.clone().requires_grad_()
    out = layer(x)
    (out * out.detach().cos()).sum().backward()
    return [name_of(out.grad_fn), numbers(out), numbers(x.grad), slopes(layer.parameters())]


session = sessions(lambda torch: given(torch, ramp, answer=answer))
windows = session("""
convolutions
    layers = [
        (nn.Conv1d(2, 3, 3), (2, 2, 6)), (nn.Conv1d(2, 4, 2, 2, 1, 2, 2, False), (2, 7)),
        (nn.Conv2d(3, 4, 3), (2, 3, 5, 6)), (nn.Conv2d(2, 2, (3, 2), (1, 2), (1, 0)), (2, 5, 6)),
        (nn.Conv2d(4, 6, 2, padding="same", groups=2), (1, 4, 3, 4)),
        (nn.Conv2d(2, 2, 3, padding="valid", dilation=2), (1, 2, 6, 6)),
        (nn.Conv3d(1, 2, 2, 1, 1), (1, 1, 2, 3, 2)), (nn.ConvTranspose1d(2, 3, 3, 2), (2, 2, 4)),
        (nn.ConvTranspose2d(2, 4, 3, 2, 1, 1, 2), (1, 2, 3, 2)),
        (nn.ConvTranspose2d(2, 2, 2, 1, 0, 0, 1, False, 2), (2, 3, 3)),
        (nn.ConvTranspose3d(1, 1, 2, 2), (1, 1, 1, 2, 2)),
    ]
    [[layer, *answer(layer, ramp(*shape).sin())] for layer, shape in layers]
padding modes
    for mode in ("zeros", "reflect", "replicate", "circular"):
        for padding in (1, (2, 1), "same"):
            layer = nn.Conv2d(2, 2, (3, 2), padding=padding, padding_mode=mode)
            x = ramp(1, 2, 4, 4).sin()
            around = list(layer._reversed_padding_repeated_twice)
            layer, around, numbers(layer(x))
reprs
    nn.MaxPool1d(2), nn.MaxPool2d((2, 3), 1, 1, 2, True, True), nn.MaxPool3d(2), nn.AvgPool1d(2)
    nn.AvgPool1d((2,), (1,)), nn.AvgPool2d(2, 1, 1, True, False, 3), nn.AvgPool3d(2)
    nn.AdaptiveAvgPool1d(3), nn.AdaptiveAvgPool2d((3, None)), nn.AdaptiveAvgPool3d(3)
    nn.AdaptiveMaxPool1d(3), nn.AdaptiveMaxPool2d(3, True), nn.AdaptiveMaxPool3d(3), nn.ZeroPad1d(2)
    nn.ZeroPad2d((1, 2, 3, 4)), nn.ZeroPad3d(1), nn.ConstantPad1d(2, 3.5), nn.ConstantPad2d(2, 3)
    nn.ConstantPad3d((1,) * 6, 3.5), nn.ReflectionPad1d(2), nn.ReflectionPad2d(2)
    nn.ReflectionPad3d(2), nn.ReplicationPad1d(2), nn.ReplicationPad2d(2), nn.ReplicationPad3d(2)
    nn.CircularPad1d(2), nn.CircularPad2d(2), nn.CircularPad3d(2), nn.Unfold(2)
    nn.Unfold((2, 3), 1, 1, 2), nn.Fold(6, 2), nn.Fold((6, 6), 2, 1, 0, 1), nn.PixelShuffle(2)
    nn.PixelUnshuffle(2), nn.Upsample(3), nn.Upsample(scale_factor=2)
    nn.Upsample(scale_factor=(2, 3), mode="bilinear", align_corners=True)
    nn.Upsample((2, 3), mode="nearest"), nn.UpsamplingNearest2d(3)
    nn.UpsamplingNearest2d(scale_factor=2), nn.UpsamplingBilinear2d(scale_factor=2)
    nn.Conv2d(2, 4, 3, padding=1, dilation=2, groups=2, bias=False, padding_mode="circular")
    nn.ConvTranspose2d(2, 4, 3, 2, 1, 1, 2, dilation=2)
computed
    signal, picture, volume = (
        ramp(*shape).sin()
        for shape in ((2, 3, 7), (2, 4, 5, 6), (1, 2, 3, 2, 3))
    )
    layers = {
        signal: [
            nn.MaxPool1d(2), nn.MaxPool1d(3, 1, 1, 2), nn.AvgPool1d(2), nn.AvgPool1d(3, 2, 1, True),
            nn.AdaptiveAvgPool1d(4), nn.AdaptiveMaxPool1d(4), nn.ZeroPad1d(1),
            nn.ConstantPad1d(1, 2.0), nn.ReflectionPad1d(2), nn.ReplicationPad1d((1, 2)),
            nn.CircularPad1d(3), nn.Upsample(scale_factor=2), nn.Upsample(4, mode="linear"),
        ],
        picture: [
            nn.MaxPool2d(2), nn.MaxPool2d(3, 2, 1), nn.AvgPool2d(2),
            nn.AvgPool2d(3, 1, 1, True, False), nn.AdaptiveAvgPool2d((2, 3)),
            nn.AdaptiveAvgPool2d(1), nn.AdaptiveMaxPool2d((None, 2)), nn.ZeroPad2d(1),
            nn.ConstantPad2d((1, 0, 2, 1), 2.0), nn.ReflectionPad2d(2),
            nn.ReplicationPad2d((1, 2, 0, 1)), nn.CircularPad2d(2), nn.Unfold(2, 1, 1),
            nn.PixelShuffle(2), nn.UpsamplingNearest2d(scale_factor=2),
            nn.UpsamplingBilinear2d(scale_factor=2), nn.Upsample(7, mode="bicubic"),
        ],
        ramp(1, 8, 6): [nn.Fold((3, 4), 2)], picture[:, :, :4]: [nn.PixelUnshuffle(2)],
        volume: [
            nn.MaxPool3d(2), nn.AvgPool3d(2, 1), nn.AdaptiveAvgPool3d(2), nn.AdaptiveMaxPool3d(2),
            nn.ZeroPad3d(1), nn.ConstantPad3d(1, 2.0), nn.ReflectionPad3d(1),
            nn.ReplicationPad3d(1), nn.CircularPad3d(1), nn.Upsample(4, mode="trilinear"),
            nn.Upsample(4),
        ],
    }
    [answer(layer, x) for x, some in layers.items() for layer in some]
output sizes
    layer = nn.ConvTranspose2d(2, 1, 3, stride=2)
    x = ramp(1, 2, 2, 3)
    [numbers(layer(x, size)) for size in ([5, 7], [6, 8], (1, 1, 5, 8))], layer(x, (7, 7))
    layer(x, (5,)), layer(x[0], (5, 7)).shape
wrong layers
    x = ramp(2, 4, 6, 6)
    nn.Conv2d(3, 4, 3, groups=2), nn.Conv2d(4, 3, 3, groups=2), nn.Conv2d(4, 4, 3, groups=0)
    nn.Conv2d(4, 4, 3, 2, "same"), nn.ConvTranspose2d(4, 4, 3, padding_mode="reflect")
    nn.Conv2d(4, 4, 3)(ramp(2, 4, 6)), nn.Conv2d(3, 4, 3)(x), nn.Conv1d(4, 4, 3)(x)
    nn.Conv2d(4, 4, 7)(x), nn.Conv2d(4, 4, 3)(x.double()), nn.Conv2d(4, 4, 3).double()(x)
    nn.CircularPad1d(1)(ramp(2)), nn.CircularPad2d(1)(ramp(2, 2)), nn.ReflectionPad1d(1)(x)
    nn.MaxPool2d(7)(x), nn.AvgPool2d(7)(x), nn.Fold(4, 2)(x[0]), nn.Upsample()(x)
    nn.PixelShuffle(3)(x), nn.MaxPool2d(2)(x[0, 0]), nn.AdaptiveAvgPool2d(3)(x[0, 0])
former names
    x = ramp(1, 1, 2, 3)
    warned(lambda: F.upsample(x, 4))
infinite and missing
    # Windows of nothing but minus infinity, and those with nan.
    low, nan = -float("inf"), float("nan")
    x = torch.tensor([[[low, low, 1.0, nan], [low, low, nan, 3.0], [2.0, 5.0, 0.0, 1.0]]])
    for args in ((2, 1), (3, 2, 1), (2, 2, 1)):
        values, indices = F.max_pool2d(x, *args, return_indices=True)
        values, indices
    x = torch.tensor([[1.0, nan, 2.0, float("inf"), 0.0]])
    F.avg_pool1d(x, 2), F.adaptive_avg_pool1d(x, 3), F.adaptive_max_pool1d(x, 3)
few large windows
    # Such as the whole picture; with equal elements, missing ones, and minus infinity.
    x = (ramp(1, 3, 12, 13).sin() * 3).round()
    x[0, 1, 5, 5], x[0, 1, 7, 2] = float("nan"), float("nan")
    x[0, 2] = -float("inf")
    for args in ((12,), ((12, 13), 1), (9, 3, 4), (9, 1, 4, (1, 2), True)):
        leaf = x.clone().requires_grad_()
        values, indices = F.max_pool2d(leaf, *args, return_indices=True)
        _ = values.sum().backward()
        values.detach(), indices, leaf.grad.nonzero()
training
    # Losses and weights of a small network.
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 8, 3), nn.ReLU(),
        nn.Flatten(), nn.Linear(32, 3),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x, y = torch.randn(12, 1, 8, 8), torch.randint(0, 3, (12,))
    losses = []
    for _ in range(10):
        _ = optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        _ = loss.backward()
        _ = optimizer.step()
        _ = losses.append(loss.item())
    losses, list(model.state_dict())
""")
