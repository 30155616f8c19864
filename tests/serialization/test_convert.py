"""The command `nanotorch convert`."""

from pathlib import Path

import numpy as np
import pytest

import nanotorch as torch
from nanotorch.serialization import convert
from tests.serialization.test_pytorch import FILES


def said(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str]:
    code = convert.main([str(word) for word in words], "nanotorch convert")
    return code, "".join(capsys.readouterr())


def test_weights_go_through_every_format(capsys, tmp_path: Path) -> None:
    path = tmp_path / "0.pt"
    path.write_bytes(FILES["2.14.1/old/layers.pt"])
    state = torch.load(path)
    for number, ending in enumerate(("safetensors", "npz", "bin", "npz", "safetensors", "pth"), 1):
        after = tmp_path / f"{number}.{ending}"
        size = f"{len(state)} tensors, "
        code, text = said(capsys, path, after)
        assert (code, text.startswith(f"{after}: {size}")) == (0, True), text
        path = after
    found = torch.load(path)
    assert found.keys() == state.keys()
    assert all(torch.equal(found[name], state[name]) for name in state)


def test_a_checkpoint_keeps_its_structure_but_in_npz(capsys, tmp_path: Path) -> None:
    (tmp_path / "a.pt").write_bytes(FILES["2.14.1/zip/adam.pt"])
    said(capsys, tmp_path / "a.pt", tmp_path / "a.safetensors")
    found = torch.load(tmp_path / "a.safetensors")
    assert (found["epoch"], found["optimizer"]["param_groups"][0]["amsgrad"]) == (2, True)
    said(capsys, tmp_path / "a.pt", tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as arrays:
        assert arrays["model.0.weight"].shape == (4, 3)
    first = (tmp_path / "a.npz").read_bytes()
    said(capsys, tmp_path / "a.safetensors", tmp_path / "a.npz")
    assert (tmp_path / "a.npz").read_bytes() == first
    torch.save({"h": torch.tensor([1.5], dtype=torch.bfloat16)}, tmp_path / "h.pt")
    said(capsys, tmp_path / "h.pt", tmp_path / "h.npz")
    assert np.load(tmp_path / "h.npz")["h"].dtype == np.float32


def test_mistakes(capsys, tmp_path: Path) -> None:
    torch.save(1, tmp_path / "a.pt")
    np.savez(tmp_path / "o.npz", a=np.array([None]))
    np.savez(tmp_path / "c.npz", a=np.ones(2, complex))
    for words, message in (
        (("no.pt", "b.pt"), "No such file"),
        (("a.pt", "b.onnx"), "has none of the endings .pt"),
        (("o.npz", "b.pt"), "allow_pickle"),
        (("c.npz", "b.pt"), "complex128"),
    ):
        code, text = said(capsys, *[tmp_path / word for word in words])
        assert (code, message in text) == (1, True), text
        assert not (tmp_path / "b.pt").exists()
