"""What libraries import of PyTorch and never call is there; its use tells what it is."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import nanotorch as torch
from nanotorch import nn, profiler
from nanotorch.names.scope import TABLE, Inert, row


@pytest.mark.parametrize("place", [place for place in TABLE if place])
def test_modules_can_be_imported(place: str) -> None:
    module = importlib.import_module(f"nanotorch.{place}")
    for name in row(place):
        value = getattr(module, name)
        assert value is getattr(module, name)
        if isinstance(value, Inert):
            with pytest.raises(NotImplementedError, match="is out of scope") as caught:
                value(1, a=2)
            assert str(caught.value).startswith(f"torch.{place}.{name} ")
            assert "nothing behind it" not in str(caught.value)


def test_nothing_that_is_there_is_in_the_table() -> None:
    for place in TABLE:
        module = importlib.import_module(f"nanotorch.{place}".rstrip("."))
        if not isinstance(module.__spec__ and module.__spec__.loader, type):  # it has more names
            assert not set(row(place)) & {*dir(module)}, place


def test_a_class_is_named_and_inherited_from() -> None:
    class Tracer(torch.fx.Tracer):
        def __init__(self) -> None:
            super().__init__()

    with pytest.raises(NotImplementedError, match=r"^torch\.fx\.Tracer is out of scope\. It is a"):
        Tracer()
    kinds = torch.fx.Graph | None, torch.futures.Future[int]
    assert not isinstance(nn.Linear(1, 1), (torch.fx.GraphModule, torch.jit.ScriptModule))
    assert "torch.fx.Graph" in str(kinds[0])
    with pytest.raises(
        NotImplementedError, match=r"StateDictType\.FULL_STATE_DICT is out of scope"
    ):
        torch.distributed.fsdp.StateDictType.FULL_STATE_DICT()
    assert torch.distributed.fsdp.StateDictType.A is torch.distributed.fsdp.StateDictType.A
    with pytest.raises(AttributeError, match="has no attribute '_zork'"):
        _ = torch.fx.Graph._zork


def test_what_can_be_saved_and_loaded_is_not_pretended(tmp_path: Path) -> None:
    scripted = torch.jit.script(nn.Linear(1, 1))
    with pytest.raises(NotImplementedError, match=r"Save weights by torch\.save"):
        torch.jit.save(scripted, tmp_path / "x.pt")
    with pytest.raises(OSError, match=r"no compiled code for PyTorch: x\.so"):
        torch.ops.load_library("x.so")
    assert not list(tmp_path.iterdir())


def test_nothing_is_made_before_it_is_asked_for() -> None:
    code = (
        "import sys, nanotorch, nanotorch.nn, nanotorch.optim\n"
        "assert 'nanotorch.names.scope' not in sys.modules and 'jit' not in dir(nanotorch)\n"
        "assert nanotorch.jit.is_scripting() is False and not hasattr(nanotorch.jit, 'zork')\n"
        "assert 'script' in dir(nanotorch.jit)\n"
        "torch = nanotorch.as_torch()\n"
        "import torch.jit, torch.fx.node as node\n"
        "assert torch.jit is nanotorch.jit and node.Node is torch.fx.node.Node\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_weights_are_found_where_they_were_put(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    url = "https://example.org/weights/net-0123abcd.pth"
    with pytest.raises(FileNotFoundError, match=f"there is no {tmp_path}/hub/checkpoints/net-0123"):
        torch.hub.load_state_dict_from_url(url)
    where = Path(torch.hub.get_dir()) / "checkpoints"
    where.mkdir(parents=True)
    state = nn.Linear(2, 1).state_dict()
    torch.save(state, where / "net-0123abcd.pth")
    found = torch.hub.load_state_dict_from_url(url, progress=False)
    assert torch.equal(found["weight"], state["weight"])
    assert torch.equal(torch.utils.model_zoo.load_url(url)["bias"], state["bias"])
    assert torch.hub.HASH_REGEX.search(url).group(1) == "0123abcd"


def test_a_profiler_measures_operations() -> None:
    model, x = nn.Sequential(nn.Linear(4, 3), nn.ReLU()), torch.ones(5, 4)
    with profiler.profile(activities=[profiler.ProfilerActivity.CPU]) as measured:
        with profiler.record_function("forward"):
            loss = model(x).sum()
        loss.backward()
    found = {average.key: average for average in measured.key_averages()}
    assert {"forward", "aten::addmm", "aten::relu", "AddmmBackward0", "ReluBackward0"} <= {*found}
    block, product = found["forward"], found["aten::addmm"]
    assert block.count == product.count == 1
    assert block.cpu_time_total > block.self_cpu_time_total + product.cpu_time_total
    lines = measured.key_averages().table(sort_by="cpu_time_total", row_limit=2).splitlines()
    assert lines[1].split()[0] == "Name"
    assert lines[3].split()[0] == max(found.values(), key=lambda a: a.cpu_time_total).key
    assert len(lines) == 7
    assert lines[-1].startswith("Self CPU time total: ")
    with pytest.raises(AttributeError, match=r"'export_chrome_trace': out of scope\. Python's own"):
        measured.export_chrome_trace("x.json")


def test_a_profiler_follows_a_schedule() -> None:
    seen = []
    plan = profiler.schedule(wait=1, warmup=1, active=2, repeat=1)
    x = torch.ones(2, requires_grad=True)
    with profiler.profile(schedule=plan, on_trace_ready=seen.append) as measured:
        for _ in range(8):
            x.exp().sum().backward()
            measured.step()
    assert seen == [measured]
    assert {a.key: a.count for a in measured.key_averages()}["aten::exp"] == 2
    with pytest.raises(AssertionError, match="must be initialized"):
        profiler.profile().key_averages()
    with pytest.raises(TypeError, match="Expected ProfilerActivity or dict, got <class 'str'>"):
        profiler.profile(activities=["cpu"])
