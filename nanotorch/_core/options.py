"""What a declaration may say about an operation beside its formulas."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from nanotorch._core.batch_rules import Rule


class Options:
    """The options of `op`, with their defaults.

    Attributes:
        node: the node's class name, where PyTorch's is not made from the function's name.
        method, public: whether it is a method of Tensor and exported by the package.
        inplace: also provide `name_`.
        inplace_node: the class name of that one's node, where PyTorch has no derivative for it.
        overlap: for the in-place form: True if another operand may share memory, False if it must
            not be the same elements either; None: it may be these, but not others.
        expanded: for the in-place form: how PyTorch warns of memory that several elements share,
            by the name of the function; "" where it says nothing. None: that is refused.
        in_order: the result lies in memory in the order of its dimensions, however the input does.
        numbers: whether an operand may be a Python number; "other": whether the second may.
        dunder: also the operator `__<dunder>__` and, with two inputs, its reflected form.
        view: the result shares the input's memory; with ``multi``, each of several results does.
        aux: names of outputs after the first that have no gradient.
        results: names of the outputs, if several have a gradient. Then `g` is a tuple of as many
            gradients, None where none arrived.
        seen: as many gradients of outputs do hooks see, where that is not one for each; None for
            what is not there.
        joint: one formula, given for every input, returns the gradients of all of them.
        cast: "promote" brings several inputs to their common dtype and accepts Python numbers;
            "float" besides turns integers to the default floating-point dtype.
        wide: the kernel takes numbers of half precision in single, and its result is rounded
            once; formulas take them so, too.
        one_step: formulas do at most one operation, and take numbers of half precision as they are.
        arithmetic: formulas are arithmetic, which takes an array without dimensions longer than
            a number.
        unrounded: operands that beside half precision keep their digits in single, if they are
            Python numbers or have no dimensions.
        refuse_bool: the error for a bool tensor beside an operand of another dtype.
        unfold: the operation stands for two, as long as nobody looks: what makes their nodes of its
            own then. Its formulas take arrays only.
        batch: how `vmap` does it for all samples at once, where that does not follow from the rest.
    """

    node: str | None = None
    method: bool = True
    public: bool = True
    inplace: bool = False
    inplace_node: str | None = None
    overlap: bool | None = None
    expanded: str | None = None
    in_order: bool = False
    numbers: bool | str = True
    dunder: str | None = None
    view: bool = False
    multi: bool = False
    aux: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    seen: int = 0
    joint: bool = False
    cast: str | None = None
    wide: bool = False
    one_step: bool = False
    arithmetic: bool = False
    unrounded: tuple[str, ...] = ()
    refuse_bool: str | None = None
    unfold: "Callable[[Any], None] | None" = None
    batch: "Rule | None" = None


OPTIONS = Options.__annotations__.keys()
