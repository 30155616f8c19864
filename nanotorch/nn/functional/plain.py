"""Functions of `nn.functional` as the package itself has them: other arguments, none in place."""

from collections.abc import Sequence
from typing import Any

from nanotorch._core.tensor import Tensor
from nanotorch.nn.functional import activation, further_activation, normalization
from nanotorch.nn.functional.dropout import alpha_dropout as alpha_dropped
from nanotorch.nn.functional.dropout import channels_dropped, check_probability
from nanotorch.nn.functional.dropout import dropout as dropped
from nanotorch.nn.functional.dropout import feature_alpha_dropout as feature_alpha_dropped
from nanotorch.nn.functional.embedding import embedding as rows_of_table
from nanotorch.ops.shrinking import hardshrink as shrunk
from nanotorch.ops.shrinking import threshold as replaced
from nanotorch.ops.weight_norm import lengths


def selu(input: Tensor) -> Tensor:
    """`nn.functional.selu`."""
    return activation.selu(input)


def celu(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`nn.functional.celu`."""
    return further_activation.celu(input, alpha)


def threshold(input: Tensor, threshold: float, value: float, *, out: Any = None) -> Tensor:
    """`nn.functional.threshold`."""
    result: Tensor = replaced(input, threshold, value, out=out)
    return result


def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False
) -> Tensor:
    """`nn.functional.rrelu`."""
    return further_activation.rrelu(input, lower, upper, training)


def hardshrink(input: Tensor, lambd: float = 0.5, *, out: Any = None) -> Tensor:
    """`nn.functional.hardshrink`."""
    result: Tensor = shrunk(input, lambd, out=out)
    return result


def dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """`nn.functional.dropout`."""
    return dropped(input, p, train)


def dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`dropout` of ``input`` itself."""
    return dropped(input, p, train, inplace=True)


def alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """`nn.functional.alpha_dropout`."""
    return alpha_dropped(input, p, train)


def alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`alpha_dropout` of ``input`` itself."""
    return alpha_dropped(input, p, train, inplace=True)


def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """`dropout` of whole channels of (N, C, ...)."""
    check_probability(p)
    return channels_dropped(input, p, train, inplace=False)


def feature_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`feature_dropout` of ``input`` itself."""
    check_probability(p)
    return channels_dropped(input, p, train, inplace=True)


def feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """`nn.functional.feature_alpha_dropout`."""
    return feature_alpha_dropped(input, p, train)


def feature_alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`feature_alpha_dropout` of ``input`` itself."""
    return feature_alpha_dropped(input, p, train, inplace=True)


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Tensor:
    """`nn.functional.layer_norm`; ``cudnn_enable`` is accepted."""
    return normalization.layer_norm(input, normalized_shape, weight, bias, eps)


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Tensor:
    """`nn.functional.group_norm`; ``cudnn_enabled`` is accepted."""
    return normalization.group_norm(input, num_groups, weight, bias, eps)


def batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: Any,
) -> Tensor:
    """`nn.functional.batch_norm`, its arguments in another order; ``cudnn_enabled`` is accepted."""
    return normalization.batch_norm(
        input, running_mean, running_var, weight, bias, training, momentum, eps
    )


def instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: Any,
) -> Tensor:
    """`nn.functional.instance_norm`, its arguments in another order."""
    return normalization.instance_norm(
        input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps
    )


def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """The norm of each slice along ``dim``, in a shape that broadcasts with ``v``; of all for -1.

    Args:
        pow: the order of the norm. Default: 2.
    """
    return lengths(v, dim, pow)


def embedding(
    weight: Tensor,
    indices: Tensor,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """`nn.functional.embedding`, its arguments in another order; no row is padding by default."""
    padding = padding_idx if padding_idx >= 0 else None
    return rows_of_table(indices, weight, padding, None, 2.0, scale_grad_by_freq, sparse)
