"""`ZeroRedundancyOptimizer`: each process keeps the state of its share of the parameters."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from nanotorch.distributed import collectives
from nanotorch.distributed.group import member_of
from nanotorch.distributed.objects import gather_object
from nanotorch.names.lookup import on_demand
from nanotorch.optim.optimizer import Optimizer

__all__ = ("ZeroRedundancyOptimizer",)

if not TYPE_CHECKING:  # so that checkers of types see which names there are
    __getattr__, __dir__ = on_demand(__name__)

NOT_HERE = (
    "Optimizer state has not been consolidated on this rank. Please call "
    "`consolidate_state_dict(to={})` on all ranks beforehand if you meant to save the global state."
)


class ZeroRedundancyOptimizer(Optimizer):
    """Steps as an optimizer of another class does, with its state spread over the processes.

    Each process updates the parameters that fall to it, and they send each other the results: the
    parameters are those of the other optimizer, bit for bit.

    Args:
        params: the parameters or groups of them, the same in all processes.
        optimizer_class: the class of the optimizer.
        process_group: the processes that take part. Default: all.
        parameters_as_bucket_view, overlap_with_ddp: accepted for PyTorch's sake.
        defaults: options of the optimizer.

    Attributes:
        optim: the optimizer of this process's share.
    """

    def __init__(
        self, params: Iterable[Any], optimizer_class: type[Optimizer], process_group: Any = None,
        parameters_as_bucket_view: bool = False, overlap_with_ddp: bool = False, **defaults: Any,
    ) -> None:  # fmt: skip
        super().__init__(params, defaults)
        group = member_of(process_group)
        if group is None:
            raise ValueError("this process is not in the process_group")
        self.process_group = group
        self._owner: dict[Any, int] = {}
        loads = np.zeros(group.size(), np.int64)
        for told in self.param_groups:  # the largest first, each to who has least
            for p in sorted(told["params"], key=lambda p: -p.numel()):
                self._owner[p] = int(loads.argmin())
                loads[self._owner[p]] += p.numel()
        own = [
            told | {"params": [p for p in told["params"] if self._owner[p] == group.rank()]}
            for told in self.param_groups
        ]
        self.optim: Any = optimizer_class(own, **defaults)
        self._copy_options(self.optim.param_groups, self.param_groups)
        self._everything: dict[str, Any] | None = None

    @staticmethod
    def _copy_options(source: list[dict[str, Any]], target: list[dict[str, Any]]) -> None:
        for given, taker in zip(source, target, strict=True):
            taker.update({key: value for key, value in given.items() if key != "params"})

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters once, in all processes."""
        self._copy_options(self.param_groups, self.optim.param_groups)
        loss = self.optim.step(closure) if closure else self.optim.step()
        group = self.process_group
        started = [
            collectives.broadcast(p.detach(), None, group, True, owner)
            for p, owner in self._owner.items()
        ]
        for work in filter(None, started):
            work.wait()
        return loss

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Gather the whole state in the process of rank ``to``; all processes call it."""
        group = self.process_group
        mine = self.optim.state_dict()["state"]
        held = [p for told in self.optim.param_groups for p in told["params"]]
        numbers = {id(p): n for n, p in enumerate(self._all())}
        state = {numbers[id(held[n])]: value for n, value in mine.items()}
        parts: list[Any] | None = (
            [None] * group.size() if group.rank_of(to) == group.rank() else None
        )
        gather_object(state, parts, to, group)
        self._everything = None
        if parts is not None:
            self._everything = {n: value for part in parts for n, value in part.items()}

    def _all(self) -> list[Any]:
        return [p for told in self.param_groups for p in told["params"]]

    def state_dict(self) -> dict[str, Any]:
        """The groups and the state of all parameters, as the other optimizer has them.

        Raises:
            RuntimeError: before `consolidate_state_dict`, and in other processes than its ``to``.
        """
        if self._everything is None:
            raise RuntimeError(NOT_HERE.format(self.process_group.rank()))
        return super().state_dict() | {"state": dict(sorted(self._everything.items()))}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over the whole state: each process keeps its share."""
        whole, groups = self._all(), state_dict["param_groups"]
        own = [p for told in self.optim.param_groups for p in told["params"]]
        numbers = {id(p): n for n, p in enumerate(own)}
        state = {
            numbers[id(whole[n])]: value
            for n, value in state_dict["state"].items()
            if id(whole[n]) in numbers
        }
        local = self.optim.state_dict()["param_groups"]
        self._copy_options(groups, local)
        self.optim.load_state_dict({"state": state, "param_groups": local})
        self._copy_options(self.optim.param_groups, self.param_groups)
