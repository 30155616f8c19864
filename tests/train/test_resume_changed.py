"""Going on with a run whose configuration, or whose checkpoints, have changed meanwhile."""

import json
import shutil
from pathlib import Path

import pytest

from nanotorch.train import CheckpointError, ConfigError, load_config, resume, train
from nanotorch.train.run_directory import load_checkpoint
from tests.train.examples import CLASSIFICATION, MINIMIZATION, REGRESSION
from tests.train.test_resume import as_if_killed, finished, left_by


def rates(directory: Path) -> list[float]:
    lines = [json.loads(line) for line in (directory / "metrics.jsonl").read_text().splitlines()]
    return [line["train/lr"] for line in lines if "train/lr" in line]


def test_a_new_learning_rate_counts_from_now_on() -> None:
    whole = finished(REGRESSION, ["train={epochs: 2, batch_size: null}"])
    resume(whole.directory, ["train.epochs=4", "optimizer.lr=0.01"])
    assert rates(whole.directory) == [0.1, 0.1, 0.01, 0.01]
    # It is not forgotten when the run is resumed once more.
    resume(whole.directory, ["train.epochs=5"])
    assert rates(whole.directory) == [0.1, 0.1, 0.01, 0.01, 0.01]


def test_a_schedule_goes_on_from_a_new_learning_rate() -> None:
    schedule = "scheduler={name: ExponentialLR, gamma: 0.5}"
    whole = finished(REGRESSION, [schedule, "train={epochs: 2, batch_size: null}"])
    resume(whole.directory, ["train.epochs=4", "optimizer.lr=0.4"])
    assert rates(whole.directory) == pytest.approx([0.1, 0.05, 0.1, 0.05])


def test_what_else_the_optimizer_does_may_change() -> None:
    kept = finished(REGRESSION, ["train={epochs: 2, batch_size: null}"])
    other = Path("other")
    shutil.copytree(kept.directory, other)
    plain = resume(kept.directory, ["train.epochs=4"])
    decayed = resume(other, ["train.epochs=4", "optimizer.weight_decay=0.5"])
    assert left_by(plain.directory) != left_by(decayed.directory)
    newest = max((other / "checkpoints").glob("step-*"))
    groups = load_checkpoint(newest)["task"]["optimizer"]["state"]["param_groups"]
    assert groups[0]["weight_decay"] == 0.5


def test_options_that_need_nothing_kept_may_change() -> None:
    kept = finished(REGRESSION, ["train={epochs: 2, batch_size: null}"])
    resume(kept.directory, ["train.epochs=4", "optimizer.momentum=0.5"])
    whole = finished(CLASSIFICATION, ["optimizer.amsgrad=true"])
    resume(whole.directory, ["train.steps=8", "optimizer.amsgrad=false"])


@pytest.mark.parametrize(
    ("text", "before", "override", "message"),
    [
        (REGRESSION, [], "optimizer={name: Adam, lr: 0.1}", "the optimizer is Adam, but was SGD"),
        (REGRESSION, ["scheduler={name: StepLR, step_size: 2}"], "scheduler.step_size=3",
         "the scheduler's step_size is 3, but was 2"),
        (REGRESSION, ["scheduler={name: StepLR, step_size: 2}"],
         "scheduler={name: ExponentialLR, gamma: 0.5}",
         "the scheduler is ExponentialLR, but was StepLR"),
        pytest.param(
            REGRESSION, ["scheduler={name: StepLR, step_size: 2, warmup: 3}"], "scheduler.warmup=2",
            "the scheduler's warmup is 2, but was 3", marks=pytest.mark.slow),
        pytest.param(
            REGRESSION, ["scheduler={name: StepLR, step_size: 2}"], "scheduler.interval=step",
            "the scheduler's interval is step, but was epoch", marks=pytest.mark.slow),
        (CLASSIFICATION, [], "optimizer.amsgrad=true",
         "the optimizer's amsgrad is True, but was False"),
        (REGRESSION, ["optimizer={name: RMSprop, lr: 0.1}"], "optimizer.centered=true",
         "the optimizer's centered is True, but was False"),
        pytest.param(
            REGRESSION, ["optimizer={name: RMSprop, lr: 0.1}"], "optimizer.momentum=0.5",
            "the optimizer's momentum is 0.5, but was 0", marks=pytest.mark.slow),
        pytest.param(
            REGRESSION, ["optimizer={name: LBFGS, lr: 0.1}"], "optimizer.history_size=5",
            "the optimizer's history_size is 5, but was 100", marks=pytest.mark.slow),
        (REGRESSION, ["train.epochs=4"], "train.epochs=1", "has taken 16 steps; now it is to take"),
        (REGRESSION, [], "optimizer.lr=1e-5", "has taken all of its 8 steps, so that nothing can"),
        (CLASSIFICATION, [], "model.layers[0].out_features=5", "size mismatch for 0.weight"),
    ],
)  # fmt: skip
def test_what_does_not_fit_changes_nothing(
    text: str, before: list[str], override: str, message: str
) -> None:
    whole = finished(text, before)
    config = (whole.directory / "config.yaml").read_text("utf-8")
    with pytest.raises(CheckpointError, match=message):
        resume(whole.directory, [override])
    assert (whole.directory / "config.yaml").read_text("utf-8") == config


