"""Type stubs: they are current, they tell the truth, and type checkers and editors read them."""

import ast
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import nanotorch as torch
from tests.ops.cases import cases
from tests.ops.sampling import is_inplace

ROOT = Path(__file__).parent.parent
PROGRAM = """
import nanotorch as torch
from nanotorch import nn

x = torch.ones(2, 3)
reveal_type(torch.relu(x))
reveal_type(x.sum())
reveal_type(nn.Linear(3, 2)(x))
reveal_type(x.max(1).values)
reveal_type(torch.nn.functional.relu(x) + 1)
torch.relux(x)
x.summ()
nn.Linear(3, 2)(x, x)
import nanotorch.accelerator
import nanotorch.xpu
from nanotorch.amp.autocast_mode import autocast
from nanotorch.amp.grad_scaler import GradScaler
from nanotorch.cuda.amp import autocast as former
from nanotorch.torch_version import TorchVersion
from nanotorch.types import Device
from nanotorch.utils.checkpoint import checkpoint
from nanotorch.utils.data.dataset import Dataset
from nanotorch.utils.data.distributed import DistributedSampler
from nanotorch.utils.data.sampler import BatchSampler, Sampler
from nanotorch.utils.dlpack import from_dlpack
from nanotorch.utils.hooks import RemovableHandle
from nanotorch.utils.tensorboard.writer import SummaryWriter


torch.cuda.amp.GradScaler, torch.distributed.all_gather_object, torch.utils.hooks.RemovableHandle
torch.distributions.Normal, torch.version.cuda, torch.backends.cudnn.benchmark


class Backwards(Sampler[int]):
    handle: RemovableHandle | None = None


@torch.no_grad()
def shifted(x: torch.Tensor) -> torch.Tensor:
    return x + 1


reveal_type(shifted(x))
"""
USER = '''"""A user's program: two networks, trained by `fit`, by a loop and by a configuration."""

import nanotorch as torch
import nanotorch.nn.functional as F
from nanotorch import Tensor, nn
from nanotorch.optim.lr_scheduler import StepLR
from nanotorch.train import Callback, Loop, fit, load_trained, resume, train
from nanotorch.utils.data import DataLoader, Dataset, TensorDataset, random_split


class Squares(Dataset[tuple[Tensor, Tensor]]):
    def __len__(self) -> int:
        return 64

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        x = torch.full((1,), index / 64)
        return x, x**2


class Network(nn.Module):
    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.hidden, self.output = nn.Linear(1, width), nn.Linear(width, 1)
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, x: Tensor) -> Tensor:
        y = self.output(torch.tanh(self.hidden(x)))
        return y * self.scale


class Stop(Callback):
    def on_epoch(self, loop: Loop) -> None:
        if loop.measured.get("validation/loss", 1.0) < 1e-3:
            loop.stop("good enough")


def largest(outputs: Tensor, targets: Tensor) -> Tensor:
    return (outputs - targets).abs().max()


torch.manual_seed(0)
model = Network()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
loader = DataLoader(Squares(), batch_size=16, shuffle=True)
run = fit(
    model, loader, loss=nn.MSELoss(), optimizer=optimizer, epochs=2, validation=Squares(),
    scheduler=StepLR(optimizer, 1), metrics={"largest": largest}, callbacks=[Stop()],
    early_stopping={"patience": 3}, clip_norm=1.0,
)
losses, best = run.history["train/loss"], run.results["validation/largest"]
outputs = run.predict(torch.ones(2, 1))
samples = torch.ones(4, 1), torch.ones(4, 1)
other = fit(Network(), samples, loss=F.mse_loss, optimizer="SGD", epochs=1, verbose=False)

small, loss_of, total = nn.Sequential(nn.Linear(1, 4), nn.ReLU()), nn.HuberLoss(), 0.0
for x, y in loader:
    optimizer.zero_grad()
    loss = loss_of(model(x), y)
    loss.backward()
    optimizer.step()
    total += loss.item()
    rows, shape = x.size(0), x.size()
(slope,) = torch.autograd.grad(model(torch.ones(1, 1)).sum(), model.scale)
pooled = F.max_pool2d(torch.ones(1, 1, 4, 4), 2)
larger = F.interpolate(pooled, scale_factor=2)
compiled = torch.compile(model)
part, _ = random_split(Squares(), [60, 4])
yaml = train("two_moons", "train.epochs=1", verbose=False)
print(resume(yaml.directory).status, load_trained(yaml.directory).model)
'''
WRONG = {
    "epoch=1": 'Unexpected keyword argument "epoch" for "fit"; did you mean "epochs"?',
    "epochs=1, batch_size='a'": 'expected "int | None"',
    "epochs=1, early_stopping={'patienc': 1}": 'expected "EarlyStoppingKeys | EarlyStopping',
}
TYPED = (
    "run", "losses", "best", "outputs", "other", "loader", "x", "y", "loss", "rows", "shape",
    "slope", "pooled", "larger", "compiled(x)", "part", "yaml", "model.hidden(x)", "small(x)",
    "loss.item()", "total",
)  # fmt: skip


