"""What one backward pass in anomaly mode came across, told with what the forward pass had made."""

from collections.abc import Iterator, Sequence
from typing import Any

from nanotorch._core.graph import Node
from nanotorch._core.nonfinite import NonFinite, Range, level_of
from nanotorch._core.origins import paragraph
from nanotorch._core.place import Place, place_at
from nanotorch._core.views import CopySlices
from nanotorch._core.watching import BACKWARD, here, watch

NOTHING_BEFORE = "No operation of the forward pass had made such a value."
COMES_FROM = "It was passed to backward(), it came from a hook, or finite gradients added up to it."


class Story:
    """The first infinity that a backward pass came across, if any, and its first nan."""

    def __init__(self) -> None:
        with watch.lock:
            watch.sweeps += 1
            self.sweep = watch.sweeps
        self.found: tuple[NonFinite, ...] = ()

    def look(self, node: Node, grads: Sequence[Any], arrived: Sequence[Any]) -> None:
        """Note a node that has made, or been given, the first of these.

        Args:
            grads: its gradients, None for those that are not needed.
            arrived: those of its outputs.
        """
        inside, here.in_backward = here.in_backward, None
        if not level_of(list(grads)):
            return
        for found in (inside, found_at(node, grads, arrived)):
            if found is not None and all(found.level > f.level for f in self.found):
                self.found += (found,)
                watch.note(found)

    def tell(self, node: Node) -> str:
        """All of it, in the order of time, to follow the error of the ``node`` with nan."""
        before = watch.forward if watch.given is None else (watch.given, *watch.forward)
        earlier = watch.sweeps_before != self.sweep - 1
        when = "before an earlier backward pass" if earlier else "in the forward pass"
        parts = [f"{when} {f}" for f in before] + [f"in the backward pass {f}" for f in self.found]
        parts[1:] = [f"then {part}" for part in parts[1:]]
        if not self.found[0].made:
            parts.append(COMES_FROM)
        elif noted_of(node)[1] == watch.times and not before:
            parts.append(NOTHING_BEFORE)
        return paragraph(*(part.replace("\n", "\n  ") for part in parts))


def place_of_node(node: Node) -> Place | None:
    """Where the call stood that made a node; its module only if the mode was on."""
    place, _ = noted_of(node)
    return place_at(node._site) if place is None and node._site is not None else place


def noted_of(node: Node) -> tuple[Place | None, int]:
    """That place as the mode noted it, and `Watch.times` at that time; 0 if the mode was off."""
    return writer_of(node).__dict__.get("_noted", (None, 0))


def writer_of(node: Node) -> Node:
    """The node itself; for a write to a view, the node of what was written."""
    if isinstance(node, CopySlices) and isinstance(node._saved, tuple):
        (node,) = node._saved
    return node


def found_at(node: Node, grads: Sequence[Any], arrived: Sequence[Any]) -> NonFinite:
    """What is known of gradients that are not finite at a node."""
    results = list(named("gradient", grads, gradients_of(node)))
    given = list(named("grad_output", arrived, []))
    cause = level_of([g for _, g in given])
    name, worst = max(results, key=lambda pair: level_of(pair[1]))
    made = level_of(worst) > cause
    if not made:
        name, worst = max(given, key=lambda pair: level_of(pair[1]))
    return NonFinite(
        op=node.name(),
        phase=BACKWARD,
        cause=cause,
        result=Range.of(name, worst),
        inputs=tuple(Range.of(n, v) for n, v in [*given, *saved_by(writer_of(node))]),
        place=place_of_node(node),
        of_node=True,
        made=made,
    )


def named(name: str, values: Sequence[Any], names: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """The values that are there with their names; without, the ``name`` for all, numbered."""
    for position, value in enumerate(values):
        if value is None:
            continue
        if position < len(names):
            yield f"{name} of {names[position]}", value
        else:
            yield name if len(values) == 1 else f"{name}[{position}]", value


def gradients_of(node: Node) -> list[str]:
    """The names of the inputs that an operation's node makes gradients of."""
    op = getattr(type(writer_of(node)), "op", None)
    return list(op.formulas) if op is not None and not op.variadic else []


def saved_by(node: Node) -> Iterator[tuple[str, Any]]:
    """What a node had kept of its forward call; nothing, where a user's hooks have packed it."""
    saved: Any = node._saved
    if type(saved) is not tuple:
        return
    op = getattr(type(node), "op", None)
    kept = [(f"saved[{k}]", "input") for k in range(len(saved))] if op is None else op.recipe
    for (name, kind), value in zip(kept, saved, strict=False):
        if value is not None and kind in ("input", "out", "aux") and hasattr(value[0], "dtype"):
            yield "result" if name == "out" else name, value[0]
