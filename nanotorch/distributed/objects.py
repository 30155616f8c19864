"""What the processes of a group send each other besides tensors: plain data.

PyTorch pickles objects, and to read a pickle is to run what its sender wrote. Here objects travel
in the format of `torch.save`: tensors, arrays, numbers, texts, bytes, None, and dicts, lists,
tuples and sets of them. Code is refused where it is sent, and objects of a program's own classes
where they are received, unless `torch.serialization.add_safe_globals` allows them.
"""

import io
from collections.abc import Mapping
from typing import Any

import numpy as np

from nanotorch.distributed.collectives import root_of
from nanotorch.distributed.group import Array, ProcessGroup, Steps, Work, member_of
from nanotorch.serialization.archive import packed, unpacked


def exchanged(name: str, home: ProcessGroup, sent: Mapping[int, Any]) -> dict[int, Any]:
    """Send objects to ranks of a group; all of them take part.

    Args:
        sent: the objects by the rank in the group that they go to.

    Returns:
        what has come, by the rank that it came from.
    """
    coded: dict[int, Array] = {}  # what goes to several is coded once
    for value in sent.values():
        if id(value) not in coded:
            coded[id(value)] = np.frombuffer(b"".join(packed(value)), np.uint8)
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
    return {k: unpacked(io.BytesIO(a.tobytes()), f"what rank {k} sent") for k, a in came.items()}


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Let ``object_list[k]`` become the ``obj`` of rank k, in all ranks.

    Raises:
        TypeError: for an object that is no plain data; the text tells what is.
        pickle.UnpicklingError: for one of a class that `add_safe_globals` does not allow.
    """
    if (home := member_of(group)) is not None:
        found = exchanged("all_gather_object", home, dict.fromkeys(range(home.size()), obj))
        object_list[: home.size()] = [found[k] for k in range(home.size())]


def broadcast_object_list(
    object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None,
    group_src: int | None = None,
) -> None:  # fmt: skip
    """Copy the objects of rank ``src`` to all ranks; errors as of `all_gather_object`."""
    if (home := member_of(group)) is not None:
        root = root_of(home, "src", src, group_src)
        sent = dict.fromkeys(range(home.size()), object_list) if home.rank() == root else {}
        object_list[:] = exchanged("broadcast_object_list", home, sent)[root]


def gather_object(
    obj: Any, object_gather_list: list[Any] | None = None, dst: int | None = None,
    group: Any = None, group_dst: int | None = None,
) -> None:  # fmt: skip
    """Let ``object_gather_list[k]`` of rank ``dst`` become the ``obj`` of rank k; errors as of
    `all_gather_object`."""
    if (home := member_of(group)) is not None:
        root = root_of(home, "dst", dst, group_dst)
        found = exchanged("gather_object", home, {root: obj})
        if home.rank() == root:
            if object_gather_list is None:
                raise ValueError("Argument ``object_gather_list`` must be specified on dst rank")
            object_gather_list[: home.size()] = [found[k] for k in range(home.size())]


def scatter_object_list(
    scatter_object_output_list: list[Any], scatter_object_input_list: list[Any] | None = None,
    src: int | None = None, group: Any = None, group_src: int | None = None,
) -> None:  # fmt: skip
    """Let ``scatter_object_output_list[0]`` of rank k become the k-th object of rank ``src``;
    errors as of `all_gather_object`."""
    if (home := member_of(group)) is not None:
        root = root_of(home, "src", src, group_src)
        sent = dict(enumerate(scatter_object_input_list or ())) if home.rank() == root else {}
        if home.rank() == root and len(sent) != home.size():
            raise ValueError(f"scatter_object_list needs {home.size()} objects, got {len(sent)}")
        scatter_object_output_list[0] = exchanged("scatter_object_list", home, sent)[root]
