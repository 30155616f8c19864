"""`ZeroRedundancyOptimizer`, and the collectives of objects that it uses.

Each process keeps the optimizer's state of its share of the parameters. PyTorch pickles objects,
and reading a pickle runs its sender's code. Here objects travel in the format of `torch.save`:
tensors, arrays, numbers, strings, bytes, None, and dicts, lists, tuples and sets of them. The
sender refuses code. The receiver refuses objects of a program's own classes, unless
`torch.serialization.add_safe_globals` allows them.
"""

import io
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from nanotorch.distributed import collectives
from nanotorch.distributed.collectives import root_rank
from nanotorch.distributed.group import Array, ProcessGroup, Steps, Work, member_of
from nanotorch.names.lookup import on_demand
from nanotorch.optim.optimizer import Optimizer
from nanotorch.serialization.safetensors import pack_file, unpack_file


def exchange_objects(name: str, home: ProcessGroup, sent: Mapping[int, Any]) -> dict[int, Any]:
    """Send objects to ranks of a group, and receive theirs; all ranks call it.

    Args:
        sent: the objects, by the receiver's rank in the group.

    Returns:
        the received objects, by the sender's rank in the group.
    """
    coded: dict[int, Array] = {}  # an object for several ranks is encoded once
    for value in sent.values():
        if id(value) not in coded:
            coded[id(value)] = np.frombuffer(b"".join(pack_file(value)), np.uint8)
    parts = {rank: coded[id(value)] for rank, value in sent.items()}
    everyone = range(home.size())
    lengths = {k: np.array([parts[k].size if k in parts else -1], np.int64) for k in everyone}
    coming = {k: np.empty(1, np.int64) for k in everyone}
    came: dict[int, Array] = {}

    def steps() -> Steps:
        tag = home.next_tag()
        yield from home.exchange(tag, lengths, coming)
        came.update({k: np.empty(n[0], np.uint8) for k, n in coming.items() if n[0] >= 0})
        yield from home.exchange(tag, parts, came)

    Work(steps(), name, home).wait()
    return {k: unpack_file(io.BytesIO(a.tobytes()), f"what rank {k} sent") for k, a in came.items()}


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Set ``object_list[k]`` to the ``obj`` of rank k, in all ranks.

    Raises:
        TypeError: for an object that `torch.save` refuses; the message says what it accepts.
        pickle.UnpicklingError: for an object of a class that `add_safe_globals` does not allow.
    """
    if (home := member_of(group)) is not None:
        found = exchange_objects("all_gather_object", home, dict.fromkeys(range(home.size()), obj))
        object_list[: home.size()] = [found[k] for k in range(home.size())]


def broadcast_object_list(
    object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None,
    group_src: int | None = None,
) -> None:  # fmt: skip
    """Copy the objects of rank ``src`` to all ranks; raises what `all_gather_object` raises."""
    if (home := member_of(group)) is not None:
        root = root_rank(home, "src", src, group_src)
        sent = dict.fromkeys(range(home.size()), object_list) if home.rank() == root else {}
        object_list[:] = exchange_objects("broadcast_object_list", home, sent)[root]


def gather_object(
    obj: Any, object_gather_list: list[Any] | None = None, dst: int | None = None,
    group: Any = None, group_dst: int | None = None,
) -> None:  # fmt: skip
    """Set ``object_gather_list[k]`` of rank ``dst`` to the ``obj`` of rank k; raises what
    `all_gather_object` raises."""
    if (home := member_of(group)) is not None:
        root = root_rank(home, "dst", dst, group_dst)
        found = exchange_objects("gather_object", home, {root: obj})
        if home.rank() == root:
            if object_gather_list is None:
                raise ValueError("Argument ``object_gather_list`` must be specified on dst rank")
            object_gather_list[: home.size()] = [found[k] for k in range(home.size())]


def scatter_object_list(
    scatter_object_output_list: list[Any], scatter_object_input_list: list[Any] | None = None,
    src: int | None = None, group: Any = None, group_src: int | None = None,
) -> None:  # fmt: skip
    """Set ``scatter_object_output_list[0]`` of rank k to the k-th object of rank ``src``;
    raises what `all_gather_object` raises."""
    if (home := member_of(group)) is not None:
        root = root_rank(home, "src", src, group_src)
        sent = dict(enumerate(scatter_object_input_list or ())) if home.rank() == root else {}
        if home.rank() == root and len(sent) != home.size():
            raise ValueError(f"scatter_object_list needs {home.size()} objects, got {len(sent)}")
        scatter_object_output_list[0] = exchange_objects("scatter_object_list", home, sent)[root]


__path__: list[str] = []  # so that `HOMES` can add submodules
__all__ = ("ZeroRedundancyOptimizer",)

on_demand(__name__)

NOT_HERE = (
    "Optimizer state has not been consolidated on this rank. Please call "
    "`consolidate_state_dict(to={})` on all ranks beforehand if you meant to save the global state."
)


class ZeroRedundancyOptimizer(Optimizer):
    """Another optimizer with its state distributed over the processes.

    Each process updates its share of the parameters, and the processes send each other the results.
    The parameters equal those of the other optimizer, bit for bit.

    Args:
        params: the parameters or groups of them, the same in all processes.
        optimizer_class: the class of the other optimizer.
        process_group: the processes that take part. Default: all.
        parameters_as_bucket_view, overlap_with_ddp: accepted for PyTorch's sake.
        defaults: options of the other optimizer.

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
        for told in self.param_groups:  # the largest first, each to the least loaded rank
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
        """Gather the whole state in the process of rank ``to``. All processes call this."""
        group = self.process_group
        mine = self.optim.state_dict()["state"]
        held = self._all(self.optim)
        numbers = {id(p): n for n, p in enumerate(self._all(self))}
        state = {numbers[id(held[n])]: value for n, value in mine.items()}
        parts: list[Any] | None = (
            [None] * group.size() if group.rank_of(to) == group.rank() else None
        )
        gather_object(state, parts, to, group)
        self._everything = None
        if parts is not None:
            self._everything = {n: value for part in parts for n, value in part.items()}

    @staticmethod
    def _all(of: Any) -> list[Any]:
        return [p for told in of.param_groups for p in told["params"]]

    def state_dict(self) -> dict[str, Any]:
        """The groups and the state of all parameters, in the other optimizer's format.

        Raises:
            RuntimeError: before `consolidate_state_dict`, and in processes other than its ``to``.
        """
        if self._everything is None:
            raise RuntimeError(NOT_HERE.format(self.process_group.rank()))
        return super().state_dict() | {"state": dict(sorted(self._everything.items()))}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the whole state; each process keeps its share."""
        whole, groups = self._all(self), state_dict["param_groups"]
        numbers = {id(p): n for n, p in enumerate(self._all(self.optim))}
        state = {
            numbers[id(whole[n])]: value
            for n, value in state_dict["state"].items()
            if id(whole[n]) in numbers
        }
        local = self.optim.state_dict()["param_groups"]
        self._copy_options(groups, local)
        self.optim.load_state_dict({"state": state, "param_groups": local})
        self._copy_options(self.optim.param_groups, self.param_groups)
