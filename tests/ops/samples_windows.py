"""Samples of convolutions, pooling and resampling; of recurrent layers and attention."""

from typing import Any

import numpy as np

from tests.ops.sampling import Table, at, bad, fixed, given, ints, kink, rows, s, x

CONVOLUTION: Table = {
    "conv1d": rows(
        s(x(2, 2, 5), x(3, 2, 3), x(3)), s(x(2, 5), x(3, 2, 2)),
        s(x(1, 2, 5), x(2, 2, 3), None, 2, 1), s(x(1, 2, 5), x(2, 2, 2), None, padding="same"),
        bad(x(5), x(3, 2, 3)), bad(x(2, 2, 5), x(3, 2, 3), x(2)), bad(x(2, 2, 2), x(3, 2, 3)),
        bad(x(2, 2, 5), x(3, 2, 3), None, 0), bad(x(2, 2, 5), x(3, 2, 3), None, 1, "full"),
    ),
    "conv2d": rows(
        s(x(2, 2, 4, 5), x(3, 2, 3, 2), x(3)), s(x(1, 4, 4, 4), x(4, 2, 2, 2), x(4), groups=2),
        s(x(2, 3, 4), x(2, 2, 3, 3), None, (2, 1), (1, 2)),
        s(x(1, 1, 5, 5), x(2, 1, 2, 2), x(2), 1, 0, 2),
        s(x(1, 2, 3, 3), x(2, 2, 3, 3), None, 1, "same"),
        s(x(1, 2, 3, 4), x(2, 2, 2, 3), None, 1, "same", 2), s(x(2, 2, 3, 3), x(2, 2, 3, 3), x(2)),
        s(x(1, 2, 4, 4), x(3, 2, 2, 2), None, 2), s(x(0, 2, 4, 4), x(3, 2, 2, 2)),
        s(ints(1, 1, 3, 3), ints(1, 1, 2, 2)), bad(x(4, 5), x(3, 2, 3, 2)),
        bad(x(1, 3, 4, 5), x(3, 2, 3, 2)), bad(x(1, 4, 4, 4), x(3, 2, 2, 2), groups=2),
        bad(x(1, 2, 4, 4), x(3, 2, 2, 2), None, (1, 2, 3)),
        bad(x(1, 2, 4, 4), x(3, 2, 2, 2), None, 1, -1),
        bad(x(1, 2, 4, 4), x(3, 2, 2, 2), None, 2, "same"), bad(x(1, 2, 4, 4), ints(3, 2, 2, 2)),
        tolerance=1e-9,
    ),
    "conv3d": rows(
        s(x(1, 2, 2, 3, 3), x(2, 2, 2, 2, 2), x(2)), s(x(1, 2, 3, 2), x(1, 1, 2, 1, 2), None, 2, 1),
        bad(x(1, 2, 2, 3, 3), x(2, 2, 3, 2, 2)),
    ),
    "conv_transpose1d": rows(
        s(x(2, 2, 3), x(2, 3, 3), x(3)), s(x(2, 3), x(2, 1, 2), None, 3, 1, 1),
        bad(x(2, 2, 3), x(3, 2, 3)), bad(x(2, 2, 3), x(2, 3, 3), output_padding=1),
    ),
    "conv_transpose2d": rows(
        s(x(1, 2, 2, 3), x(2, 2, 3, 2), x(2)), s(x(1, 4, 2, 2), x(4, 1, 2, 2), x(2), 2, 1, 1, 2),
        s(x(2, 2, 2), x(2, 2, 2, 2), None, 1, 0, 1, 1, 3), bad(x(1, 2, 2, 3), x(2, 2, 3, 2), x(3)),
        bad(x(1, 2, 2, 3), x(2, 2, 3, 2), output_padding=2),
    ),
    "conv_transpose3d": rows(s(x(1, 2, 2, 1, 2), x(2, 1, 2, 2, 2), x(1), 2)),
}  # fmt: skip
TIES = given([[[1.0, 1.0, 0.0, 0.0], [1.0, 1.0, 0.0, 2.0], [3.0, 3.0, 3.0, -1.0]]], "float")


