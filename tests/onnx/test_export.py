"""Exported models compute the same in onnxruntime, at the traced size and at another one."""

import functools
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nanotorch as torch
import nanotorch.nn.functional as F
from nanotorch import nn
from nanotorch.func.trees import tree_leaves

onnx = pytest.importorskip("onnx", reason="needs onnx and onnxruntime")
onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnx and onnxruntime")

CLOSE = 1e-5


class Of(nn.Module):
    """A function as a module, with its layers."""

    def __init__(self, function: Callable[..., Any], *layers: nn.Module) -> None:
        super().__init__()
        self.layers, self.function = nn.ModuleList(layers), function

    def forward(self, *inputs: Any) -> Any:
        return self.function(*self.layers, *inputs)


class Gpt(nn.Module):
    """One block of a language model; its mask is a part of a buffer, its positions count up."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(11, 8), nn.Embedding(16, 8)
        self.norm, self.gates, self.out = nn.LayerNorm(8), nn.Linear(8, 24), nn.Linear(8, 8)
        self.register_buffer("mask", torch.tril(torch.ones(16, 16)).view(1, 1, 16, 16))

    def forward(self, codes: Any) -> Any:
        B, T = codes.shape
        x = self.tokens(codes) + self.places(torch.arange(T))
        parts = self.gates(self.norm(x)).split(8, dim=2)
        q, k, v = (part.view(B, T, 2, 4).transpose(1, 2) for part in parts)
        scores = q @ k.transpose(-2, -1) / 2
        scores = scores.masked_fill(self.mask[:, :, :T, :T] == 0, float("-inf"))
        y = (F.softmax(scores, -1) @ v).transpose(1, 2).contiguous().view(B, T, 8)
        return (x + self.out(y)) @ self.tokens.weight.t()


def trained_norm(norm: nn.Module, *shape: int) -> nn.Module:
    """A batch norm whose running values are not those of the start."""
    norm(torch.randn(5, *shape) * 2 + 1)
    return norm


def rnn(kind: Any, **options: Any) -> Any:
    return lambda: kind(4, 5, batch_first=True, **options)


def classifier() -> nn.Module:
    def last(embed: Any, lstm: Any, head: Any, codes: Any) -> Any:
        return head(lstm(embed(codes))[0][:, -1])

    return Of(last, nn.Embedding(10, 4), nn.LSTM(4, 6, batch_first=True), nn.Linear(6, 3))


def attention(**options: Any) -> Any:
    layer = functools.partial(nn.MultiheadAttention, 4, 2, batch_first=True)
    return lambda: Of(lambda mha, x: mha(x, x, x, **options), layer())


X, SEQUENCE, IMAGE = (3, 4), (2, 3, 4), (2, 3, 8, 8)
CODES = torch.tensor([[1, 7, 2, 3], [4, 5, 9, 0]])
STEPS = torch.ones(3, 3, dtype=torch.bool).triu(1)
ACTIVATIONS = """LeakyReLU ELU SELU CELU GELU SiLU Mish Softplus Softsign Sigmoid Hardtanh
Hardsigmoid Hardswish ReLU6 LogSigmoid Softshrink Hardshrink Tanhshrink PReLU GLU"""
# A model, and the shape of its input, or the input.
MODELS: dict[str, tuple[Callable[[], Any], Any]] = {
    "mlp": (lambda: nn.Sequential(
        nn.Linear(4, 8), nn.ReLU(), nn.Dropout(), nn.Linear(8, 2), nn.Softmax(-1)), X),
    "rows": (lambda: nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 2, bias=False)), SEQUENCE),
    "cnn": (lambda: nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1), trained_norm(nn.BatchNorm2d(4), 4, 3, 3),
        nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.AvgPool2d(2), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(), nn.Linear(4, 2)), IMAGE),
    "cnn of signals": (lambda: nn.Sequential(
        nn.Conv1d(3, 4, 3, padding="same"), trained_norm(nn.BatchNorm1d(4), 4, 3),
        nn.MaxPool1d(2), nn.AdaptiveMaxPool1d(2)), (2, 3, 8)),
    "cnn of volumes": (lambda: nn.Sequential(
        nn.Conv3d(3, 4, 3, padding=1, bias=False), nn.MaxPool3d(2), nn.AvgPool3d(2)),
        (2, 3, 4, 4, 4)),
    "transposed convolution": (lambda: nn.Sequential(
        nn.ConvTranspose2d(3, 4, 2, stride=2, output_padding=1),
        nn.ConvTranspose2d(4, 4, 3, padding=1, groups=2)), IMAGE),
    **{f"padding {mode}": (lambda mode=mode: nn.Conv2d(3, 3, 3, padding=1, padding_mode=mode),
       IMAGE)
       for mode in ("reflect", "replicate", "circular")},
    "pooling": (lambda: lambda x: (
        F.max_pool2d(x, 3, 2, 1), F.max_pool2d(x, 3, 2, ceil_mode=True), F.avg_pool2d(x, 3, 2, 1),
        F.avg_pool2d(x, 3, 2, 1, count_include_pad=False), F.avg_pool2d(x, 2, divisor_override=3),
        F.adaptive_avg_pool2d(x, (4, 2)), F.adaptive_avg_pool2d(x, (3, 5)),
        F.adaptive_max_pool2d(x, 2)), IMAGE),
    "normalizations": (lambda: nn.Sequential(
        nn.GroupNorm(3, 3), nn.InstanceNorm2d(3, affine=True), nn.LayerNorm(8), nn.RMSNorm(8),
        nn.LocalResponseNorm(2), nn.LayerNorm([8, 8], elementwise_affine=False)), IMAGE),
    **{f"{kind.__name__} {options}": (rnn(kind, **options), SEQUENCE)
       for kind in (nn.RNN, nn.GRU, nn.LSTM)
       for options in ({}, {"bias": False}, {"bidirectional": True, "num_layers": 2})},
    "cells": (lambda: Of(
        lambda a, b, c, x: (a(x), b(x), *c(x)),
        nn.RNNCell(4, 5), nn.GRUCell(4, 5), nn.LSTMCell(4, 5)), X),
    "embedding and lstm": (classifier, CODES),
    "attention": (attention(), SEQUENCE),
    "masked attention": (attention(need_weights=False, attn_mask=STEPS), SEQUENCE),
    "causal attention": (
        lambda: lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True), (2, 2, 3, 4)),
    "encoder": (lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(
        4, 2, 8, batch_first=True, activation="gelu"), 2), SEQUENCE),
    "transformer": (lambda: Of(
        lambda model, x: model(x, x + 1), nn.Transformer(4, 2, 1, 1, 8, batch_first=True)),
        SEQUENCE),
    "language model": (Gpt, CODES),
    "bilinear": (lambda: Of(lambda layer, x: layer(x, x + 1), nn.Bilinear(4, 4, 3)), X),
    "activations": (lambda: Of(lambda *parts: tuple(layer(parts[-1]) for layer in parts[:-1]), *(
        getattr(nn, name)() for name in ACTIVATIONS.split()), nn.LogSoftmax(1),
        nn.Threshold(0.1, 2), nn.GELU("tanh")), X),
    "arithmetic": (lambda: lambda x: (
        x + 1, 2 - x, 2 / x, x / 3, x**2, 2**x, -x, x.abs().rsqrt(), x // 2, x % 2, x.exp().log1p(),
        x.mul(2).relu_().add_(1), x.detach() * x.data, x * x.size(0)), X),
    "comparisons": (lambda: lambda x: (
        x > 0, x != x, (x > 0) & ~(x < 1), torch.logical_or(x > 0, x), torch.where(x > 0, x, 0.0),
        x.clamp(0, 1), x.clamp(max=0.2), x.masked_fill(x > 0, 1.0), torch.maximum(x, -x)), X),
    "reductions": (lambda: lambda x: (
        x.sum(), x.mean(1, keepdim=True), x.std(1), x.var(1, unbiased=False), *x.max(1), x.amin(1),
        x.argmax(1), x.argmin(), x.prod(1), x.norm(dim=1), x.logsumexp(1), x.cumsum(1),
        (x > 0).sum(1), (x > 0).any(1), (x > 0).all(), F.normalize(x), *x.topk(2), *x.sort(1)), X),
    "shapes": (lambda: lambda x: (
        x.reshape(-1), x.view(x.size(0), 2, 2), x.T, x.unsqueeze(1).squeeze(1), x.flatten(),
        x.permute(1, 0), x.expand(5, *x.shape), x[:, None].expand(-1, 3, -1), x.repeat(2, 1, 3),
        x.chunk(2, 1), x.split([1, 3], 1), x.unbind(1), x.flip(1), F.pad(x, (1, 2), value=3.0),
        torch.cat([x, torch.zeros(x.size(0), 1)], 1), torch.stack([x, x], -1), x.tril()), X),
    "parts": (lambda: lambda x: (
        x[0], x[:, 0], x[..., 1:], x[:, -1], x[:, ::2], x[:, [0, 2]], x[:, None, :2], x[x > 0],
        x[torch.arange(x.size(0)), x.argmax(1)], x.narrow(1, 1, 2), x.select(1, -1),
        x.gather(1, x.argmax(1, keepdim=True)), x.index_select(1, torch.tensor([0, 3])),
        F.one_hot(x.argmax(1), 4), torch.arange(x.size(0)).float()[:, None] * x), X),
    "products": (lambda: lambda x: (
        torch.einsum("bi,ij->bj", x, torch.ones(4, 4)), x[:, None] @ x[:, :, None],
        torch.addmm(torch.ones(2), x, torch.ones(4, 2), beta=0.5, alpha=2.0),
        torch.baddbmm(x[:, None, :1], x[:, None], x[:, :, None])), X),
    **{f"resizing {mode}": (lambda mode=mode: lambda x: (
        F.interpolate(x, scale_factor=2, mode=mode), F.interpolate(x, size=(5, 7), mode=mode)),
       IMAGE)
       for mode in ("nearest", "bilinear", "bicubic")},
    "dtypes": (lambda: lambda x: (x.double() + x, x.long() * 2, x.half(), x > 1, (x > 0) + x), X),
}  # fmt: skip


def session_of(program: Any) -> Any:
    return onnxruntime.InferenceSession(program.model_proto.SerializeToString())


def check_same(session: Any, model: Any, *inputs: Any) -> None:
    """Compare all results of a session with the model's."""
    with torch.no_grad():
        ours = [part.numpy() for part in tree_leaves(model(*inputs)) if part is not None]
    names = [given.name for given in session.get_inputs()]
    found = session.run(None, dict(zip(names, (x.numpy() for x in inputs), strict=True)))
    for theirs, wanted in zip(found, ours, strict=True):
        assert theirs.dtype == wanted.dtype
        np.testing.assert_allclose(theirs, wanted, rtol=CLOSE, atol=CLOSE)