@pytest.mark.parametrize(
    ("text", "override", "name"),
    [
        (REGRESSION, "seed=1", "seed"),
        (REGRESSION, "data.split={train: 0.5, validation: 0.25, test: 0.25}", "data"),
        (CLASSIFICATION, "data.generator.samples=50", "data"),
        (MINIMIZATION, "function.expression=x[0]**4 + x[1]**2", "function"),
        (MINIMIZATION, "function.start=[3, 3]", "function"),
    ],
)
def test_the_samples_stay_what_they_were(text: str, override: str, name: str) -> None:
    whole = finished(text, [])
    with pytest.raises(
        ConfigError, match=rf"command line: .*\b{name}\b.*: cannot change in a resumed run"
    ):
        resume(whole.directory, [override])


@pytest.mark.parametrize("change", ["batch_size=8", "accumulate=2", "overfit_batches=2"])
def test_the_steps_of_an_epoch_change_only_where_steps_are_counted(change: str) -> None:
    whole = finished(REGRESSION, ["train={epochs: 2, batch_size: 4}"])
    name = change.partition("=")[0]
    with pytest.raises(ConfigError, match=rf"train\.{name}\b.*: changes how many steps"):
        resume(whole.directory, [f"train.{change}", "train.epochs=4"])
    counted = ["train.epochs=null", "train.steps=11"]
    resume(whole.directory, [f"train.{change}", *counted])
    assert len(rates(whole.directory)) == 11


def test_an_older_checkpoint_can_be_chosen() -> None:
    whole = finished(CLASSIFICATION, ["train={epochs: 4, batch_size: 8}"])
    before = left_by(whole.directory)
    chosen = whole.directory / "checkpoints" / "step-00000006.safetensors"
    resume(chosen)
    assert left_by(whole.directory) == before
    resume(chosen, ["optimizer.lr=0.1"])
    assert left_by(whole.directory) != before
    # Those of the future that is no more do not stand in the way.
    assert resume(whole.directory, ["train.epochs=5"]).status == "finished"


@pytest.mark.parametrize("kind", ["torn", "link"])
def test_one_that_cannot_be_used_does_not_push_out_good_ones(kind: str) -> None:
    whole = finished(CLASSIFICATION, ["train={epochs: 4, batch_size: 8}"])
    checkpoints = sorted((whole.directory / "checkpoints").glob("step-*"))
    copy = as_if_killed(whole.directory, checkpoints[9], checkpoints[:9])
    spoilt = copy / "checkpoints" / checkpoints[9].name
    spoilt.unlink()
    if kind == "torn":
        spoilt.write_bytes(checkpoints[9].read_bytes()[:999])
    else:
        spoilt.symlink_to("nowhere")
    # Pauses at once: the checkpoint of the next step is the only one to be kept.
    resume(copy, ["train.time_limit=1e-6", "checkpoint={seconds: 0, last: 1}"])
    found = [path.name for path in (copy / "checkpoints").glob("step-*")]
    assert checkpoints[9].name in found
    resume(copy, ["train.time_limit=null"])
    assert left_by(copy) == left_by(whole.directory)


def test_the_best_weights_that_are_gone_are_found_again() -> None:
    train_long = ["train={epochs: 6, batch_size: null}", "optimizer.lr=0.05"]
    whole = finished(REGRESSION, train_long)
    (best,) = (whole.directory / "checkpoints").glob("best-*")
    assert best.name == "best-00000006.safetensors"  # better from epoch to epoch
    again = resume(whole.directory / "checkpoints" / "step-00000003.safetensors", ["log.every=2"])
    assert best.exists()
    assert load_config(again.directory / "config.yaml").config.log.every == 2
    # With steps too long to be better, the best of those that are there is kept.
    resume(whole.directory / "checkpoints" / "step-00000003.safetensors", ["optimizer.lr=0.9"])
    (best,) = (whole.directory / "checkpoints").glob("best-*")
    assert best.exists()


def test_a_run_that_is_ended_while_it_is_measured_can_be_gone_on_with(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*args: object) -> None:
        raise KeyboardInterrupt

    whole = finished(REGRESSION, [])
    with monkeypatch.context() as patch:
        patch.setattr("nanotorch.train.supervised.Supervised.report", interrupted)
        result = train(load_config("x.yaml"))
    assert (result.status, result.exit_code) == ("interrupted", 130)
    shown = capsys.readouterr().out.splitlines()
    assert shown[-1] == f"to go on: python -m nanotorch.train --resume {result.directory}"
    assert resume(result.directory).status == "finished"
    assert left_by(result.directory) == left_by(whole.directory)
