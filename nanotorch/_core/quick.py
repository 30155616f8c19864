"""The backward sweep of an ordinary training step, where nobody looks on.

Without hooks and users' functions in the graph it cannot be seen when a leaf gets its gradient.
So no consumers need to be counted: the node with the highest sequence number runs next, and leaves
get their sums at the end. As soon as somebody could look on, `engine.Sweep` takes over, in the
very state that it would be in by then.
"""

from heapq import heappop, heappush, heappushpop
from typing import Any

from nanotorch._core.engine import Sweep, add, fit
from nanotorch._core.graph import Edge, Folded, FreedValues, accumulate_into, accumulating, folding


def sweep(root: Edge, first: Any, freed: FreedValues | None) -> None:
    """Add to the leaves' ``grad`` what ``first``, the gradient at ``root``, makes of them.

    Args:
        first: an ndarray or NumPy scalar; it is not written to.
        freed: what takes the place of saved values once they are used; None to keep them.
    """
    node: Any = root[0]
    following: Any = node
    # What waits: the gradient of a node's one output; a list where there may be several.
    waiting: dict[Any, Any] = {}
    leaves: dict[Any, Any] = {}
    lent: set[Any] = set()  # the leaves whose gradient others may hold too
    others: list[tuple[int, Any]] = []  # what waits besides `following`: a heap
    waiting[node] = start_of(node, root[1], first) if node.multi else first
    watched = not node._sequence
    new: Any = None  # where all edges lead nowhere
    try:
        while following is not None and following.plain and not watched:
            node, following = following, None
            g = waiting[node]
            if node.folded:
                with folding:  # another thread may look at the node, which turns then
                    edges, grads = node._edges, node.apply_bare(g)
                    if freed is not None and node.keeps_values:
                        node._saved = freed
            else:
                edges = node._edges
                if node.multi:
                    grads, g = node.apply(g[0::2], False), g[0]
                else:
                    grads = node.apply_bare(g)
                if freed is not None and node.keeps_values:
                    node._saved = freed
            del waiting[node]
            position = -1
            for target, number in edges:
                position += 1
                if target is None or (new := grads[position]) is None:
                    watched = watched or target is not None  # it may have to run all the same
                    continue
                shape, dtype = target._outputs[number]
                if new.shape != shape or new.dtype is not dtype:
                    new = fit(new, node, position, shape, dtype)
                if target.multi:
                    if target in waiting:
                        add(waiting[target], 2 * number, new, False)
                        continue
                    waiting[target] = start_of(target, number, new)
                elif target._sequence:
                    if target in waiting:
                        waiting[target] = waiting[target] + new
                        continue
                    waiting[target] = new
                else:
                    if target in leaves:
                        held = [leaves[target], target not in lent]
                        add(held, 0, new, True)
                        leaves[target] = held[0]
                        lent.discard(target)
                    else:
                        leaves[target] = new
                        watched = watched or target.is_watched()
                        if new is g or not node.fresh_gradients:
                            lent.add(target)
                    continue
                if following is None:
                    following = target
                else:
                    heappush(others, (-target._sequence, target))
            if others:
                if following is None:
                    following = heappop(others)[1]
                else:
                    following = heappushpop(others, (-following._sequence, following))[1]
    except Folded:
        watched = True
    except BaseException:
        # Leaves that were done by now have their gradients, as if each had been served at once.
        Sweep.instead(root, freed, waiting, leaves, node._sequence).catch_up()
        raise
    if following is None and not watched:
        del new, grads, g  # a leaf takes over what nobody else holds
        settle(leaves, lent)
    else:
        Sweep.instead(root, freed, waiting, leaves, node._sequence - (node not in waiting)).run()


def start_of(target: Any, number: int, g: Any) -> list[Any]:
    """What waits for a node: for each output the gradient so far, and whether it is ours."""
    held = [None, False] * len(target._outputs)
    held[2 * number] = g
    return held


def settle(leaves: dict[Any, Any], lent: set[Any]) -> None:
    """Add the sums to the gradients of the leaves."""
    with accumulating:
        while leaves:
            leaf, g = leaves.popitem()
            variable = leaf.variable
            if variable._requires_grad:  # it did when the graph was made
                accumulate_into(variable, g, leaf not in lent)