@pytest.mark.parametrize("name", MODELS)
def test_models(name: str) -> None:
    torch.manual_seed(0)
    make, given = MODELS[name]
    model, x = make(), given if isinstance(given, torch.Tensor) else torch.randn(*given)
    program = torch.onnx.export(model, x, input_names=["x"], dynamic_axes={"x": {0: "batch"}})
    if isinstance(model, nn.Module):
        assert model.training
        model.eval()
        used = {part.name for part in program.model_proto.graph.initializer}
        assert {n for n, _ in model.named_parameters()} <= used
    session = session_of(program)
    for inputs in (x, torch.cat([x, x * 1 + 1 if x.dtype == torch.float32 else x]), x[:1]):
        check_same(session, model, inputs)


def test_several_dynamic_sizes_and_names() -> None:
    model = Gpt().eval()
    batch, length = "batch", "length"
    program = torch.onnx.export(
        model, (CODES,), "m.onnx", dynamic_shapes={"codes": {0: batch, 1: length}}
    )
    for codes in (CODES, torch.zeros(1, 16, dtype=torch.int64), torch.ones(5, 2).long()):
        check_same(session_of(program), model, codes)
    (given,), (made,) = (
        [[d.dim_param or d.dim_value for d in v.type.tensor_type.shape.dim] for v in side]
        for side in (program.model_proto.graph.input, program.model_proto.graph.output)
    )
    assert (given, made) == ([batch, length], [batch, length, 11])
    assert Path("m.onnx").stat().st_size == program.model_proto.ByteSize()
    images = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    axes = {"input": [0, 2, 3]}
    session = session_of(torch.onnx.export(images, torch.randn(*IMAGE), dynamic_axes=axes))
    check_same(session, images, torch.randn(1, 3, 9, 5))


