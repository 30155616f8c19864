"""A function differentiated on its own: fresh inputs on entry, results that show outside what is
outside.

Every transform runs its function on inputs of its own: leaves, or, where the caller records
operations on its inputs, copies in the graph that lead to the caller's. So transforms nest, and
nest in `backward`. What comes out is cut from the leaves, unless it leads to something else.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from nanotorch import ops
from nanotorch._core.batched import above, active, beneath
from nanotorch._core.grad_mode import enable_grad, mode
from nanotorch._core.graph import CUT_OFF, AccumulateGrad
from nanotorch._core.tensor import Tensor
from nanotorch.autograd.backward import grad as gradients
from nanotorch.func.tree import mapped


def is_float(value: Any) -> bool:
    """Whether it is a tensor that can have a gradient."""
    return isinstance(value, Tensor) and value.is_floating_point()


class Level:
    """One use of a transform.

    Attributes:
        inputs: the tensors to differentiate by.
        batches: those of which they are samples. Each sample has its own, even of what is the same
            for all, and gets its own gradient.
        recorded: whether the caller sees further than to these, so that results keep their graph.
    """

    def __init__(self) -> None:
        self.inputs: list[Tensor] = []
        self.batches = tuple(active.batches)
        self.recorded = False
        self._leaves: list[Tensor] = []
        self._outside = bool(mode.enabled)

    def entered(self, tree: Any) -> Any:
        """The tree with an input of this level's in place of each tensor.

        Raises:
            ValueError: for another leaf.
            RuntimeError: for a tensor of integers.
        """
        return mapped(self._enter, tree)

    def _enter(self, value: Any) -> Tensor:
        if not isinstance(value, Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(value)}")
        whole = beneath(value, self.batches)
        with enable_grad():
            if self._outside and whole.requires_grad:
                entered = whole.view_as(whole)
            else:
                entered = whole.detach()._set_requires_grad()
        self._leaves.append(entered)
        self.inputs.append(above(entered, self.batches))
        return self.inputs[-1]

    @contextmanager
    def running(self) -> Iterator[None]:
        """A block in which the function runs, which may not differentiate in other ways."""
        mode.transforms += 1
        try:
            with enable_grad():
                yield
        finally:
            mode.transforms -= 1

    def leaf(self, value: Tensor) -> Tensor:
        """A leaf of the values, one for each sample."""
        return above(beneath(value, self.batches).detach()._set_requires_grad(), self.batches)

    def watch(self, outputs: Iterable[Any]) -> None:
        """See whether the outputs lead to anything but this level's own leaves."""
        wholes = [beneath(t, self.batches) for t in outputs if isinstance(t, Tensor)]
        self.recorded = self._outside and leads_beyond(wholes, self._leaves)

    def reached_by(self, outputs: Iterable[Tensor]) -> list[bool]:
        """Of each output whether it depends on any input of this level."""
        wholes = [beneath(o, self.batches) for o in outputs]
        return [
            whole.requires_grad
            and any(
                g is not None
                for g in gradients(whole.sum(), self._leaves, retain_graph=True, allow_unused=True)
            )
            for whole in wholes
        ]

    def left(self, tree: Any) -> Any:
        """The tree as the caller sees it."""
        if self.recorded:
            return tree
        return mapped(lambda t: t.detach() if isinstance(t, Tensor) else t, tree)

    def pulled_back(self, outputs: Sequence[Tensor], weights: Sequence[Any]) -> list[Tensor]:
        """The gradient by each input of the outputs, weighted; zero where there is none."""
        recorded = self.recorded or (
            self._outside and any(isinstance(w, Tensor) and w.requires_grad for w in weights)
        )
        return self.gradients(outputs, self.inputs, weights, recorded)

    def gradients(
        self,
        outputs: Sequence[Tensor],
        inputs: Sequence[Tensor],
        weights: Sequence[Any],
        recorded: bool,
    ) -> list[Tensor]:
        """The gradients of the outputs, weighted, by inputs of this level, for each sample."""
        if not self.batches:
            return pulled_back(outputs, inputs, weights, recorded)
        weights = [
            ops.ones_like(o) if w is None else w for o, w in zip(outputs, weights, strict=True)
        ]
        wholes = [[beneath(t, self.batches) for t in ts] for ts in (outputs, inputs, weights)]
        found = pulled_back(wholes[0], wholes[1], wholes[2], recorded)
        return [above(g, self.batches) for g in found]


def leads_beyond(outputs: Iterable[Any], own: Iterable[Tensor]) -> bool:
    """Whether a gradient of the outputs would arrive at any leaf but these."""
    leaves = {id(t) for t in own}
    todo = []
    for output in outputs:
        if isinstance(output, Tensor) and output.requires_grad:
            if output.grad_fn is None and id(output) not in leaves:
                return True
            todo.append(output.grad_fn)
    seen = set()
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if isinstance(node, AccumulateGrad):
            if id(node.variable) not in leaves:
                return True
            continue
        if any(edge is CUT_OFF for edge in node.next_functions):  # what requires grad all the same
            return True
        todo += [following for following, _ in node.next_functions]
    return False


def pulled_back(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], weights: Sequence[Any], recorded: bool
) -> list[Tensor]:
    """The gradient of the weighted outputs by each input, with zeros; the graph is kept."""
    pairs = [(o, w) for o, w in zip(outputs, weights, strict=True) if o.requires_grad]
    if not pairs:
        return [ops.zeros_like(t) for t in inputs]
    with enable_grad():
        found = gradients(
            [o for o, _ in pairs],
            list(inputs),
            [w for _, w in pairs],
            retain_graph=True,
            create_graph=recorded,
            allow_unused=True,
        )
    return [ops.zeros_like(t) if g is None else g for g, t in zip(found, inputs, strict=True)]
