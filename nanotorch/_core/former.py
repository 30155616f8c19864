"""The order of arguments that PyTorch had before 2020, as in ``x.add_(-lr, gradient)``.

It still takes it, and so do these here: numbers come before the tensors that they scale. They
may be tensors without dimensions.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from nanotorch._core.arguments import surplus
from nanotorch._core.tensor import Tensor
from nanotorch._core.warned import warn_once

# By function, what scales its tensors.
SCALES = {
    **dict.fromkeys(("add", "sub"), ("alpha",)),
    **dict.fromkeys(("addcdiv", "addcmul"), ("value",)),
    **dict.fromkeys(("addbmm", "addmm", "addmv", "addr", "baddbmm"), ("beta", "alpha")),
}
NUMBERS = (bool, int, float, np.generic)
DEPRECATED = (
    "This overload of {0} is deprecated:\n\t{0}({1})\nConsider using "
    "one of the following signatures instead:\n\t{0}({2})"
)


def former_order(
    name: str,
    tensors: Sequence[str],
    values: Sequence[Any],
    scaled: bool,
    *,
    method: bool,
    out: bool = False,
) -> dict[str, Any]:
    """The arguments, by name, of a call that gave numbers first.

    Warns once, whichever function is called so.

    Args:
        tensors: names of the tensors, the first of which is a method's own.
        values: what the call gave, in its order.
        scaled: whether it gave a number by name, too.
        out: whether the function has that argument.

    Raises:
        TypeError: if these are no such arguments, so that there are too many.
    """
    scales = SCALES[name.removesuffix("_")][: len(values) - len(tensors)]
    first, *others = tensors
    order = [first, *scales, *others]
    if scales[0] == "beta" and not method:
        order = ["beta", first, *scales[1:], *others]
    found = dict(zip(order, values, strict=False))
    kinds: dict[str, tuple[type, ...]] = dict.fromkeys(scales, NUMBERS)
    if "other" in tensors:
        kinds |= dict.fromkeys(tensors, (Tensor, *NUMBERS))
    for key in scales:
        value = found.get(key)
        if isinstance(value, Tensor) and not value.ndim and not value.requires_grad:
            found[key] = value.item()
    if (
        scaled
        or len(values) > len(order)
        or not all(isinstance(value, kinds.get(key, Tensor)) for key, value in found.items())
    ):
        count = len(tensors) - method
        raise surplus(name, count, count, len(values) - method)
    named = [f"{'Number' if key in scales else 'Tensor'} {key}" for key in order]
    today = [f"Tensor {key}" for key in tensors]
    optional = [f"Number {key} = 1" for key in SCALES[name.removesuffix("_")]]
    last = ["Tensor out = None"] * out
    formerly = [*named[method:], *(["*"] * out), *last]
    told = [", ".join(part) for part in (formerly, [*today[method:], "*", *optional, *last])]
    warn_once(DEPRECATED.format(name, *told), "former order")
    return found