def declared(text: str) -> set[str]:
    """What a stub declares; imports aside, which the formatter sorts and takes out."""
    nodes = ast.walk(ast.parse(text))
    return {ast.unparse(n) for n in nodes if isinstance(n, ast.FunctionDef | ast.AnnAssign)}


def test_stubs_are_current() -> None:
    stubs = runpy.run_path(str(ROOT / "scripts/stubs.py"))["stubs"]()
    assert len(stubs) > 3
    for path, written in stubs.items():
        differing = declared(written) ^ declared(path.read_text("utf-8"))
        assert not differing, f"run scripts/stubs.py: {path.name} is not current"


def results(stub: str) -> dict[str, set[str]]:
    """The types of results that a stub declares, by function or method."""
    found: dict[str, set[str]] = {}
    for node in ast.walk(ast.parse((ROOT / "nanotorch" / stub).read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef):
            assert node.returns is not None
            found.setdefault(node.name, set()).add(ast.unparse(node.returns))
    return found


def is_one(value: object, kind: str) -> bool:
    """Whether a value is of a type that a stub names."""
    if kind.startswith("tuple["):
        return isinstance(value, tuple) and all(isinstance(v, torch.Tensor) for v in value)
    if kind.startswith("return_types."):
        return type(value).__name__ == kind.partition(".")[2]
    return kind == "Any" or type(value).__name__ == kind.removeprefix("_")


@pytest.mark.parametrize("stub", ["__init__.pyi", "_core/methods.pyi"])
def test_results_are_of_the_declared_types(stub: str) -> None:
    declared, seen, method = results(stub), set(), "methods" in stub
    for case in cases():
        if case.name not in declared or is_inplace(case.name):
            continue
        call = case.call("float32")
        try:
            holder = call.tensors[0] if method and call.args[0] is call.tensors[0] else torch
            args = call.args if holder is torch else call.args[1:]
            result = getattr(holder, case.name)(*args, **call.kwargs)
        except Exception:  # a sample of a refusal, or of another function of that name
            continue
        seen.add(case.name)
        assert any(is_one(result, kind) for kind in declared[case.name]), (str(case), result)
    assert len(seen) > 240


@pytest.mark.slow
def test_a_type_checker_knows_results_and_names(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, "utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", program]
    shown = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path).stdout
    lines = shown.splitlines()
    assert [line for line in lines if "note" in line] == [
        line for line in lines if 'Revealed type is "nanotorch._core.tensor.Tensor"' in line
    ]
    errors = [line.partition("error: ")[2] for line in lines if "error" in line]
    assert len(errors) == 3, shown
    assert 'no attribute "relux"' in errors[0]
    assert 'no attribute "summ"' in errors[1]
    assert "Too many arguments" in errors[2]


@pytest.mark.slow
def test_a_program_that_trains_is_typed_throughout(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    program = tmp_path / "program.py"
    program.write_text(USER, "utf-8")
    assert len(USER.splitlines()) >= 60
    subprocess.run([sys.executable, program], cwd=tmp_path, check=True, capture_output=True)
    program.write_text(USER + "".join(f"reveal_type({name})\n" for name in TYPED), "utf-8")
    options = "--strict", "--disallow-any-expr", "--no-error-summary"
    command = [sys.executable, "-m", "mypy", *options, program]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    revealed = [line.partition("type is ")[2] for line in done.stdout.splitlines()]
    assert done.returncode == 0, done.stdout
    assert len(revealed) == len(TYPED)
    assert not [kind for kind in revealed if "Any" in kind]
    for wrong, error in WRONG.items():
        program.write_text(
            f"{USER}fit(model, loader, loss=F.mse_loss, optimizer='SGD', {wrong})", "utf-8"
        )
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
        assert [error in line for line in done.stdout.splitlines() if "error" in line] == [True]


@pytest.mark.slow
def test_an_editor_completes_names() -> None:
    jedi = pytest.importorskip("jedi")

    def script(line: str) -> Any:
        return jedi.Script(f"import nanotorch as torch\nx = torch.ones(2)\n{line}")

    def completed(line: str) -> list[str]:
        return [found.name for found in script(line).complete()]

    def parameters(line: str) -> list[str]:
        (signature,) = script(line).get_signatures()
        return [p.name for p in signature.params]

    assert "relu" in completed("torch.rel")
    assert "sum" in completed("x.su")
    assert "mean" in completed("x.sum().me")
    assert "values" in completed("x.max(0).val")
    assert "weight" in completed("torch.nn.Linear(1, 2).wei")
    assert parameters("torch.nn.LSTM(")[:3] == ["input_size", "hidden_size", "num_layers"]
    assert parameters("torch.nn.RNN(")[3] == "nonlinearity"
    assert parameters("torch.nn.Softmax(") == ["dim"]
    assert parameters("torch.nn.AvgPool2d(")[:2] == ["kernel_size", "stride"]
