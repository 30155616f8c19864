"""Layers of convolution, pooling, padding and resampling: what they print, compute and refuse."""

from typing import Any

from tests.answers import name_of, numbers, raised, slopes, warned
from tests.nn.golden_layers import ramp


def answer(layer: Any, x: Any) -> Any:
    """The result, its node, and the gradients of input and parameters."""
    x = x.clone().requires_grad_()
    out = layer(x)
    (out * out.detach().cos()).sum().backward()
    return [name_of(out.grad_fn), numbers(out), numbers(x.grad), slopes(layer.parameters())]


def convolutions(torch: Any) -> Any:
    nn = torch.nn
    layers = [
        (nn.Conv1d(2, 3, 3), (2, 2, 6)), (nn.Conv1d(2, 4, 2, 2, 1, 2, 2, False), (2, 7)),
        (nn.Conv2d(3, 4, 3), (2, 3, 5, 6)), (nn.Conv2d(2, 2, (3, 2), (1, 2), (1, 0)), (2, 5, 6)),
        (nn.Conv2d(4, 6, 2, padding="same", groups=2), (1, 4, 3, 4)),
        (nn.Conv2d(2, 2, 3, padding="valid", dilation=2), (1, 2, 6, 6)),
        (nn.Conv3d(1, 2, 2, 1, 1), (1, 1, 2, 3, 2)), (nn.ConvTranspose1d(2, 3, 3, 2), (2, 2, 4)),
        (nn.ConvTranspose2d(2, 4, 3, 2, 1, 1, 2), (1, 2, 3, 2)),
        (nn.ConvTranspose2d(2, 2, 2, 1, 0, 0, 1, False, 2), (2, 3, 3)),
        (nn.ConvTranspose3d(1, 1, 2, 2), (1, 1, 1, 2, 2)),
    ]  # fmt: skip
    return [[layer, *answer(layer, ramp(torch, *shape).sin())] for layer, shape in layers]


def padding_modes(torch: Any) -> Any:
    for mode in ("zeros", "reflect", "replicate", "circular"):
        for padding in (1, (2, 1), "same"):
            layer = torch.nn.Conv2d(2, 2, (3, 2), padding=padding, padding_mode=mode)
            x = ramp(torch, 1, 2, 4, 4).sin()
            around = list(layer._reversed_padding_repeated_twice)
            yield [layer, around, numbers(layer(x))]


def reprs(torch: Any) -> Any:
    nn = torch.nn
    return [
        nn.MaxPool1d(2), nn.MaxPool2d((2, 3), 1, 1, 2, True, True), nn.MaxPool3d(2),
        nn.AvgPool1d(2), nn.AvgPool1d((2,), (1,)), nn.AvgPool2d(2, 1, 1, True, False, 3),
        nn.AvgPool3d(2), nn.AdaptiveAvgPool1d(3), nn.AdaptiveAvgPool2d((3, None)),
        nn.AdaptiveAvgPool3d(3), nn.AdaptiveMaxPool1d(3), nn.AdaptiveMaxPool2d(3, True),
        nn.AdaptiveMaxPool3d(3), nn.ZeroPad1d(2), nn.ZeroPad2d((1, 2, 3, 4)), nn.ZeroPad3d(1),
        nn.ConstantPad1d(2, 3.5), nn.ConstantPad2d(2, 3), nn.ConstantPad3d((1,) * 6, 3.5),
        nn.ReflectionPad1d(2), nn.ReflectionPad2d(2), nn.ReflectionPad3d(2), nn.ReplicationPad1d(2),
        nn.ReplicationPad2d(2), nn.ReplicationPad3d(2), nn.CircularPad1d(2), nn.CircularPad2d(2),
        nn.CircularPad3d(2), nn.Unfold(2), nn.Unfold((2, 3), 1, 1, 2), nn.Fold(6, 2),
        nn.Fold((6, 6), 2, 1, 0, 1), nn.PixelShuffle(2), nn.PixelUnshuffle(2), nn.Upsample(3),
        nn.Upsample(scale_factor=2),
        nn.Upsample(scale_factor=(2, 3), mode="bilinear", align_corners=True),
        nn.Upsample((2, 3), mode="nearest"), nn.UpsamplingNearest2d(3),
        nn.UpsamplingNearest2d(scale_factor=2), nn.UpsamplingBilinear2d(scale_factor=2),
        nn.Conv2d(2, 4, 3, padding=1, dilation=2, groups=2, bias=False, padding_mode="circular"),
        nn.ConvTranspose2d(2, 4, 3, 2, 1, 1, 2, dilation=2),
    ]  # fmt: skip