def test_arguments_of_all_kinds() -> None:
    def sums(pair: Any, scale: float, *, more: Any) -> dict[str, Any]:
        return {"all": (pair[0] + pair[1]) * scale + more}

    x = torch.ones(2, 3)
    program = torch.onnx.export(
        sums, ([x, x + 1], 2.0), kwargs={"more": x}, output_names=["total"],
        dynamic_shapes={"pair": [{0: "n"}, {0: "n"}], "more": {0: "n"}},
    )  # fmt: skip
    graph = program.model_proto.graph
    assert [part.name for part in graph.input] == ["pair_0", "pair_1", "more"]
    assert [part.name for part in graph.output] == ["total"]
    assert program(x, x + 1, x)[0].tolist() == [[7.0] * 3] * 2
    layer = nn.Linear(3, 1)
    asked = {"export_params": False, "dynamo": False}
    assert torch.onnx.export(layer, x, "m.onnx", **asked) is None
    graph = onnx.load("m.onnx").graph
    assert {part.name for part in graph.input} == {"input", "weight", "bias"}
    assert not torch.onnx.is_in_onnx_export()
    for wrong in ({"opset_version": 9}, {"custom_opsets": {"a": 1}}):
        with pytest.raises(ValueError, match="opset"):
            torch.onnx.export(layer, x, **wrong)


