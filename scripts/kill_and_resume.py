"""Kill trainings at random moments, resume them, and compare with trainings that were left alone.

    python scripts/kill_and_resume.py                 # 50 kills; some minutes
    python scripts/kill_and_resume.py --kills 5 --seed 3

SIGKILL gives a process no chance to do anything. Every second kill waits for a checkpoint to be
under way, so that it falls into the middle of writing one; some runs are killed again after they
were resumed. In the end weights and metrics must equal, byte for byte, those of the unbroken run,
and TensorBoard's curves must have every step once.

Besides trainings by themselves, there are sweeps, of which a run or the sweep itself is killed,
and programs with a `DataLoader`, of which a worker or the program itself is. A parent must tell of
its child and go on or end, and no child may outlive its parent. These need Linux's /proc.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[1]
TRAIN = [sys.executable, str(ROOT / "scripts" / "train.py")]
AGAIN = 0.3
"""The share of runs that are killed once more."""
EARLY = 0.1
"""The approximate share of kills while a training is starting."""
STARTING = 1.0
"""Seconds in which a training starts."""
LONGEST_END = 60.0
"""Seconds in which a child must end after its parent, at the end of its step or sample."""
PROGRAM = """
import pathlib, nanotorch as torch
from nanotorch.utils.data import DataLoader, Dataset

class Noisy(Dataset):
    def __getitem__(self, index):
        x = torch.randn(4) + index
        return x, x.sum()
    def __len__(self):
        return 200

if __name__ == "__main__":
    shuffling = torch.Generator().manual_seed(1)
    loader = DataLoader(Noisy(), 8, True, num_workers=2, generator=shuffling)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.Adam(model.parameters())
    epoch = step = 0
    if pathlib.Path("state.pt").exists():
        state = torch.load("state.pt")
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        loader.load_state_dict(state["loader"])
        torch.set_rng_state(state["random"])
        epoch, step = state["epoch"], state["step"]
    while epoch < 12:
        for x, y in loader:
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(x)[:, 0], y).backward()
            optimizer.step()
            step += 1
            with open("steps.txt", "a") as file:
                file.write(".")
            if step % 5 == 0:
                torch.save({
                    "model": model.state_dict(), "optimizer": optimizer.state_dict(),
                    "loader": loader.state_dict(), "random": torch.get_rng_state(),
                    "epoch": epoch, "step": step,
                }, "state.pt")
        epoch += 1
    torch.save(model.state_dict(), "final.pt")