def indices(name: str) -> Any:
    """A pooling function that returns where the greatest elements are."""
    return lambda torch, *a, **k: getattr(torch.nn.functional, name)(*a, **k, return_indices=True)


POOLING: Table = {
    "max_pool1d": rows(
        s(x(2, 2, 6), 2), s(x(2, 7), 3, 2, 1), s(x(1, 2, 6), 2, 2, 0, 2, True), bad(x(2, 2, 6), 7),
        bad(x(2, 2, 6), 2, padding=2), bad(x(6), 2), bad(x(2, 2, 6), 0),
    ),
    "max_pool2d": rows(
        s(x(2, 2, 4, 4), 2), s(x(2, 5, 5), 3, 2, 1), s(x(1, 1, 5, 6), (2, 3), (1, 2), 1, (2, 1)),
        s(x(1, 2, 5, 5), 2, ceil_mode=True), s(x(0, 2, 4, 4), 2), s(ints(1, 4, 4), 2),
        kink(TIES, 2, 1), kink(at([[[0.0, float("nan")], [float("nan"), 1.0]]]), 2),
        bad(x(4, 4), 2), bad(x(1, 2, 4, 4), 5), bad(x(1, 2, 4, 4), (2, 2, 2)),
        bad(x(1, 2, 4, 4), 2, (2, 2, 2)), bad(x(1, 2, 4, 4), 2, padding=2),
        bad(x(1, 2, 4, 4), 2, padding=-1), bad(x(1, 2, 4, 4), 2, 0),
        bad(x(1, 2, 4, 4), 2, dilation=0), bad(x(2, 0, 4, 4), 2), bad(x(1, 2, 4, 4), 2.5),
    ),
    "max_pool3d": rows(s(x(1, 2, 2, 4, 4), 2), s(x(1, 3, 3, 3), 2, 1), bad(x(2, 2, 4), 2)),
    "indices of max_pool2d": rows(
        s(x(1, 2, 4, 4), 2), kink(TIES, 2, 1, 1), call=indices("max_pool2d")
    ),
    "indices of max_pool3d": rows(s(x(1, 2, 2, 4), 2), call=indices("max_pool3d")),
    "avg_pool1d": rows(
        s(x(2, 2, 6), 2), s(x(2, 7), 3, 2, 1, True, False), bad(x(1, 2, 3, 6), 2),
        bad(x(2, 2, 6), (2, 2)),
    ),
    "avg_pool2d": rows(
        s(x(2, 2, 4, 4), 2), s(x(2, 5, 5), 3, 2, 1),
        s(x(1, 1, 5, 6), (2, 3), (1, 2), 1, True, False), s(x(1, 2, 4, 4), 2, divisor_override=3),
        s(ints(1, 4, 4), 2), bad(x(4, 4), 2), bad(x(1, 2, 4, 4), 5), bad(x(1, 2, 4, 4), (2, 2, 2)),
        bad(x(1, 2, 4, 4), 2, padding=2), bad(x(1, 2, 4, 4), 2, divisor_override=0),
    ),
    "avg_pool3d": rows(
        s(x(1, 2, 2, 4, 4), 2), s(x(1, 3, 3, 3), 2, 1, 1), bad(x(1, 2, 2, 4, 4), 3), bad(x(4), 2)
    ),
    "adaptive_avg_pool1d": rows(
        s(x(2, 2, 7), 3), s(x(2, 5), 1), bad(x(1, 2, 3, 6), 2), bad(x(2, 2, 6), (2, 2))
    ),
    "adaptive_avg_pool2d": rows(
        s(x(2, 2, 5, 4), (3, 2)), s(x(2, 4, 5), (None, 7)), s(x(1, 2, 3, 4), 1), bad(x(2, 3), 2),
        bad(x(1, 2, 3, 4), (2, 2, 2)), bad(x(1, 2, 3, 4), -1), bad(ints(1, 2, 3, 4), 2),
    ),
    "adaptive_avg_pool3d": rows(s(x(1, 3, 4, 5), (2, 3, 2)), bad(x(2, 3), 2)),
    "adaptive_max_pool1d": rows(s(x(2, 2, 7), 3), bad(x(1, 2, 3, 6), 2)),
    "adaptive_max_pool2d": rows(
        s(x(2, 2, 5, 4), (3, 2)), s(x(2, 4, 5), (None, 7)), bad(x(2, 3), 2), bad(x(1, 2, 2), -1)
    ),
    "adaptive_max_pool3d": rows(s(x(1, 3, 4, 5), (2, 3, 2))),
    "indices of adaptive_max_pool2d": rows(
        s(x(1, 2, 5, 4), (3, 2)), call=indices("adaptive_max_pool2d")
    ),
}  # fmt: skip
PADDING: Table = {
    "pad": rows(
        s(x(2, 3), (1, 2)), s(x(2, 3), (1, 0, -1, 2), value=1.5), s(x(2, 3, 4), (-1, -1)),
        s(ints(2, 3), (1, 1), value=2.7),
        *[s(x(2, 5), (2, 1), mode) for mode in ("reflect", "replicate", "circular")],
        *[s(x(1, 4, 3), (1, 2, 2, 1), mode) for mode in ("reflect", "replicate", "circular")],
        *[s(x(1, 2, 3, 3), (1, 0, 1, 1, 0, 1), m) for m in ("reflect", "replicate", "circular")],
        s(x(1, 2, 4), (-1, 2), "reflect"), s(x(1, 2, 4), (3, -1), "circular"),
        s(x(1, 2, 4), (5, 6), "replicate"), bad(x(2, 3), (1, 2, 3)), bad(x(2, 3), (1,) * 6),
        bad(x(2, 3), (-2, -2)), bad(x(2, 3), (1, 1), "mirror"), bad(x(2, 3), (3, 1), "reflect"),
        bad(x(2, 3), (4, 1), "circular"), bad(x(3), (1, 1), "replicate"),
        bad(x(2, 3), (1, 1), "reflect", 2.0), bad(x(2, 3), 1),
    ),
    "constant_pad_nd": rows(s(x(2, 3), (1, 2), 0.5), bad(x(2, 3), (1,)), bad(x(3), (1, 1, 1, 1))),
}  # fmt: skip
BLOCKS: Table = {
    "fold": rows(
        s(x(1, 8, 4), (3, 3), 2), s(x(4, 6), (3, 5), 2, 1, (0, 1), (1, 2)),
        bad(x(1, 7, 4), (3, 3), 2), bad(x(1, 8, 5), (3, 3), 2), bad(x(8), (3, 3), 2),
    ),
    "columns": rows(
        s(x(1, 2, 3, 4), 2), s(x(2, 4, 4), (2, 3), 1, 1, 2), s(x(1, 1, 5, 5), 2, 2),
        bad(x(2, 3), 2), bad(x(1, 2, 3, 4), 5), bad(x(1, 2, 3, 4), 0),
        bad(x(1, 2, 3, 4), (2, 2, 2)), call=lambda torch, *a: torch.nn.functional.unfold(*a),
    ),
    "pixel_shuffle": rows(
        s(x(1, 4, 2, 3), 2), s(x(9, 1, 2), 3), bad(x(1, 3, 2, 2), 2), bad(x(2, 2), 2)
    ),
    "pixel_unshuffle": rows(
        s(x(1, 2, 4, 6), 2), s(x(1, 3, 6), 3), bad(x(1, 2, 3, 4), 2), bad(x(1, 2, 4, 4), 0)
    ),
}  # fmt: skip
RESAMPLING: Table = {
    "interpolate": rows(
        s(x(1, 2, 3), 5), s(x(1, 1, 2, 3), scale_factor=2), s(x(1, 1, 2, 2, 1), (3, 2, 2)),
        s(x(1, 1, 3, 4), (2, 6), mode="nearest-exact"), s(x(1, 1, 3), 4, mode="nearest-exact"),
        s(x(1, 1, 2, 1, 2), 2, mode="nearest-exact"), s(x(1, 1, 4), 7, mode="linear"),
        s(x(1, 1, 4), 3, mode="linear", align_corners=True),
        s(x(1, 1, 2, 3), (3, 5), mode="bilinear"),
        s(x(1, 1, 2, 3), scale_factor=(1.7, 0.5), mode="bilinear"),
        s(x(1, 1, 3, 2), (4, 1), mode="bilinear", align_corners=True),
        s(x(1, 1, 2, 2, 2), (3, 1, 2), mode="trilinear"), s(x(1, 1, 3, 4), (4, 3), mode="bicubic"),
        s(x(1, 1, 3, 4), (2, 6), mode="bicubic", align_corners=True),
        s(x(1, 1, 4, 5), (2, 3), mode="bilinear", antialias=True),
        s(x(1, 1, 4, 5), (2, 7), mode="bicubic", antialias=True),
        s(x(1, 1, 4, 5), (2, 3), mode="area"), s(x(1, 1, 4), 3, mode="area"),
        s(x(1, 1, 3), scale_factor=1.5, recompute_scale_factor=True), bad(x(1, 1, 3)),
        bad(x(1, 1, 3), 2, 2.0), bad(x(1, 1, 3), (2, 2)), bad(x(1, 1, 3), 0),
        bad(x(1, 1, 3), 2, mode="bilinear"), bad(x(1, 1, 3), 2, mode="sinc"),
        bad(x(1, 1, 3), 2, align_corners=True), bad(x(2, 3), 2),
        bad(x(1, 1, 3), 2, mode="linear", antialias=True),
        bad(ints(1, 1, 3, 3), 2, mode="bilinear"),
    ),
}  # fmt: skip
PLACES = x(1, 2, 2, 2, domain="inside one")
OPTIONS = [
    (mode, padding, corners)
    for mode, corners in (("bilinear", False), ("nearest", False), ("bicubic", True))
    for padding in ("zeros", "border", "reflection")
]
GRIDS: Table = {
    "grid_sample": rows(
        *[s(x(1, 2, 3, 4), PLACES, *each) for each in OPTIONS],
        s(x(1, 1, 2, 3), x(1, 2, 1, 2), "bilinear", "reflection", True),
        s(x(1, 1, 2, 3, 2), x(1, 1, 2, 1, 3, domain="inside one"), align_corners=False),
        bad(x(1, 2, 3, 4), x(1, 2, 2, 3), align_corners=False),
        bad(x(2, 2, 3, 4), PLACES, align_corners=False), bad(x(1, 2, 3, 4), PLACES, "cubic"),
        bad(x(1, 2, 3, 4), PLACES, "bilinear", "mirror"),
        bad(x(1, 2, 0, 4), PLACES, align_corners=False),
        bad(ints(1, 2, 3, 4), ints(1, 2, 2, 2), align_corners=False),
    ),
    "affine_grid": rows(
        s(x(2, 2, 3), (2, 1, 2, 3), False), s(x(1, 2, 3), (1, 1, 1, 3), True),
        s(x(1, 3, 4), (1, 1, 2, 1, 2), True), bad(x(1, 2, 3), (1, 1, 2), True),
        bad(x(1, 3, 3), (1, 1, 2, 2), True), bad(x(1, 2, 3), (1, 1, 0, 2), True),
        bad(ints(1, 2, 3), (1, 1, 2, 2), True),
    ),
    "affine_grid_generator": rows(
        s(x(1, 2, 3), (1, 1, 2, 3), False), bad(x(1, 2, 3), (1, 1, 2), False),
        bad(x(2, 3, 3), (2, 1, 2, 2), False),
    ),
}  # fmt: skip
WINDOWS: Table = {**CONVOLUTION, **POOLING, **PADDING, **BLOCKS, **RESAMPLING, **GRIDS}


