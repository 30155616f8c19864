"""Files: whole or not at all, and clear words about those that are none of ours."""

import io
import os
import pickle
import struct
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

import nanotorch as torch
from nanotorch.serialization import files
from nanotorch.serialization.files import read_limited

FOREIGN = Path(__file__).parents[1] / "golden" / "foreign"


def written(obj: object, name: str = "x.safetensors") -> bytes:
    """What `save` writes into a file of this name."""
    file: Any = io.BytesIO()
    file.name = name
    torch.save(obj, file)
    return bytes(file.getvalue())


def loaded(data: bytes, **options: object) -> Any:
    """What a file of these bytes holds."""
    return torch.load(io.BytesIO(data), **options)


def attempted(data: bytes, *expected: type[Exception], **options: Any) -> tuple[str | None, int]:
    """The refusal of a forged file, None if it is read, and the greatest memory meanwhile.

    Args:
        expected: errors that may refuse it, in addition to the usual ones.
    """
    refusal = None
    tracemalloc.start()
    try:
        loaded(data, **options)
    except (RuntimeError, pickle.UnpicklingError, *expected) as error:
        refusal = str(error).removeprefix("Weights only load failed: ")
    except BaseException as error:
        raise AssertionError(f"{error!r}\n{data!r}") from error
    finally:
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return refusal, most


def file_of(header: bytes) -> bytes:
    """A file of nothing but a header."""
    return struct.pack("<Q", len(header)) + header


def test_bfloat16_as_safetensors_has_it() -> None:
    path = FOREIGN / "bfloat16.safetensors"
    w = torch.load(path)["w"]
    assert torch.equal(w, torch.tensor([1.0, -1 / 3, 1e30], dtype=torch.bfloat16))
    assert written({"w": w})[-6:] == path.read_bytes()[-6:]
    assert b'"dtype":"BF16"' in written({"w": w})
    assert torch.equal(loaded(written({"w": w, "x": torch.ones(1)}))["w"], w)


@pytest.mark.parametrize("kind", [str, Path])
def test_paths(kind: type, tmp_path: Path) -> None:
    path = kind(tmp_path / "a.pt")
    torch.save([1], path)
    torch.save([2], path)
    assert torch.load(path, map_location="cpu", weights_only=True, mmap=True) == [2]
    assert [p.name for p in tmp_path.iterdir()] == ["a.pt"]


def test_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "a.pt")
    torch.save(1, tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert torch.load(tmp_path / "a.pt") == 1


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="terminals are POSIX's")
def test_devices_are_not_replaced() -> None:
    """A terminal: no file can take its place, however wrong `save` is."""
    _, terminal = os.openpty()
    torch.save(1, os.ttyname(terminal))
    assert Path(os.ttyname(terminal)).is_char_device()


@pytest.mark.skipif(not Path("/proc/self/limits").exists(), reason="the file is Linux's")
def test_limited_reading_of_a_file_whose_size_is_unknown() -> None:
    path = Path("/proc/self/limits")
    assert path.stat().st_size == 0
    assert read_limited(path, 10**6) == path.read_bytes()
    with pytest.raises(OSError, match="has more than 100 bytes"):
        read_limited(path, 100)


def test_a_failed_write_leaves_what_was_there(tmp_path, monkeypatch) -> None:
    path = tmp_path / "a.pt"
    torch.save("first", path)

    def fail(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(OSError, match=r"No space .*a\.pt"):
            torch.save("second", path)
    with pytest.raises(pickle.PicklingError):
        torch.save(lambda: 1, path)
    assert torch.load(path) == "first"
    assert [p.name for p in tmp_path.iterdir()] == ["a.pt"]


def test_a_file_that_another_process_has_open_on_windows(tmp_path, monkeypatch) -> None:
    """It refuses to be replaced until the other one, such as a scanner, has read it."""
    path, replace, refusals = tmp_path / "a.pt", Path.replace, [PermissionError(13, "in use")] * 2

    def busy(fresh: Path, target: Path) -> Path:
        if refusals:
            raise refusals.pop()
        return replace(fresh, target)

    torch.save("first", path)
    monkeypatch.setattr(files, "RETRIES", (0, 0))
    monkeypatch.setattr(Path, "replace", busy)
    torch.save("second", path)
    refusals += [PermissionError(13, "in use")] * 3
    with pytest.raises(PermissionError, match=r"in use: .*a\.pt"):
        torch.save("third", path)
    assert torch.load(path) == "second"
    assert [p.name for p in tmp_path.iterdir()] == ["a.pt"]


def test_places_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"Parent directory .*no does not exist\."):
        torch.save(1, tmp_path / "no" / "a.pt")
    with pytest.raises(AttributeError, match="expected 'f' to be string, path, or a file-like"):
        torch.save(1, 3)
    with pytest.raises(FileNotFoundError):
        torch.load(tmp_path / "a.pt")
    with pytest.raises(AttributeError, match="'int' object has no attribute 'read'"):
        torch.load(3)
    with pytest.raises(TypeError, match="'rb'"):
        torch.load(io.StringIO("text"))


