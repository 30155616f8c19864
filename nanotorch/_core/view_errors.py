"""Why a write to a view, or to memory that it shares, is refused."""

from nanotorch._core.graph import Edge

# How a view came about, where that forbids writing to it under grad mode.
TRACKED, NO_GRAD, INFERENCE = "tracked", "no_grad", "inference"
MULTI_OUTPUT, CUSTOM = "multi_output", "custom"

DIRECT = "is being modified inplace"
INDIRECT = "its base or another view of its base has been modified inplace"
CLARIFY = (
    "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your "
    "code by moving both the view and the inplace either both inside the {mode} block (if you "
    "don't want the inplace to be tracked) or both outside (if you want the inplace to be tracked)."
)
TEXTS = {
    NO_GRAD: (
        "A view was created in no_grad mode and {what} with grad mode enabled. "
        + CLARIFY.format(mode="no_grad")
    ),
    INFERENCE: (
        "A view was created in inference mode and {what} in normal mode. "
        + CLARIFY.format(mode="inference_mode")
    ),
    MULTI_OUTPUT: (
        "Output {number} of {node} is a view and {what}. This view is the output of a function "
        "that returns multiple views. Such functions do not allow the output views to be modified "
        "inplace. You should replace the inplace operation by an out-of-place one."
    ),
    CUSTOM: (
        "Output {number} of {node} is a view and {what}. This view was created inside a custom "
        "Function (or because an input was returned as-is) and the autograd logic to handle "
        "view+inplace would override the custom backward associated with the custom Function, "
        "leading to incorrect gradients. This behavior is forbidden. You can fix this by cloning "
        "the output of the custom Function."
    ),
}


def refused_write(origin: str, edge: Edge | None, *, indirect: bool) -> RuntimeError:
    """The error for a write to a view of this origin.

    Args:
        edge: the view's place in the graph.
        indirect: whether its base or another view was written to, not the view itself.
    """
    node, number = edge or (None, 0)
    name = "a function"
    if node is not None:
        name = node.name().rstrip("0123456789").removesuffix("Backward")
    what = INDIRECT if indirect else DIRECT
    return RuntimeError(TEXTS[origin].format(what=what, number=number, node=name))
