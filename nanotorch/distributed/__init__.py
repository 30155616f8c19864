"""Training in several processes, on MPI: groups of processes and what they send each other.

Each function of a group does nothing but its share of the work; all processes of the group call it,
in the same order. `init_process_group` comes first.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from nanotorch.distributed.collectives import *  # noqa: F403 - PyTorch's names
from nanotorch.distributed.group import DEFAULT_TIMEOUT as _DEFAULT_TIMEOUT
from nanotorch.distributed.group import Backend as Backend
from nanotorch.distributed.group import GroupMember as GroupMember
from nanotorch.distributed.group import ProcessGroup as ProcessGroup
from nanotorch.distributed.group import Work as Work
from nanotorch.distributed.group import destroy_process_group as destroy_process_group
from nanotorch.distributed.group import get_backend as get_backend
from nanotorch.distributed.group import get_global_rank as get_global_rank
from nanotorch.distributed.group import get_group_rank as get_group_rank
from nanotorch.distributed.group import get_node_local_rank as get_node_local_rank
from nanotorch.distributed.group import get_process_group_ranks as get_process_group_ranks
from nanotorch.distributed.group import get_rank as get_rank
from nanotorch.distributed.group import get_world_size as get_world_size
from nanotorch.distributed.group import group as group
from nanotorch.distributed.group import init_process_group as init_process_group
from nanotorch.distributed.group import new_group as new_group
from nanotorch.names.lookup import on_demand as _on_demand

default_pg_timeout = _DEFAULT_TIMEOUT

if not _TYPE_CHECKING:  # so that checkers of types see which names there are
    __getattr__, __dir__ = _on_demand(
        "nanotorch.distributed",
        {
            "nanotorch.distributed": "objects optim run",
            "nanotorch.distributed.objects": (
                "all_gather_object broadcast_object_list gather_object scatter_object_list"
            ),
        },
    )


def is_available() -> bool:
    """True: a group of one process needs nothing else."""
    return True


def is_initialized() -> bool:
    """Whether `init_process_group` was called."""
    return GroupMember.WORLD is not None


def is_mpi_available() -> bool:
    """Whether mpi4py is installed."""
    from importlib.util import find_spec

    return find_spec("mpi4py") is not None


is_gloo_available = is_nccl_available = is_mpi_available  # all of them mean MPI here


def is_torchelastic_launched() -> bool:
    """Always False."""
    return False