"""
COMMON = ("log.plots=false", "log.progress=false", "checkpoint.seconds=0.02")


@dataclass(frozen=True)
class Experiment:
    """A training that lasts a few seconds.

    Attributes:
        config: the name of its file.
        overrides: settings that make it last, with all parts that have a state.
    """

    config: str
    overrides: tuple[str, ...]


EXPERIMENTS = (
    Experiment(
        "bce_classification",
        (
            "model.layers=[{name: Linear, out_features: 16}, BatchNorm1d, ReLU, {name: Dropout}, "
            "{name: Linear, out_features: 1}]",
            "train={epochs: 150, batch_size: 32, clip_norm: 1.0}",
            "scheduler={name: CosineAnnealingLR, warmup: 5}",
            "early_stopping={patience: 1000}",
            "averaging={method: ema}",
            "checkpoint.best=3",
        ),
    ),
    Experiment(
        "linear_regression",
        (
            "train={epochs: 400, batch_size: 16, accumulate: 2}",
            "optimizer={name: Adam, lr: 0.1}",
            "scheduler={name: ReduceLROnPlateau, patience: 20}",
        ),
    ),
    Experiment(
        "function_minimization",
        (
            "function={name: rosenbrock, start: [-1.2, 1], iterations: 8000}",
            "optimizer={name: Adam, lr: 0.01}",
            "scheduler={name: OneCycleLR, max_lr: 0.02, cycle_momentum: false}",
        ),
    ),
)


@dataclass(frozen=True)
class Unbroken:
    """A run without a kill, and the bytes that it recorded."""

    directory: Path
    recorded: int


def start(arguments: list[str], place: Path) -> subprocess.Popen[bytes]:
    """Start a training in the directory `place`."""
    return subprocess.Popen(
        [*TRAIN, *arguments], cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


def finish(process: subprocess.Popen[bytes]) -> None:
    """Wait for a training that must succeed."""
    _, errors = process.communicate()
    if process.returncode:
        sys.exit(f"a training failed with {process.returncode}:\n{errors.decode()}")


def arguments_of(experiment: Experiment) -> list[str]:
    """Return the command line of an experiment."""
    config = ROOT / "configs" / f"{experiment.config}.yaml"
    return ["--config", str(config), *experiment.overrides, *COMMON]


def run_of(place: Path) -> Path | None:
    """Return the run below `place` that can be resumed; None if there is none."""
    return next((path.parent for path in place.glob("runs/*/*/config.yaml")), None)


def unbroken(experiment: Experiment, place: Path) -> Unbroken:
    """Run an experiment without a kill."""
    finish(start(arguments_of(experiment), place))
    found = run_of(place)
    assert found is not None
    return Unbroken(found, progress(place))


def writing(place: Path) -> bool:
    """Return whether a checkpoint is being written now."""
    return any(True for _ in place.glob("runs/*/*/checkpoints/.*"))


def progress(place: Path) -> int:
    """Return the bytes recorded so far."""
    names = ("runs/*/*/metrics.jsonl", "runs/*_sweep/*/*/*/metrics.jsonl", "steps.txt")
    return sum(path.stat().st_size for name in names for path in place.glob(name))


def kill(process: subprocess.Popen[bytes], place: Path, until: int, inside: bool) -> str:
    """Kill a training at some point; return a description of the moment.

    Args:
        process: the training.
        place: its directory.
        until: the bytes to be recorded before; 0 for any moment until training begins.
        inside: whether to wait, after that, until a checkpoint is being written.
    """
    if until == 0:
        time.sleep(random.uniform(0, STARTING))
    while process.poll() is None and progress(place) < until:
        time.sleep(0.001)
    while inside and process.poll() is None and not writing(place):
        pass
    process.kill()
    process.communicate()
    if process.returncode != -signal.SIGKILL:
        return "finished before"
    if run_of(place) is None:
        return "before there was a run"
    if not any(place.glob("runs/*/*/checkpoints/step-*")):
        return "before the first checkpoint"
    return "while writing a checkpoint" if writing(place) else "between checkpoints"


def children(process: int) -> list[int]:
    """Return the running children of a process."""
    try:
        words = [path.read_text() for path in Path(f"/proc/{process}/task").glob("*/children")]
        return [int(word) for word in " ".join(words).split()]
    except OSError:
        return []


def left(processes: list[int]) -> list[int]:
    """Return those of some processes that do not end."""
    end = time.monotonic() + LONGEST_END
    while (alive := [pid for pid in processes if is_alive(pid)]) and time.monotonic() < end:
        time.sleep(0.05)
    return alive


@contextmanager
def ending() -> Iterator[None]:
    """A block whose processes are ended with it, also if SIGTERM ends it."""

    def end(number: int, frame: object) -> None:
        sys.exit(128 + number)

    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        waiting, found = [os.getpid()], list[int]()
        while waiting:
            begun = children(waiting.pop())
            waiting += begun
            found += begun
        for process in found:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        left(found)


def is_alive(process: int) -> bool:
    """Return whether a process is running, and not a zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def kill_one(
    process: subprocess.Popen[bytes], place: Path, until: int, child: bool
) -> tuple[str, list[str]]:
    """Kill a process that has children, or one of these.

    Returns:
        The killed process as text, and the wrong reactions of the others.
    """
    found: list[int] = []
    while not found or progress(place) < until:
        found = children(process.pid)
        if process.poll() is not None:
            process.communicate()
            return "finished before", []
        time.sleep(0.001)
    os.kill(found[0] if child else process.pid, signal.SIGKILL)
    process.wait()
    wrong = [f"process {pid} still runs without its parent" for pid in left(found)]
    for pid in found:
        if is_alive(pid):
            os.kill(pid, signal.SIGKILL)
    process.communicate()
    if child and process.returncode not in (0, 1):
        wrong.append(f"the parent of a killed child ended with {process.returncode}")
    return "a child" if child else "a parent", wrong


def with_workers(place: Path) -> subprocess.Popen[bytes]:
    """Start the program with a `DataLoader`, or resume it."""
    return subprocess.Popen([sys.executable, "-c", PROGRAM], cwd=place, stderr=subprocess.PIPE)


def attempt_workers(whole: Path, chance: random.Random, place: Path) -> tuple[list[str], list[str]]:
    """Do as `attempt`, with a program and its workers."""
    moments, wrong = [], []
    while True:
        until = int(progress(place) + chance.random() * (progress(whole) - progress(place)))
        moment, found = kill_one(with_workers(place), place, until, chance.random() < 0.5)
        moments.append(f"{moment} (DataLoader)" if moment != "finished before" else moment)
        wrong += found
        if chance.random() > AGAIN:
            break
    finish(with_workers(place))
    same = (place / "final.pt").read_bytes() == (whole / "final.pt").read_bytes()
    return moments, wrong if same else [*wrong, "weights"]


