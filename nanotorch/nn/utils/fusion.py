"""A layer and the batch normalization behind it as one layer, for evaluation."""

import copy
from typing import Any

from nanotorch import ops
from nanotorch._core.tensor import Tensor
from nanotorch.nn.parameter import Parameter


def fused(
    weight: Tensor, bias: Tensor | None, dim: int, bn: tuple[Any, Any, float, Any, Any]
) -> tuple[Parameter, Parameter]:
    """Weight and bias of the one layer; ``dim`` of the weight is that of the outputs."""
    mean, variance, eps, scale, shift = bn
    bias = ops.zeros_like(mean) if bias is None else bias
    scale = ops.ones_like(mean) if scale is None else scale
    shift = ops.zeros_like(mean) if shift is None else shift
    factor = scale * ops.rsqrt(variance + eps)
    shape = [1] * weight.ndim
    shape[dim] = -1
    new = (weight * factor.reshape(shape)).to(weight.dtype)
    moved = ((bias - mean) * factor + shift).to(bias.dtype)
    needs = weight.requires_grad, bias.requires_grad
    return Parameter(new.detach(), needs[0]), Parameter(moved.detach(), needs[1])


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of a convolution that does what a batch normalization behind it does too.

    Args:
        conv_w, conv_b: of the convolution.
        bn_rm, bn_rv, bn_eps, bn_w, bn_b: running mean and variance, eps, weight and bias.
        transpose: the convolution is a transposed one. Default: False.
    """
    return fused(conv_w, conv_b, 1 if transpose else 0, (bn_rm, bn_rv, bn_eps, bn_w, bn_b))


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor,
    bn_b: Tensor,
) -> tuple[Parameter, Parameter]:
    """`fuse_conv_bn_weights` for a linear layer."""
    return fused(linear_w, linear_b, 0, (bn_rm, bn_rv, bn_eps, bn_w, bn_b))


def statistics(layer: Any, bn: Any) -> tuple[Any, Any, float, Any, Any]:
    """What is known of a batch normalization.

    Raises:
        AssertionError: in training mode.
    """
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    return bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A new convolution that does what ``bn(conv(x))`` does, both in evaluation mode.

    Args:
        transpose: the convolution is a transposed one. Default: False.

    Raises:
        AssertionError: in training mode.
    """
    known = statistics(conv, bn)
    one = copy.deepcopy(conv)
    one.weight, one.bias = fuse_conv_bn_weights(one.weight, one.bias, *known, transpose)
    return one


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A new linear layer that does what ``bn(linear(x))`` does, both in evaluation mode.

    Raises:
        AssertionError: in training mode, or for other numbers of features.
    """
    known = statistics(linear, bn)
    if bn.num_features not in (linear.out_features, 1):
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
            f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}"
        )
    one = copy.deepcopy(linear)
    one.weight, one.bias = fuse_linear_bn_weights(one.weight, one.bias, *known)
    return one
