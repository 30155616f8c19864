"""How results and gradients lie in memory, for inputs that lie there in several ways."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.ops.sampling import Call, Sample, is_inplace, weights_like

Strides = list[int] | None  # None: in order


def turned(array: np.ndarray) -> np.ndarray:
    """The same values with the first dimension the fastest."""
    return np.array(array, order="F")


def sparse(array: np.ndarray) -> np.ndarray:
    """The same values with gaps between them."""
    wide = np.zeros((*array.shape, 2), array.dtype)
    wide[..., 0] = array
    return wide[..., 0]


# Which of the inputs are what.
LAYOUTS: dict[str, Callable[[list[np.ndarray]], list[np.ndarray]]] = {
    "in order": lambda arrays: arrays,
    "turned": lambda arrays: [turned(a) for a in arrays],
    "first turned": lambda arrays: [turned(a) if k == 0 else a for k, a in enumerate(arrays)],
    "others turned": lambda arrays: [a if k == 0 else turned(a) for k, a in enumerate(arrays)],
    "with gaps": lambda arrays: [sparse(a) for a in arrays],
}


def lies(tensor: Any) -> Strides:
    """The strides, 0 where there is but one element; None if the elements lie in order."""
    shape = list(tensor.shape)
    if 0 in shape:
        return None
    strides = [s if n > 1 else 0 for n, s in zip(shape, tensor.stride(), strict=True)]
    in_order = np.empty(shape, np.int8).strides
    same = all(a == b for a, b, n in zip(strides, in_order, shape, strict=True) if n > 1)
    return None if same else strides


def told(
    torch: Any,
    function: Callable[..., Any],
    name: str,
    sample: Sample,
    make: Callable[[np.ndarray], Any],
) -> dict[str, list[Strides]]:
    """For each layout of the inputs the strides of the outputs, and of the leaves' gradients.

    Only what is not in order; empty where nothing is, or the call does not work.
    """
    found = {}
    for layout, arrange in LAYOUTS.items():
        arrays = arrange([i.draw(k, "float32") for k, i in enumerate(sample.inputs())])
        call = Call(torch, function, sample, arrays, make, inplace=is_inplace(name))
        try:
            outs = [out for out in call() if isinstance(out, torch.Tensor)]
            answer = [lies(out) for out in outs]
            differentiable = [out for out in outs if out.requires_grad]
            if differentiable:
                weights = [
                    make(np.asarray(weights_like(out.shape, "weight", k), np.float32))
                    for k, out in enumerate(differentiable)
                ]
                torch.autograd.backward(differentiable, weights)
                answer += [None if t.grad is None else lies(t.grad) for t in call.leaves]
        except Exception:
            continue
        if any(answer):
            found[layout] = answer
    return found


def asked(samples: Sequence[Sample]) -> list[int]:
    """The numbers of the samples that are worth the question: those of two dimensions or more."""
    return [
        number
        for number, sample in enumerate(samples)
        if not sample.fails and any(len(i.shape) > 1 for i in sample.inputs())
    ]