@pytest.mark.parametrize("where", ["cuda", torch.device("cuda:0"), {"cpu": "cuda:1"}])
def test_devices_that_are_not_there(where: object) -> None:
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device"):
        loaded(written(1), map_location=where)


@pytest.mark.parametrize(
    "where", [None, "cpu", torch.device("cpu"), {"cuda:0": "cpu"}, lambda storage, place: storage]
)
def test_the_cpu_by_any_name(where: object) -> None:
    assert loaded(written(1), map_location=where) == 1


def test_equal_objects_make_equal_files() -> None:
    assert len({written({"w": torch.ones(2), "n": 1}) for _ in range(20)}) == 1


def test_a_file_of_safetensors() -> None:
    state = torch.load(FOREIGN / "state.safetensors")
    assert {name: (t.dtype, tuple(t.shape)) for name, t in state.items()} == {
        "b": (torch.bool, (2,)), "f16": (torch.float16, (2,)), "f64": (torch.float64, (2, 3)),
        "i8": (torch.int8, (2, 1)), "scalar": (torch.int64, ()), "empty": (torch.float32, (0, 2)),
        "weight": (torch.float32, (2, 3)), "bias": (torch.float32, (2,)),
    }  # fmt: skip
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 2)
    assert torch.equal(model.weight, state["weight"])
    model.load_state_dict({name: state[name] for name in ("weight", "bias")})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            (FOREIGN / "script.pt").read_bytes(),
            "program of torch.jit, which",
        ),
        ((FOREIGN / "zip.pt").read_bytes()[:-100], "zip archive that is cut off"),
        (file_of(b'{"w":{"dtype":"F8_E5M2","shape":[0],"data_offsets":[0,0]}}'), "dtype F8_E5M2"),
        (b"\x80\x04K\x01.", "is a pickle that torch.save has not written"),
        (b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
        (b"<!DOCTYPE html>", "page of the web"),
        (b"epoch,loss\n1,0.5\n", "not a file of nanotorch or safetensors; it begins with b'epoch"),
        (b"abc", "not a file of nanotorch"),
        (struct.pack("<Q", 4) + b"{{{{", "header is damaged"),
        (struct.pack("<Q", 8) + b'{"a":[]}', "header is damaged"),
    ],
)
def test_files_of_others(data: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.pt").write_bytes(data)
    with pytest.raises(RuntimeError, match=rf"a\.pt.*{message}"):
        torch.load(tmp_path / "a.pt")


def test_an_empty_file() -> None:
    file = io.BytesIO()
    torch.save(1, file)
    with pytest.raises(EOFError, match=r"seek\(0\)"):
        torch.load(file)


def test_a_file_that_was_cut_off() -> None:
    data = written({"w": torch.arange(6.0), "t": torch.ones(2, 2).t()})
    for length in range(1, len(data)):
        with pytest.raises(RuntimeError, match=r"cut off|not a file of nanotorch"):
            loaded(data[:length])
    with pytest.raises(RuntimeError, match="damaged"):
        loaded(data + b"\0")


def test_a_file_that_was_changed() -> None:
    """Any byte: an error, or, where the description has lost its name, the plain tensors."""
    obj = {"w": torch.arange(6.0), "t": torch.ones(2, 2).t(), "n": [1, 2.5]}
    data = written(obj)
    unseen = 0
    for position in range(len(data)):
        changed = bytearray(data)
        changed[position] ^= 1
        try:
            found = loaded(bytes(changed))
        except RuntimeError:
            continue
        unseen += 1
        assert torch.equal(found["w"], obj["w"])
    assert unseen < 40  # padding, and the names of texts
