"""Training in several processes on MPI: process groups and their communication.

A collective does one process's share of the work: all processes of the group call the same
collectives in the same order. `init_process_group` comes first.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from nanotorch.distributed.collectives import *  # noqa: F403 - PyTorch's names
from nanotorch.distributed.group import *  # noqa: F403
from nanotorch.distributed.group import DEFAULT_TIMEOUT as _DEFAULT_TIMEOUT
from nanotorch.distributed.group import GroupMember as GroupMember
from nanotorch.names.lookup import on_demand as _on_demand

if _TYPE_CHECKING:
    from nanotorch.distributed import optim as optim
    from nanotorch.distributed.optim import all_gather_object as all_gather_object
    from nanotorch.distributed.optim import broadcast_object_list as broadcast_object_list
    from nanotorch.distributed.optim import gather_object as gather_object
    from nanotorch.distributed.optim import scatter_object_list as scatter_object_list

default_pg_timeout = _DEFAULT_TIMEOUT

_on_demand(
    "nanotorch.distributed",
    {
        "nanotorch.distributed": "optim run",
        "nanotorch.distributed.optim": (
            "all_gather_object broadcast_object_list gather_object scatter_object_list"
        ),
    },
)


def is_available() -> bool:
    """True: a group of one process needs no MPI."""
    return True


def is_initialized() -> bool:
    """Whether the default process group exists."""
    return GroupMember.WORLD is not None


def is_mpi_available() -> bool:
    """Whether mpi4py is installed."""
    from importlib.util import find_spec

    return find_spec("mpi4py") is not None


is_gloo_available = is_nccl_available = is_mpi_available  # all of them mean MPI here


def is_torchelastic_launched() -> bool:
    """Always False."""
    return False
