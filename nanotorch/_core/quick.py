"""The backward sweep of an ordinary training step, where nobody looks on.

Without hooks and users' functions in the graph it cannot be seen when a leaf gets its gradient.
So no consumers need to be counted: the node with the highest sequence number runs next, and leaves
get their sums at the end. As soon as somebody could look on, `engine.Sweep` takes over, in the
very state that it would be in by then.
"""

from heapq import heappop, heappush, heappushpop
from typing import Any

from nanotorch._core.engine import Sweep, add, fit
from nanotorch._core.graph import Edge, FreedValues, accumulate_into, accumulating


def sweep(root: Edge, first: Any, freed: FreedValues | None) -> None:
    """Add to the leaves' ``grad`` what ``first``, the gradient at ``root``, makes of them.

    Args:
        first: an ndarray or NumPy scalar; it is not written to.
        freed: what takes the place of saved values once they are used; None to keep them.
    """
    following: Any = root[0]
    number = root[1]
    waiting: dict[Any, list[Any]] = {following: start_of(following, number, first, False)}
    leaves: dict[Any, list[Any]] = {}
    others: list[tuple[int, Any]] = []  # what waits besides `following`: a heap
    node: Any = following
    watched = not node._sequence
    try:
        while following is not None and following.plain and not watched:
            node, following = following, None
            g = (held := waiting[node])[0]
            grads = node.apply(held[0::2], False) if node.multi else node.apply_bare(g)
            if freed is not None and node.keeps_values:
                node._saved = freed
            del waiting[node]
            for position, (target, number) in enumerate(node.next_functions):
                if target is None:
                    continue
                new = grads[position]
                if new is None:  # what is behind may have to run all the same
                    watched = True
                    continue
                mine = node.fresh_gradients and new is not g
                shape, dtype = target._outputs[number]
                if new.shape != shape or new.dtype is not dtype:
                    new = fit(new, node, position, shape, dtype)
                at = waiting if target._sequence else leaves
                if target in at:
                    add(at[target], 2 * number, new, mine)
                    continue
                at[target] = start_of(target, number, new, mine) if target.multi else [new, mine]
                if at is leaves:
                    watched = watched or target.is_watched()
                elif following is None:
                    following = target
                else:
                    heappush(others, (-target._sequence, target))
            if others and following is None:
                following = heappop(others)[1]
            elif others:
                following = heappushpop(others, (-following._sequence, following))[1]
    except BaseException:
        # Leaves that were done by now have their gradients, as if each had been served at once.
        Sweep.instead(root, freed, waiting, leaves, node._sequence).catch_up()
        raise
    if following is None and not watched:
        settle(leaves)
    else:
        Sweep.instead(root, freed, waiting, leaves, node._sequence - (node not in waiting)).run()


def start_of(target: Any, number: int, g: Any, mine: bool) -> list[Any]:
    """What waits for a node: for each output the gradient so far, and whether it is ours."""
    held = [None, False] * len(target._outputs)
    held[2 * number : 2 * number + 2] = g, mine
    return held


def settle(leaves: dict[Any, list[Any]]) -> None:
    """Add the sums to the gradients of the leaves."""
    with accumulating:
        for leaf, (g, mine) in leaves.items():
            variable = leaf.variable
            if variable._requires_grad:  # it did when the graph was made
                accumulate_into(variable, g, mine)
