"""How processes that no launcher of MPI has started become processes of MPI, on one machine.

That of rank 0 starts a guardian. It runs `mpiexec` with one idle process for each rank, which tells
what MPI has put into its environment, and hands that out at the address where PyTorch's processes
meet. Each process keeps its connection until its very end, which is after Python's: MPI has to do
with `mpiexec` even then.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlsplit

NEEDS_MPI = (
    "training in several processes needs mpi4py and an MPI library ({}). Install the extra "
    "`distributed`, from a checkout: pip install -e '.[distributed]'"
)
# What an idle process does. The first ends with its input, and with it all.
IDLE = """
import json, os, sys, time
own = {k: v for k, v in os.environ.items() if k.startswith(("PMI", "MPI_"))}
print(json.dumps(own), flush=True)
if own.get("PMI_ID") == "0":
    sys.stdin.read()
    os.kill(os.getpid(), 15)
time.sleep(10**8)
"""


def end_all(code: int) -> NoReturn:
    """End all processes that the launcher has started, also before they have come to MPI."""
    sys.stdout.flush()
    sys.stderr.flush()
    time.sleep(0.3)  # Hydra drops what it has not read by then
    if "HYDI_CONTROL_FD" in os.environ:  # MPI's own `Abort` is there only after all have come
        with contextlib.suppress(OSError):
            os.write(int(os.environ["PMI_FD"]), f"cmd=abort exitcode={code}\n".encode())
        time.sleep(1)
    if MPI := sys.modules.get("mpi4py.MPI"):
        MPI.COMM_WORLD.Abort(code)
        time.sleep(1)
    with contextlib.suppress(OSError):  # what Hydra has left on a host that is cut off would stay
        if Path(f"/proc/{os.getppid()}/comm").read_text("utf-8").startswith("hydra_pmi_proxy"):
            os.kill(os.getppid(), signal.SIGTERM)
    os._exit(code)


def refuse(text: str) -> NoReturn:
    """Raise PyTorch's error for arguments of `init_process_group`."""
    raise ValueError(f"Error initializing torch.distributed: {text}")


def launcher() -> str:
    """The path of `mpiexec`: that of this Python's environment, or else the one on the path.

    Raises:
        RuntimeError: if there is none.
    """
    beside = Path(sys.executable).with_name("mpiexec")
    found = str(beside) if beside.exists() else shutil.which("mpiexec")
    if found is None:
        raise RuntimeError(NEEDS_MPI.format("there is no mpiexec"))
    return found


def address(init_method: str | None) -> tuple[str, int]:
    """Where the processes meet: host and port."""
    if init_method in (None, "env://"):
        for name in ("MASTER_ADDR", "MASTER_PORT"):
            if not os.environ.get(name):
                refuse(f"environment variable {name} expected, but not set")
        init_method = f"tcp://{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
    parts = urlsplit(str(init_method))
    if parts.scheme != "tcp" or not parts.hostname or not parts.port:
        refuse(f"{init_method!r} is not an address like tcp://localhost:29500")
    return parts.hostname, parts.port


def meet(init_method: str | None, rank: int, size: int, timeout: float) -> None:
    """Take over the environment of a process of MPI.

    Args:
        init_method: the address.
        timeout: how many seconds to wait for other processes.

    Raises:
        RuntimeError: if the other processes do not come, or there is no `mpiexec`.
    """
    place, end = address(init_method), time.monotonic() + timeout
    if not rank:
        version = subprocess.run([launcher(), "--version"], capture_output=True, check=False)
        if b"HYDRA" not in version.stdout:
            raise RuntimeError(
                "processes that no launcher has started need MPICH's mpiexec; start them by "
                "mpiexec, or by python -m nanotorch.distributed.run"
            )
        with socket.create_server(place) as server:
            server.set_inheritable(True)
            number = server.fileno()
            call = f"from {__name__} import guard; guard({size}, {number}, {timeout})"
            command = [sys.executable, "-c", call]
            subprocess.Popen(command, pass_fds=(number,), start_new_session=True)
    while True:
        try:
            line = socket.create_connection(place)
            break
        except OSError:
            if time.monotonic() > end:
                raise RuntimeError(f"rank 0 has not come to {place[0]}:{place[1]}") from None
            time.sleep(0.02)
    line.sendall(rank.to_bytes(4, "little"))
    try:
        with line.makefile() as file:
            told = file.readline()
    except OSError:
        told = ""
    line.detach()  # so that Python does not close it
    if not told:
        raise RuntimeError(
            f"not all of {size} ranks have come within {timeout:g} s, or mpiexec has failed"
        )
    os.environ.update(json.loads(told))


def guard(size: int, number: int, timeout: float) -> None:
    """What the guardian does, until all processes have ended.

    Args:
        number: of the socket that listens.
    """
    command = [launcher(), "-pmi-port", "-n", str(size), sys.executable, "-c", IDLE]
    server, pipe = socket.socket(fileno=number), subprocess.PIPE
    lines: list[tuple[socket.socket, dict[str, str]]] = []
    server.settimeout(1)
    parent, end = os.getppid(), time.monotonic() + timeout
    with subprocess.Popen(command, stdin=pipe, stdout=pipe) as started:
        assert started.stdout is not None
        text = ""
        while text.count("}") < size and (part := started.stdout.readline()):
            text += part.decode()  # where two may stand in one line
        parts = map(json.loads, re.findall("{[^}]*}", text))
        found = {int(own["PMI_ID"]): own for own in parts}
        try:
            while len(lines) < size:
                if os.getppid() != parent or time.monotonic() > end:
                    raise TimeoutError
                with contextlib.suppress(TimeoutError):
                    line, _ = server.accept()
                    lines.append((line, found[int.from_bytes(line.recv(4), "little")]))
            for line, own in lines:
                line.sendall(json.dumps(own).encode() + b"\n")
            for line, _ in lines:
                line.recv(1)
        except (OSError, KeyError):  # one has not come, or gone at once, or mpiexec has failed
            pass
        started.terminate()
