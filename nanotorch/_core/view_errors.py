"""Why a write to a view, or to memory that it shares, is refused."""

from nanotorch._core.graph import Edge, short_name

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
    NO_GRAD: CLARIFY.format(mode="no_grad"),
    INFERENCE: CLARIFY.format(mode="inference_mode"),
    MULTI_OUTPUT: (
        "This view is the output of a function that returns multiple views. Such functions do not "
        "allow the output views to be modified inplace. You should replace the inplace operation "
        "by an out-of-place one."
    ),
    CUSTOM: (
        "This view was created inside a custom Function (or because an input was returned as-is) "
        "and the autograd logic to handle view+inplace would override the custom backward "
        "associated with the custom Function, leading to incorrect gradients. This behavior is "
        "forbidden. You can fix this by cloning the output of the custom Function."
    ),
}


def refused_write(origin: str, edge: Edge | None, *, indirect: bool) -> RuntimeError:
    """The error for a write to a view of this origin.

    Args:
        edge: the view's place in the graph.
        indirect: whether its base or another view was written to, not the view itself.
    """
    node, number = edge or (None, 0)
    what = INDIRECT if indirect else DIRECT
    if origin in (NO_GRAD, INFERENCE) or node is None:
        about = "inference mode" if origin is INFERENCE else "no_grad mode"
        now = "in normal mode" if origin is INFERENCE else "with grad mode enabled"
        who = "A view"
        if node is not None:
            who = f"Output {number} of {short_name(node)} is a view of a view which"
        told = f"{who} was created in {about} and {what} {now}."
    else:
        told = f"Output {number} of {short_name(node)} is a view and {what}."
    return RuntimeError(f"{told} {TEXTS[origin]}")