def computed(torch: Any) -> Any:
    nn = torch.nn
    signal, picture, volume = (ramp(torch, *shape).sin() for shape in
                               ((2, 3, 7), (2, 4, 5, 6), (1, 2, 3, 2, 3)))  # fmt: skip
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
        ramp(torch, 1, 8, 6): [nn.Fold((3, 4), 2)],
        picture[:, :, :4]: [nn.PixelUnshuffle(2)],
        volume: [
            nn.MaxPool3d(2), nn.AvgPool3d(2, 1), nn.AdaptiveAvgPool3d(2), nn.AdaptiveMaxPool3d(2),
            nn.ZeroPad3d(1), nn.ConstantPad3d(1, 2.0), nn.ReflectionPad3d(1),
            nn.ReplicationPad3d(1), nn.CircularPad3d(1), nn.Upsample(4, mode="trilinear"),
            nn.Upsample(4),
        ],
    }  # fmt: skip
    return [answer(layer, x) for x, some in layers.items() for layer in some]


def output_sizes(torch: Any) -> Any:
    layer = torch.nn.ConvTranspose2d(2, 1, 3, stride=2)
    x = ramp(torch, 1, 2, 2, 3)
    return [
        *[numbers(layer(x, size)) for size in ([5, 7], [6, 8], (1, 1, 5, 8))],
        raised(layer, x, (7, 7)), raised(layer, x, (5,)), layer(x[0], (5, 7)).shape,
    ]  # fmt: skip


def wrong_layers(torch: Any) -> Any:
    nn, x = torch.nn, ramp(torch, 2, 4, 6, 6)
    return [
        raised(nn.Conv2d, 3, 4, 3, groups=2), raised(nn.Conv2d, 4, 3, 3, groups=2),
        raised(nn.Conv2d, 4, 4, 3, groups=0), raised(nn.Conv2d, 4, 4, 3, 2, "same"),
        raised(nn.ConvTranspose2d, 4, 4, 3, padding_mode="reflect"),
        raised(nn.Conv2d(4, 4, 3), ramp(torch, 2, 4, 6)), raised(nn.Conv2d(3, 4, 3), x),
        raised(nn.Conv1d(4, 4, 3), x), raised(nn.Conv2d(4, 4, 7), x),
        raised(nn.Conv2d(4, 4, 3), x.double()), raised(nn.Conv2d(4, 4, 3).double(), x),
        raised(nn.CircularPad1d(1), ramp(torch, 2)), raised(nn.CircularPad2d(1), ramp(torch, 2, 2)),
        raised(nn.ReflectionPad1d(1), x), raised(nn.MaxPool2d(7), x), raised(nn.AvgPool2d(7), x),
        raised(nn.Fold(4, 2), x[0]), raised(nn.Upsample(), x), raised(nn.PixelShuffle(3), x),
        raised(nn.MaxPool2d(2), x[0, 0]), raised(nn.AdaptiveAvgPool2d(3), x[0, 0]),
    ]  # fmt: skip


def former_names(torch: Any) -> Any:
    F, x = torch.nn.functional, ramp(torch, 1, 1, 2, 3)
    return [warned(lambda: F.upsample(x, 4))]


def infinite_and_missing(torch: Any) -> Any:
    """Windows of nothing but minus infinity, and those with nan."""
    F = torch.nn.functional
    low, nan = -float("inf"), float("nan")
    x = torch.tensor([[[low, low, 1.0, nan], [low, low, nan, 3.0], [2.0, 5.0, 0.0, 1.0]]])
    for args in ((2, 1), (3, 2, 1), (2, 2, 1)):
        values, indices = F.max_pool2d(x, *args, return_indices=True)
        yield from [values, indices]
    x = torch.tensor([[1.0, nan, 2.0, float("inf"), 0.0]])
    yield from [F.avg_pool1d(x, 2), F.adaptive_avg_pool1d(x, 3), F.adaptive_max_pool1d(x, 3)]


def few_large_windows(torch: Any) -> Any:
    """Such as the whole picture; with equal elements, missing ones, and minus infinity."""
    F = torch.nn.functional
    x = (ramp(torch, 1, 3, 12, 13).sin() * 3).round()
    x[0, 1, 5, 5], x[0, 1, 7, 2] = float("nan"), float("nan")
    x[0, 2] = -float("inf")
    for args in ((12,), ((12, 13), 1), (9, 3, 4), (9, 1, 4, (1, 2), True)):
        leaf = x.clone().requires_grad_()
        values, indices = F.max_pool2d(leaf, *args, return_indices=True)
        values.sum().backward()
        yield from [values.detach(), indices, leaf.grad.nonzero()]


def training(torch: Any) -> Any:
    """Losses and weights of a small network."""
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 8, 3), nn.ReLU(),
        nn.Flatten(), nn.Linear(32, 3),
    )  # fmt: skip
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x, y = torch.randn(12, 1, 8, 8), torch.randint(0, 3, (12,))
    losses = []
    for _ in range(10):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return [losses, list(model.state_dict())]
