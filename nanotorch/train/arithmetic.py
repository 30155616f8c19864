"""How much arithmetic the forward pass of a model is, read off its graph."""

import math
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import nanotorch as torch
from nanotorch import nn
from nanotorch._core.graph import Node
from nanotorch.utils.tensorboard.trace import trace

Shape = tuple[int, ...]

PRODUCTS = ("Mm", "Bmm", "Addmm", "Baddbmm", "Addbmm", "Mv", "Addmv", "Dot")
ATTENTION = "ScaledDotProductFlashAttentionForCpu"
# What puts numbers elsewhere, and computes none.
MOVES = (
    *("View", "UnsafeView", "ReshapeAlias", "Alias", "AsStrided", "T", "Transpose", "Permute"),
    *("Unsqueeze", "Squeeze", "Expand", "Slice", "Select", "Split", "SplitWithSizes", "Unbind"),
    *("Clone", "Copy", "ToCopy", "Cat", "Stack", "Repeat", "Flip", "Roll", "ConstantPadNd"),
    *("Embedding", "Index", "IndexSelect", "Gather"),
)
TRANSPOSED = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)
RECURRENT = (nn.RNNBase, nn.RNNCellBase)


def operations(model: nn.Module, example: torch.Tensor) -> Counter[nn.Module]:
    """Return the floating-point operations of each module, without those of its submodules.

    A product and a sum count as two, and what is no product of matrices, convolution or attention
    counts one for each element of its result.

    Args:
        model: is left as it was.
        example: what it is given, in evaluation mode.
    """
    counts: Counter[nn.Module] = Counter()

    def see(module: nn.Module, args: Any, output: Any) -> None:
        counts[module] = of_sequence(module, output[0] if isinstance(output, tuple) else output)

    recurrent = [module for module in model.modules() if isinstance(module, RECURRENT)]
    with ExitStack() as stack:
        for layer in recurrent:
            stack.callback(layer.register_forward_hook(see).remove)
        found = trace(model, (example,))
    modules = {path: module for module, path in found.scopes.paths.items()}
    for node in nodes([node for (node, _), _ in found.outputs.values() if node is not None]):
        module = modules[found.scopes.at(node._sequence)]
        if module not in recurrent:
            counts[module] += of_node(node, isinstance(module, TRANSPOSED))
    return counts


def of_node(node: Node, transposed: bool) -> int:
    """Return the floating-point operations of one that was recorded.

    Args:
        node: what was recorded.
        transposed: whether it is a transposed convolution, if it is one.
    """
    name = node.name().removesuffix("Backward0")
    shapes = [None if from_ is None else from_._outputs[k][0] for from_, k in node.next_functions]
    results = sum(math.prod(shape) for shape, _ in node._outputs)
    if not node.next_functions or name in MOVES:
        return 0
    if name in PRODUCTS:
        a, b = shapes[-2:]
        summed = a[-1] if a is not None else b[-2:][0] if b is not None else 0
        terms = math.prod(a[:1]) if name == "Addbmm" and a is not None else 1
        return 2 * results * summed * terms + (results if "dd" in name else 0)
    if name == "Convolution":
        x, weight, bias = (*shapes, None)[:3]
        meets = x if transposed and x is not None else node._outputs[0][0]
        each = math.prod(weight[1:]) if weight is not None else 0
        return 2 * math.prod(meets) * each + (results if bias is not None else 0)
    if name == ATTENTION and None not in shapes[:3]:
        queries, keys, values = (shape or () for shape in shapes[:3])
        scores = math.prod(queries[:-1]) * keys[-2]
        return scores * (2 * queries[-1] + 1 + 2 * values[-1])
    return results


def of_sequence(module: nn.Module, output: torch.Tensor) -> int:
    """Return those of a recurrent layer, each of whose places meets each of its matrices."""
    places = output.numel() // output.shape[-1]
    matrices = sum(weight.numel() for weight in module.parameters() if weight.dim() > 1)
    return int(2 * places * matrices + output.numel())


def nodes(roots: list[Node]) -> Iterator[Node]:
    """Yield the nodes that lead to some, and these."""
    waiting, seen = list(roots), set(roots)
    while waiting:
        node = waiting.pop()
        yield node
        for before, _ in node.next_functions:
            if before is not None and before not in seen:
                seen.add(before)
                waiting.append(before)
