"""`python -m nanotorch.distributed.run --nproc-per-node 4 script.py`: a program in 4 processes.

It calls the `mpiexec` of this Python's environment. In each process `import torch` imports
nanotorch, and ``RANK``, ``LOCAL_RANK`` and ``WORLD_SIZE`` are set. If one process fails, for
whatever reason, its rank is printed and all end.
"""

import argparse
import os
import signal
import subprocess
import sys
import time

from nanotorch import program
from nanotorch.distributed.group import end_all, is_launched, launcher, set_rank_variables
from nanotorch.names.lookup import on_demand

MANY = (
    "to use several machines, call the launcher itself: mpiexec -n 8 -hosts A,B {} -m nanotorch "
    "script.py, or srun"
)


def main() -> None:
    """Start the processes, or, in one of them, run the program."""
    name = "python -m nanotorch.distributed.run"
    parser = argparse.ArgumentParser(name, description="Run a program in several processes.")
    parser.add_argument("--nproc-per-node", "--nproc_per_node", default="1", metavar="N",
                        help="how many processes, or auto: one a core (default: 1)")  # fmt: skip
    parser.add_argument("--nnodes", default="1", metavar="1", help="1: see below")
    parser.add_argument("--standalone", action="store_true", help="accepted for PyTorch's sake")
    parser.add_argument("-m", "--module", action="store_true", help="the program is a module")
    parser.add_argument("program", help="a script, or the name of a module")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="what the program gets")
    parser.epilog = f"T{MANY[1:].format('python')}."
    asked = parser.parse_args()
    if asked.nnodes != "1":
        parser.error(MANY.format(sys.executable))
    count = asked.nproc_per_node
    if count in ("auto", "cpu", "gpu"):
        count = str(os.cpu_count() or 1)
    if not count.isdecimal() or not int(count):
        parser.error(f"--nproc-per-node is a number of processes or auto, got {count!r}")
    if is_launched():
        set_rank_variables()
        if hasattr(os, "fork"):
            watch()
        flag = ["-m"] if asked.module else []
        program.main([*flag, asked.program, *asked.arguments], "python -m nanotorch")
        return
    try:
        mpiexec = launcher()
    except RuntimeError as error:
        sys.exit(f"{sys.executable}: {error}")
    own = [sys.executable, "-m", "nanotorch.distributed.run", *sys.argv[1:]]
    command = [mpiexec, "-n", count, *own]
    if os.name != "posix":  # there, the shell would take `exec` for the end of the program
        sys.exit(subprocess.run(command, check=False).returncode)
    os.execv(mpiexec, command)


def watch() -> None:
    """Fork: return in the new process; the old one reports its failure and then ends all."""
    if not (pid := os.fork()):
        return
    asking, asked = (signal.SIGINT, signal.SIGTERM), list[int]()  # launchers signal both
    for number in asking:
        signal.signal(number, lambda number, _: asked.append(number))
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    status = code if code >= 0 else 128 - code
    if not code or status - 128 in (asked if code < 0 else asking):
        os._exit(status)
    how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
    rank, size = (os.environ.get(name) for name in ("RANK", "WORLD_SIZE"))
    if code > 0 and rank != "0":
        time.sleep(0.6)  # if all ranks fail alike, rank 0 alone reports it and ends all meanwhile
    print(f"rank {rank} of {size} (PID {pid} on {os.uname().nodename}): {how}", file=sys.stderr)
    end_all(status)


on_demand("nanotorch.distributed.run")

if __name__ == "__main__":
    main()
