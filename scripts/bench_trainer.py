"""Time an epoch through the trainer beside the same steps in a bare loop.

    python scripts/bench_trainer.py            # a table
    python scripts/bench_trainer.py --check    # exit 1 if the trainer takes over 1.3 times as long

Both take the same steps with batches of the same loader. The trainer records losses, gradient norms
and rates in `metrics.jsonl` and for TensorBoard, watches for signals and numbers that are not
finite, and keeps checkpoints. They take turns, epoch by epoch, so that a machine whose speed drifts
slows both alike; what counts is processor time, and the median of the ratios of two neighbours.
"""

import argparse
import contextlib
import io
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

LIMIT = 1.3
ROUNDS = 41
CONFIG = """\
experiment: classification
data:
  generator: {{name: moons, samples: {samples}}}
  split: {{train: 1, validation: 0, test: 0}}
model:
  layers:
    - {{name: Linear, out_features: {width}}}
    - ReLU
    - {{name: Linear, out_features: {width}}}
    - ReLU
    - {{name: Linear, out_features: 1}}
loss: BCEWithLogitsLoss
optimizer: {{name: SGD, lr: 0.01, momentum: 0.9}}
train: {{epochs: 1000, batch_size: {batch}, compile: {compiled}}}
log: {{progress: false}}
"""
WORKLOADS = {
    "2-16-16-1, batches of 32": {"samples": 10_000, "width": 16, "batch": 32},
    "2-64-64-1, batches of 64": {"samples": 20_000, "width": 64, "batch": 64},
    "2-256-256-1, batches of 128": {"samples": 20_000, "width": 256, "batch": 128},
}


def turns(workload: dict[str, int], compiled: bool, place: Path) -> tuple[float, float, float]:
    """Return the seconds of an epoch in a bare loop and through the trainer, and the ratio."""
    from nanotorch.train import load_config
    from nanotorch.train.runs.run import Record, Run, build_experiment
    from nanotorch.train.training.experiment import Recorder
    from nanotorch.train.training.supervised import Supervised

    path = place / "bench.yaml"
    path.write_text(CONFIG.format(**workload, compiled=str(compiled).lower()), "utf-8")
    loaded = load_config(path)
    experiment, bare = build_experiment(loaded), build_experiment(loaded)
    assert isinstance(bare, Supervised)
    recorder = Recorder(place, tensorboard=True, resumed=None)
    recorder.begin()
    record = Record(place, {"id": ""})
    loop = Run(loaded, experiment, place, record, "").make_loop(recorder)
    for callback in loop.callbacks:
        callback.on_start(loop)
    step = bare.training_step.call

    def bare_epoch() -> None:
        for x, y in bare.loader:
            step(x, y).item()

    candidates: list[Callable[[], None]] = [bare_epoch, loop.run_epoch]
    times: list[list[float]] = [[], []]
    for _ in range(ROUNDS + 2):
        for seconds, candidate in zip(times, candidates, strict=True):
            start = time.process_time()
            candidate()
            seconds.append(time.process_time() - start)
    for callback in reversed(loop.callbacks):
        callback.on_end(loop)
    recorder.close()
    bare_times, trainer_times = (seconds[2:] for seconds in times)  # the first two compile
    ratios = [b / a for a, b in zip(bare_times, trainer_times, strict=True)]
    median = statistics.median
    return median(bare_times), median(trainer_times), median(ratios)


def main() -> int:
    """Return 1 with `--check` if a ratio is above the limit."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="exit 1 above the limit")
    options = parser.parse_args()
    worst = 0.0
    print(f"{'':34}{'bare':>10}{'trainer':>10}{'ratio':>8}")
    for name, workload in WORKLOADS.items():
        for compiled in (False, True):
            with tempfile.TemporaryDirectory() as place, contextlib.redirect_stderr(io.StringIO()):
                bare, trained, ratio = turns(workload, compiled, Path(place))
            worst = max(worst, ratio)
            label = f"{name}{', compiled' if compiled else ''}"
            print(f"{label:34}{1e3 * bare:7.1f} ms{1e3 * trained:7.1f} ms{ratio:8.2f}", flush=True)
    return int(options.check and worst > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