EVEN, FALLING = (2, 2), (3, 2, 1)


RECURRENT: Table = {
    "lstm_steps": rows(
        s(x(2, 2, 8), x(2, 2), x(2, 2), x(8, 2), None, EVEN, False),
        s(x(2, 2, 8), x(2, 2), x(2, 2), x(8, 2), None, EVEN, True),
        s(x(6, 8), x(3, 2), x(3, 2), x(8, 2), None, FALLING, False),
        s(x(6, 8), x(3, 2), x(3, 2), x(8, 2), None, FALLING, True),
        s(x(4, 8), x(2, 1), x(2, 2), x(8, 1), x(1, 2), EVEN, False),
        s(x(6, 8), x(3, 1), x(3, 2), x(8, 1), x(1, 2), FALLING, True),
        torch=None,
    ),
    "gru_steps": rows(
        s(x(2, 2, 6), x(2, 2), x(6, 2), x(6), EVEN, False),
        s(x(2, 2, 6), x(2, 2), x(6, 2), None, EVEN, True),
        s(x(6, 6), x(3, 2), x(6, 2), x(6), FALLING, False),
        s(x(6, 6), x(3, 2), x(6, 2), None, FALLING, True),
        torch=None,
    ),
    "elman_steps": rows(
        s(x(2, 2, 2), x(2, 2), x(2, 2), "tanh", EVEN, False),
        s(x(2, 2, 2), x(2, 2), x(2, 2), "relu", EVEN, True),
        s(x(6, 2), x(3, 2), x(2, 2), "tanh", FALLING, False),
        s(x(6, 2), x(3, 2), x(2, 2), "tanh", FALLING, True),
        torch=None,
    ),
    "pack_rows": rows(s(x(3, 3, 2), FALLING), s(x(4, 3), FALLING), torch=None),
    "pad_rows": rows(s(x(6, 2), FALLING, 3, 0.0), s(x(6), FALLING, 5, -1.0), torch=None),
}  # fmt: skip