def in_place(x: Any) -> Any:
    y = x * 1
    y[:, 0] = 5
    return y


def through_a_view(x: Any) -> Any:
    y = x * 1
    y.view(-1).add_(1)
    return y


PROJECTED = nn.LSTM(4, 5, proj_size=2)
# A function that cannot be exported, and the error.
REFUSED: dict[str, tuple[Any, str]] = {
    "no row": (lambda x: torch.linalg.inv(x.T @ x), r"cannot export inv \(.*test_export.py:\d+\)"),
    "no operation": (lambda x: x.nonzero(), r"cannot export nonzero \(.*test_export.py:\d+\)"),
    "chance": (lambda x: x + torch.randn_like(x), r"cannot export randn_like \("),
    "dropout": (lambda x: F.dropout(x), r"cannot export dropout \("),
    "a further result": (
        lambda x: F.max_pool1d(x[:, None], 2, return_indices=True), "a further result"),
    "an index": (in_place, r"a write at an index, __setitem__ \(.*test_export.py:\d+\)"),
    "a view": (through_a_view, "a write through a view"),
    "a fixed size": (lambda x: x.reshape(3, -1)[:, :4], "the model fails at dynamic sizes"),
    "half of the rows": (lambda x: x[: x.size(0) // 2], "it depends on a number"),
    "chunks of rows": (lambda x: x.chunk(2)[0], "it depends on a number"),
    "half a size": (lambda x: x * (x.size(0) // 2), r"__mul__ \(.*py:\d+\): it depends"),
    "a square": (lambda x: x * x.size(0) ** 2, "it depends on a number"),
    "a least size": (lambda x: x * min(x.size(0), 4), "it depends on a number"),
    "a row in the middle": (lambda x: x.sort(0)[0][x.size(0) // 2], "it depends on a number"),
    "half of the rows, added up": (lambda x: x[: x.size(0) // 2].sum(0), "it depends on a number"),
    "a choice": (lambda x: x if x.size(0) == 3 else x * 2, "whether __mul__ .* runs depends on"),
    "a large constant": (lambda x: x.T @ torch.eye(x.size(0)), "a tensor of shape"),
    "a packed sequence": (
        lambda x: PROJECTED(x[:, None])[0], "a packed sequence, or a projection"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_mapping_is_refused_by_name_and_line(name: str) -> None:
    function, message = REFUSED[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(torch.onnx.OnnxExporterError, match=message):
            torch.onnx.export(function, torch.randn(3, 4), dynamic_axes={"x": {0: "n"}})


def test_values_in_python_become_constants_with_a_warning() -> None:
    def choose(x: Any) -> Any:
        return x * 2 if x.sum() > 0 else x

    message = re.escape(
        "a value of a tensor becomes a constant of the exported model, by __bool__ ("
    )
    with pytest.warns(torch.onnx.errors.OnnxExporterWarning, match=message):
        torch.onnx.export(choose, torch.ones(2))
    warned = pytest.warns(torch.onnx.errors.OnnxExporterWarning, match="by item")
    with warned, pytest.raises(torch.onnx.OnnxExporterError, match="values of the inputs"):
        torch.onnx.export(lambda x: x * x.max().item(), torch.ones(2))
