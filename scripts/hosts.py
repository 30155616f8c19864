"""Train on several hosts joined by cables, pull out a cable or kill a process, and resume.

    python scripts/hosts.py                   # as root, on Linux: 20 failures; ten minutes
    python scripts/hosts.py --failures 5 --seed 3

The hosts are network namespaces of this machine joined by a bridge; the processes talk over TCP.
On two and on three hosts, weights and metrics must equal those of one process, byte for byte. Then
a host is cut off, or a process killed, at random moments: every process of the training has to end
by itself, also on the host that is cut off, with one message and an exit code that is not 0. The
run is resumed and must equal, byte for byte, the one that was left alone.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
TRAIN = [sys.executable, str(ROOT / "scripts" / "train.py")]
CONFIG = (
    "--config", str(ROOT / "configs" / "bce_classification.yaml"), "log.plots=false",
    "log.tensorboard=false", "train.epochs=60", "checkpoint.seconds=0.1", "log.timed=false",
)  # fmt: skip
HOSTS = {2: "{0}.1,{0}.2", 4: "{0}.1,{0}.2:2,{0}.3"}
"""The hosts of the processes, by their number."""
NET = "10.77.0"
END = 40.0
"""Seconds until all must have ended: several parts in turn may each notice a silence after 10 s."""
SSH = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
name=PREFIX${1##*.}
shift
exec ip netns exec "$name" sh -c "$*"
"""


def ip(*words: str) -> str:
    """Run `ip`; return its output."""
    return subprocess.run(["ip", *words], check=True, capture_output=True, text=True).stdout


class Network:
    """Hosts 1 to 3, each with a cable to a bridge; each address ends with the host's number."""

    def __init__(self, place: Path) -> None:
        self.prefix = f"nanotorch{os.getpid()}-"
        self.ssh = place / "ssh.sh"
        self.ssh.write_text(SSH.replace("PREFIX", self.prefix), "utf-8")
        self.ssh.chmod(0o755)

    def begin(self) -> None:
        """Make the hosts, the bridge and the cables."""
        bridge = f"{self.prefix}0"
        ip("netns", "add", bridge)
        ip("-n", bridge, "link", "add", "name", "bridge", "type", "bridge")
        ip("-n", bridge, "link", "set", "bridge", "up")
        for number in (1, 2, 3):
            host, port = f"{self.prefix}{number}", f"port{number}"
            ip("netns", "add", host)
            peer = ("type", "veth", "peer", "name", "eth0", "netns", host)
            ip("-n", bridge, "link", "add", "name", port, *peer)
            ip("-n", bridge, "link", "set", port, "master", "bridge", "up")
            ip("-n", host, "addr", "add", f"{NET}.{number}/24", "dev", "eth0")
            ip("-n", host, "link", "set", "lo", "up")
            self.plug(number, True)

    def plug(self, number: int, whole: bool) -> None:
        """Plug a host's cable in if ``whole``; otherwise pull it out."""
        ip("-n", f"{self.prefix}{number}", "link", "set", "eth0", "up" if whole else "down")

    def processes(self) -> dict[int, list[bytes]]:
        """Return the processes on all hosts, with their commands."""
        found = {}
        for number in (1, 2, 3):
            for pid in ip("netns", "pids", f"{self.prefix}{number}").split():
                try:
                    found[int(pid)] = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
                except FileNotFoundError:
                    continue
        return found

    def sent(self) -> int:
        """Return the number of bytes that the first host has sent."""
        told = json.loads(ip("-n", f"{self.prefix}1", "-j", "-s", "link", "show", "eth0"))
        return int(told[0]["stats64"]["tx"]["bytes"])

    def end(self) -> None:
        """Kill the remaining processes of the hosts, and remove the hosts."""
        for pid in self.processes():
            os.kill(pid, signal.SIGKILL)
        for number in range(4):
            ip("netns", "del", f"{self.prefix}{number}")

    def start(self, count: int, *words: str) -> "subprocess.Popen[str]":
        """Start a training in ``count`` processes, from the first host."""
        mpiexec = [str(Path(sys.executable).with_name("mpiexec")), "-n", str(count)]
        hosts = ["-launcher", "ssh", "-launcher-exec", str(self.ssh)]
        hosts += ["-hosts", HOSTS[count].format(NET)]
        return subprocess.Popen(
            ["ip", "netns", "exec", f"{self.prefix}1", *mpiexec, *hosts, *TRAIN, *words],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            # TCP only: namespaces share memory, but hosts do not.
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "UCX_TLS": "tcp,self"},
        )  # fmt: skip

    def train(self, count: int, *words: str) -> None:
        """Train without a failure; one process runs outside of the hosts."""
        if count == 1:
            subprocess.run([*TRAIN, *words], check=True, capture_output=True)
            return
        process = self.start(count, *words)
        said, _ = process.communicate(timeout=300)
        if process.returncode:
            sys.exit(f"{count} processes ended with {process.returncode}:\n{said}")


