"""Tensors on the device "meta" beside tensors with values, and in files."""

import io
import threading
from collections.abc import Callable
from typing import Any

import pytest

import nanotorch as torch
from nanotorch._core.meta import Region

MIXED = "Tensor on device cpu is not on the expected device meta!"
NO_DATA = "Cannot copy out of meta tensor; no data!"
CROSSED = "Attempting to copy from device meta to device cpu, but cross-device copies"


@pytest.fixture(autouse=True, params=["16 TB", "1 MB", "8 bytes"])
def region(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A range of addresses as Linux gives it, and two as of systems that give none."""
    if request.param != "16 TB":
        size = 8 if request.param == "8 bytes" else 1 << 20
        for name, value in {"size": size, "held": bytes(size), "exceeded": False}.items():
            monkeypatch.setattr(Region, name, value)


def assign(values: Any, meta: Any) -> None:
    values[0] = meta[0]


CALLS: dict[str, tuple[Callable[[Any, Any], Any], type[Exception], str]] = {
    "add": (lambda values, meta: values + meta, RuntimeError, MIXED),
    "add in place": (lambda values, meta: values.add_(meta), RuntimeError, MIXED),
    "mul in place": (lambda values, meta: values.mul_(meta), RuntimeError, MIXED),
    "linear": (lambda values, meta: torch.nn.Linear(4, 2)(meta), RuntimeError, MIXED),
    "a number in place": (
        lambda values, meta: values.fill_(torch.empty((), device="meta")),
        RuntimeError,
        MIXED,
    ),
    "cat": (lambda values, meta: torch.cat([values, meta]), RuntimeError, MIXED),
    "stack": (lambda values, meta: torch.stack([meta, values]), RuntimeError, MIXED),
    "assignment": (assign, NotImplementedError, NO_DATA),
    "out": (lambda values, meta: torch.add(meta, meta, out=values), RuntimeError, CROSSED),
    "out of a condition": (
        lambda values, meta: torch.where(meta > 0, meta, meta, out=values),
        RuntimeError,
        CROSSED,
    ),
    "gradient": (
        lambda values, meta: setattr(values, "grad", meta),
        RuntimeError,
        "gradient with device type 'meta' to a tensor with device type 'cpu'",
    ),
    "backward": (
        lambda values, meta: values.clone().requires_grad_().to("meta").sum().backward(),
        NotImplementedError,
        NO_DATA,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_values_are_not_lost_to_tensors_without_values(name: str) -> None:
    function, kind, message = CALLS[name]
    values, meta = torch.ones(3, 4), torch.empty(3, 4, device="meta")
    with pytest.raises(kind, match=message):
        function(values, meta)
    assert values.tolist() == [[1.0] * 4] * 3
    assert values.device.type == "cpu"


def test_numbers_and_indices_may_have_values() -> None:
    meta = torch.empty(3, 4, device="meta")
    table = torch.nn.Embedding(4, 2, device="meta")
    for result in (meta * torch.tensor(2.0), meta[torch.tensor([0, 2])], table(torch.tensor([1]))):
        assert result.is_meta


def test_functions_of_values_have_no_values_either() -> None:
    meta, edges = torch.empty(3, 4, device="meta"), torch.empty(4, device="meta")
    results = [torch.erfc(meta), torch.lgamma(meta), torch.acos(meta), torch.isin(meta, edges)]
    results += [torch.searchsorted(edges, meta), torch.bucketize(meta, edges)]
    assert [(r.is_meta, list(r.shape)) for r in results] == [(True, [3, 4])] * 6


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_recurrent_layers(kind: str) -> None:
    layer = getattr(torch.nn, kind)(4, 5, device="meta")
    output, _ = layer(torch.empty(2, 3, 4, device="meta"))
    assert (output.device.type, list(output.shape)) == ("meta", [2, 3, 5])


def test_files_keep_tensors_without_values() -> None:
    layer, file = torch.nn.Linear(3, 2, device="meta"), io.BytesIO()
    torch.save(layer.state_dict(), file)
    file.seek(0)
    weight = torch.load(file)["weight"]
    assert (weight.is_meta, list(weight.shape), weight.dtype) == (True, [2, 3], torch.float32)


def test_terabytes_take_no_memory() -> None:
    Region.memory()
    if Region.size < 1 << 44:
        pytest.skip("no range of addresses of this size")
    meta = torch.empty(10**6, 10**6, device="meta")
    assert meta.sum().is_meta
    assert list((meta @ torch.ones(10**6, device="meta")).shape) == [10**6]


def test_large_layers_are_initialized() -> None:
    layer = torch.nn.Linear(4096, 4096, device="meta")
    layer.weight[0].detach().normal_()
    assert layer.weight.is_meta


def test_the_default_device_belongs_to_its_thread() -> None:
    seen = list[str]()

    def look() -> None:
        thread = threading.Thread(target=lambda: seen.append(torch.zeros(1).device.type))
        thread.start()
        thread.join()

    with torch.device("meta"):
        look()
    torch.set_default_device("meta")
    try:
        look()
    finally:
        torch.set_default_device("cpu")
    assert seen == ["cpu", "cpu"]