def sweep(place: Path) -> subprocess.Popen[bytes]:
    """Start a sweep."""
    experiment = EXPERIMENTS[0]
    words = [word for word in arguments_of(experiment) if not word.startswith("log.progress")]
    command = [sys.executable, str(ROOT / "scripts" / "sweep.py"), *words, "seed=0:3", "--jobs=2"]
    return subprocess.Popen(command, cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def attempt_sweep(whole: Path, chance: random.Random, place: Path) -> tuple[list[str], list[str]]:
    """Do as `attempt`, with the runs of a sweep."""
    child = chance.random() < 0.5
    moment, wrong = kill_one(sweep(place), place, int(chance.random() * progress(whole)), child)
    tables = [path.read_text("utf-8") for path in place.glob("runs/*/*/sweep.csv")]
    if moment == "a child" and "killed by SIGKILL" not in "".join(tables):
        wrong.append("no table shows the killed run")
    for path in place.glob("runs/*_sweep/*/*/*/config.yaml"):
        finish(start(["--resume", str(path.parent)], place))
        (reference,) = whole.glob(f"runs/*/*/{path.parent.parent.name}/*")
        wrong += differences(path.parent, reference)
    return [f"{moment} (sweep)" if moment != "finished before" else moment], wrong


def differences(directory: Path, reference: Path) -> list[str]:
    """Return the differences of a run from the unbroken one."""
    found = [
        name
        for name in ("weights.safetensors", "metrics.jsonl")
        if (directory / name).read_bytes() != (reference / name).read_bytes()
    ]
    return found + (["events"] if curves(directory) != curves(reference) else [])


def curves(directory: Path) -> dict[str, list[tuple[int, float]]]:
    """Return TensorBoard's curves of a run, without those of times."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(directory), size_guidance={"scalars": 0}).Reload()
    return {
        tag: [(event.step, event.value) for event in events.Scalars(tag)]
        for tag in events.Tags()["scalars"]
        if tag != "train/samples_per_second"
    }


def attempt(
    experiment: Experiment, whole: Unbroken, chance: random.Random, place: Path
) -> tuple[list[str], list[str]]:
    """Kill a run, perhaps twice, and resume it to its end.

    Returns:
        The moments of the kills, and the differences from the unbroken run.
    """
    moments, inside = [], chance.random() < 0.5
    process = start(arguments_of(experiment), place)
    while True:
        # The moment is chosen by recorded bytes: time means little on a busy machine.
        share = chance.uniform(-EARLY, 1.0)
        before, all_of_it = progress(place), whole.recorded
        until = 0 if share < 0 else int(before + share * (all_of_it - before))
        moment = kill(process, place, until, inside and until > 0)
        moments.append(moment)
        directory = run_of(place)
        if directory is None:
            process = start(arguments_of(experiment), place)
        else:
            process = start(["--resume", str(directory)], place)
        if chance.random() > AGAIN:
            break
    finish(process)
    directory = run_of(place)
    assert directory is not None
    return moments, differences(directory, whole.directory)


def main() -> int:
    """Return 1 if any run differs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=50, help="number of kills (default: 50)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the moments (default: 0)")
    options = parser.parse_args()
    chance = random.Random(options.seed)
    seen: Counter[str] = Counter()
    kills = runs = bad = 0
    with tempfile.TemporaryDirectory() as scratch, ending():
        wholes = {}
        for number, experiment in enumerate(EXPERIMENTS):
            place = Path(scratch, f"whole-{number}")
            place.mkdir()
            wholes[experiment] = unbroken(experiment, place)
            print(f"{experiment.config}: trained without a kill", flush=True)
        turns: list[tuple[str, Callable[[Path], tuple[list[str], list[str]]]]] = [
            (e.config, partial(attempt, e, wholes[e], chance)) for e in EXPERIMENTS
        ]
        if Path("/proc/self/task").exists():
            for name, begin, again in (
                ("DataLoader", with_workers, attempt_workers), ("sweep", sweep, attempt_sweep)
            ):  # fmt: skip
                place = Path(scratch, f"whole-{name}")
                place.mkdir()
                finish(begin(place))
                print(f"{name}: trained without a kill", flush=True)
                turns.append((name, partial(again, place, chance)))
        while kills < options.kills:
            name, turn = turns[runs % len(turns)]
            place = Path(scratch, f"run-{runs}")
            place.mkdir()
            moments, found = turn(place)
            runs += 1
            seen.update(moments)
            kills += sum(moment != "finished before" for moment in moments)
            bad += bool(found)
            verdict = f"DIFFERS in {', '.join(found)}" if found else "equal"
            print(f"{kills:3} {name}: {', '.join(moments)}: {verdict}", flush=True)
    print(f"\n{kills} kills of {runs} runs: {runs - bad} equal to the unbroken run, {bad} not")
    print("\n".join(f"{count:4} {moment}" for moment, count in seen.most_common()))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