INDICES = given([[1, 1], [3, 0]])
SOME, BAGS = np.array([1, 1, 3, 0]), np.array([0, 0, 2, 2])
FILLED = np.array([[True], [False], [True]])

EMBEDDING: Table = {
    "embedding_rows": rows(
        s(x(4, 3), INDICES, -1, False), s(x(4, 3), given(2), -1, False),
        s(x(4, 3), given([]), -1, False),
        torch=None,
    ),
    "embedding_dense_backward": rows(
        s(x(2, 2, 3), INDICES, 4, -1, False), s(x(2, 2, 3), INDICES, 4, 1, True),
        s(x(0, 3), given([]), 4, -1, False),
        torch=None,
    ),
    "embedding_taken": rows(
        s(x(4, 3), INDICES, -1, False), s(x(4, 3), INDICES, 1, True), torch=None
    ),
    "bag_sums": rows(
        s(x(4, 3), None, SOME, BAGS, 3, False), s(x(4, 3), x(4), SOME, BAGS, 3, False), torch=None
    ),
    "bag_maxima": rows(s(x(4, 3), SOME, BAGS, FILLED), torch=None),
    "one_hot_rows": rows(s(INDICES, 5), torch=None),
}  # fmt: skip

MASK = fixed([0.0, -np.inf, 0.0], [-np.inf, 0.5, -np.inf])


def attended(torch: Any, query: Any, key: Any, value: Any, mask: Any, *options: Any) -> Any:
    """The means alone: of what else the operation gives, single derivatives mean nothing."""
    causal, scale = options
    function = torch.nn.functional.scaled_dot_product_attention
    return function(query, key, value, mask, 0.0, causal, scale=scale)


ATTENTION: Table = {
    "scaled_dot_product_attention": rows(
        s(x(2, 1, 2, 2), x(2, 1, 3, 2), x(2, 1, 3, 2), None, False, 0.7),
        s(x(1, 2, 3, 2), x(1, 2, 3, 2), x(1, 2, 3, 2), None, True, 0.7),
        s(x(1, 2, 2, 2), x(1, 2, 3, 2), x(1, 2, 3, 2), MASK, False, -0.7),
        torch=None,
        call=attended,
    ),
    "safe_softmax": rows(
        s(x(2, 3)), s(x(2, 0)), kink(fixed([0.0, 1.0], [-np.inf, -np.inf])), torch=None
    ),
}  # fmt: skip

SEQUENCES: Table = {**RECURRENT, **EMBEDDING, **ATTENTION}