@contextmanager
def network(place: Path) -> Iterator[Network]:
    """A block with hosts, which are removed also if SIGTERM ends it."""
    made = Network(place)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        made.begin()
        yield made
    finally:
        made.end()


def fail(net: Network, process: "subprocess.Popen[str]", chance: random.Random) -> str:
    """Cut off a host, or kill a process; return a description."""
    if chance.random() < 0.5:
        host = chance.choice((1, 2, 3))
        net.plug(host, False)
        return f"host {host} cut off"
    ranks = [
        pid for pid, words in net.processes().items() if words[:2] == [*map(os.fsencode, TRAIN)]
    ]
    victim = chance.choice(ranks)
    place = ip("netns", "identify", str(victim)).strip()
    os.kill(victim, signal.SIGKILL)
    return f"a process on host {place[-1]} killed"


def attempt(net: Network, place: Path, whole: Path, chance: random.Random) -> tuple[str, list[str]]:
    """Let a training fail, and resume it.

    Returns:
        A description of the failure, with the seconds until all had ended; and the defects.
    """
    run, wrong = place / "broken" / "run", list[str]()
    until = chance.random() * 0.9 * (whole / "metrics.jsonl").stat().st_size
    process = net.start(4, *CONFIG, f"log.dir={run.parent}", "log.name=run")
    while not (any(run.glob("checkpoints/step-*")) and size(run) >= until):
        if process.poll() is not None:
            sys.exit(f"ended too early:\n{process.communicate()[0]}")
        time.sleep(0.005)
    done, begun = fail(net, process, chance), time.monotonic()
    while net.processes() and time.monotonic() - begun < END:
        time.sleep(0.05)
    seconds = time.monotonic() - begun
    left = net.processes()
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    if left:
        wrong.append(f"{len(left)} processes go on: {[b' '.join(c[:3]) for c in left.values()]}")
    said, _ = process.communicate()
    if process.returncode == 0:
        wrong.append("exit code 0")
    sign = "ends all processes: no sign of life from rank" if "cut" in done else "BAD TERMINATION"
    if said.count(sign) != 1 or "Traceback" in said:
        wrong.append(f"expected one message, got:\n{said}\n")
    for host in (1, 2, 3):
        net.plug(host, True)
    net.train(4, "--resume", str(run))
    wrong += differences(run, whole)
    return f"{done}, all ended in {seconds:.1f} s", wrong


def size(run: Path) -> int:
    """Return the bytes of recorded metrics."""
    file = run / "metrics.jsonl"
    return file.stat().st_size if file.exists() else 0


def differences(run: Path, whole: Path) -> list[str]:
    """Return the files in which two runs differ."""
    names = ("metrics.jsonl", "weights.safetensors")
    return [name for name in names if (run / name).read_bytes() != (whole / name).read_bytes()]


def main() -> int:
    """Return 1 if anything was wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--failures", type=int, default=20, help="failures (default: 20)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the moments (default: 0)")
    options = parser.parse_args()
    if sys.platform != "linux" or os.geteuid():
        sys.exit("scripts/hosts.py makes network namespaces: it needs Linux and root")
    chance, bad = random.Random(options.seed), 0
    with tempfile.TemporaryDirectory() as scratch, network(Path(scratch)) as net:
        for count, hosts in ((2, 2), (4, 3)):
            one, several = (Path(scratch, f"{count}", name) for name in ("one", "several"))
            words = (*CONFIG, f"log.dir={one.parent}")
            shares = (f"train.batch_size={32 // count}", f"train.accumulate={count}")
            net.train(1, *words, "log.name=one", *shares)
            before = net.sent()
            net.train(count, *words, "log.name=several")
            found = differences(several, one)
            bad += bool(found)
            sent = (net.sent() - before) / 1e6
            verdict = f"DIFFERS in {', '.join(found)} from" if found else "equals"
            told = f"{count} processes on {hosts} hosts, {sent:.1f} MB sent by one"
            print(f"{told}: {verdict} one process", flush=True)
        for number in range(options.failures):
            place = Path(scratch, f"run-{number}")
            done, wrong = attempt(net, place, several, chance)
            bad += bool(wrong)
            verdict = f"WRONG: {'; '.join(wrong)}" if wrong else "resumed, equal"
            print(f"{number + 1:3} {done}: {verdict}", flush=True)
    print(f"\n{options.failures} failures, {bad} handled wrongly")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
