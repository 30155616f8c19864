"""PyTorch's own files: read to the bit, written to the byte, and nothing in them is executed."""

import io
import json
import pickle
import sys
import zipfile
from collections import defaultdict, namedtuple
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nanotorch as torch
from nanotorch import nn
from nanotorch.nn import functional as F
from nanotorch.serialization import get_unsafe_globals_in_checkpoint, safe_globals
from tests.serialization.objects import OBJECTS, described
from tests.serialization.test_files import loaded, written

with zipfile.ZipFile(Path(__file__).parents[1] / "golden" / "ptfiles.zip") as _files:
    FILES = {name: _files.read(name) for name in _files.namelist()}
RECORDED = sorted(name.removesuffix(".pt") for name in FILES if name.endswith(".pt"))


class Color(Enum):
    """An enumeration of a program."""

    RED = 1


class Options:
    """An object of a program."""

    def __init__(self) -> None:
        raise AssertionError("a file must not call it")


class Closing:
    """An object whose last act would depend on the file."""

    def __del__(self) -> None:
        raise AssertionError("a file must not make it")


class Restored:
    """An object that its own code puts together."""

    def __setstate__(self, state: Any) -> None:
        self.state = state


class Marked(torch.Tensor):
    """A kind of tensor of a program."""


Point = namedtuple("Point", "x y")


def archived(obj: object) -> bytes:
    return written(obj, "x.pt")


def members(archive: bytes) -> dict[str, bytes]:
    """The contents of an archive, but for the number that depends on PyTorch's hashes."""
    with zipfile.ZipFile(io.BytesIO(archive)) as file:
        return {n: file.read(n) for n in file.namelist() if not n.endswith("serialization_id")}


def forged(pickled: bytes, **files: bytes) -> bytes:
    """An archive with this pickle."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", pickled)
        for name, data in files.items():
            archive.writestr(f"archive/data/{name}", data)
    return file.getvalue()


def test_there_are_files_of_two_versions_in_both_formats() -> None:
    assert len(RECORDED) == 60


@pytest.mark.parametrize("name", RECORDED)
def test_files_of_pytorch_are_read_to_the_bit(name: str) -> None:
    found = loaded(FILES[f"{name}.pt"])
    assert json.loads(json.dumps(described(torch, found))) == json.loads(FILES[f"{name}.json"])


@pytest.mark.parametrize("name", OBJECTS)
def test_files_are_those_of_pytorch_byte_for_byte(name: str) -> None:
    """So PyTorch reads them. The numbers of trained models differ in their last bits."""
    if name == "containers" and sys.version_info >= (3, 12):
        pytest.skip("the files are of Python 3.11; later ones share texts of one character")
    theirs = FILES[f"2.14.1/zip/{name}.pt"]
    trained = name in ("adam", "sgd")
    obj = loaded(theirs) if trained else OBJECTS[name](torch)
    ours = archived(obj)
    assert len(ours) == len(theirs)
    assert members(ours) == members(theirs)
    assert ours == archived(loaded(theirs) if trained else OBJECTS[name](torch))


def test_the_bytes_of_the_archive_itself() -> None:
    ours, theirs = archived(OBJECTS["tensor"](torch)), FILES["2.14.1/zip/tensor.pt"]
    start = theirs.index(b"serialization_id")
    assert ours[:start] == theirs[:start]
    assert ours[-22:] == theirs[-22:]


def test_every_tensor_begins_at_a_multiple_of_64() -> None:
    data = archived([torch.full((n,), 7, dtype=torch.uint8) for n in range(1, 70)])
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        for member in file.infolist():
            sizes = data[member.header_offset + 26 : member.header_offset + 30]
            start = member.header_offset + 30 + sum(np.frombuffer(sizes, "<u2").tolist())
            assert start % 64 == 0
            assert data[start : start + member.file_size] == file.read(member)


def test_the_name_decides_the_format(tmp_path: Path) -> None:
    for name, beginning in (("a.pt", b"PK"), ("a", b"PK"), ("a.safetensors", b"{")):
        torch.save({"w": torch.ones(2)}, tmp_path / name)
        assert beginning in (tmp_path / name).read_bytes()[:9]
        assert torch.equal(torch.load(tmp_path / name)["w"], torch.ones(2))
    with (tmp_path / "b.pt").open("wb") as file:
        torch.save(1, file)
    assert zipfile.ZipFile(tmp_path / "b.pt").namelist()[0] == "archive/data.pkl"
    assert zipfile.ZipFile(tmp_path / "a.pt").namelist()[0] == "a/data.pkl"


def test_files_of_before_are_read_under_any_name(tmp_path: Path) -> None:
    state = nn.Linear(2, 2).state_dict()
    (tmp_path / "a.pt").write_bytes(written({"state": state, "n": 1}))
    assert torch.equal(torch.load(tmp_path / "a.pt")["state"]["weight"], state["weight"])


def test_values_beyond_those_of_weights_only() -> None:
    obj = {
        "set": frozenset({(1, "a")}), "number": np.float64(0.1), "none": b"",
        "state": np.random.RandomState(1).get_state(), "big": np.arange(3, dtype=">i4"),
    }  # fmt: skip
    found = loaded(archived(obj), weights_only=True)
    assert (found["set"], found["number"], found["none"]) == (obj["set"], obj["number"], b"")
    assert type(found["number"]) is np.float64
    assert found["big"].tolist() == [0, 1, 2]
    assert np.array_equal(found["state"][1], obj["state"][1])


def test_memory_in_two_dtypes_is_stored_once() -> None:
    x = torch.arange(4, dtype=torch.int32)
    a, b = loaded(archived([x, x.view(torch.float32)]))
    a.zero_()
    assert b.tolist() == [0.0] * 4


@pytest.mark.parametrize("where", ["cuda", torch.device("cuda:0"), {"cpu": "cuda:1"}])
def test_devices_that_are_not_there(where: object) -> None:
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device"):
        loaded(archived(torch.ones(1)), map_location=where)


def test_tensors_of_other_devices() -> None:
    data = archived(torch.ones(2))
    for there, message in (("cuda:0", "on a CUDA device but"), ("xla:1", "tagged with xla:1")):
        pickled = members(data)["archive/data.pkl"]
        place = b"X\x03\x00\x00\x00cpu"
        moved = pickled.replace(place, b"X%c\x00\x00\x00%b" % (len(there), there.encode()))
        file = forged(moved, **{"0": torch.ones(2).numpy().tobytes()})
        with pytest.raises(RuntimeError, match=message):
            loaded(file)
        seen: list[Any] = []
        for where in ("cpu", {there: "cpu"}, lambda s, p: seen.append((len(s), p)) or s):
            assert loaded(file, map_location=where).tolist() == [1.0, 1.0]
        assert seen == [(8, there)]
        with pytest.raises(RuntimeError, match=message):
            loaded(file, map_location=lambda storage, place: None)


def test_memory_that_is_mapped(tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    torch.save({"w": torch.arange(5.0), "h": torch.ones(2).bfloat16()}, path)
    found = torch.load(path, mmap=True)
    found["w"].add_(1)
    assert found["w"].tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert found["h"].tolist() == [1.0, 1.0]
    assert torch.load(path)["w"].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    with pytest.raises(ValueError, match="f must be a file path in order to use the mmap"):
        loaded(path.read_bytes(), mmap=True)
    path.write_bytes(FILES["2.14.1/old/state.pt"])
    with pytest.raises(RuntimeError, match="mmap can only be used with files saved with"):
        torch.load(path, mmap=True)


def test_layers_need_no_leave_and_other_classes_do() -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.LSTM(3, 2), nn.GELU())
    model.act = F.relu
    found = loaded(archived(model), weights_only=True)
    assert repr(found) == repr(model)
    assert found.act is F.relu
    x = torch.ones(2, 2)
    assert torch.equal(found.eval()[:2](x), model.eval()[:2](x))
    assert b"ctorch.nn.modules.linear\nLinear\n" in members(archived(model))["archive/data.pkl"]
    options = object.__new__(Options)
    options.width = 3  # type: ignore[attr-defined]
    name = f"{__name__}.Options"
    data = archived({"o": options})
    assert get_unsafe_globals_in_checkpoint(io.BytesIO(data)) == [name]
    with pytest.raises(pickle.UnpicklingError, match=rf"add_safe_globals\(\[{name}\]\)"):
        loaded(data)
    with safe_globals([Options]):
        assert loaded(data)["o"].width == 3
    assert loaded(data, weights_only=False)["o"].width == 3


@pytest.mark.parametrize(
    ("obj", "allowed"),
    [
        (Color.RED, [Color]), (Point(1, 2), [Point]), (defaultdict(list, {1: [2]}), []),
        (Path("a/b"), [type(Path()), "call"]), (Restored(), [Restored, "call"]),
        (torch.ones(2).as_subclass(Marked), [Marked]), ({"f": F.relu, "log": torch.log}, []),
    ],
)  # fmt: skip
def test_objects_of_a_program(obj: Any, allowed: list[Any]) -> None:
    """Those that only their own code can make need leave even with weights_only=False."""
    if isinstance(obj, Restored):
        obj.state = {"state": 1}
    data = archived(obj)
    with safe_globals(allowed[:1]):
        found = loaded(data)
    assert type(found) is type(obj)
    assert repr(found) == repr(obj) or isinstance(obj, Restored)
    if allowed:
        with pytest.raises(pickle.UnpicklingError, match="add_safe_globals"):
            loaded(data)
    if "call" in allowed:
        with pytest.raises(pickle.UnpicklingError, match="the file runs code of"):
            loaded(data, weights_only=False)
    else:
        assert type(loaded(data, weights_only=False)) is type(obj)


def test_an_optimizer_is_saved_by_its_state() -> None:
    with pytest.raises(TypeError, match=r"a whole SGD is code.*state_dict"):
        archived({"o": torch.optim.SGD(nn.Linear(1, 1).parameters())})


def test_an_old_file_with_views_of_a_memory() -> None:
    """As PyTorch 0.3 wrote them: a tensor of all numbers in a part of its memory."""
    data = FILES["2.14.1/old/tensor.pt"]
    view = b"(X\x04\x00\x00\x00partK\x02K\x03t"
    places = b"K\x00K\x02K\x05\x86", b"K\x05K\x01\x86"
    assert data.count(b"K\nNt") == data.count(places[0]) == data.count(places[1]) == 1
    data = data.replace(b"K\nNt", b"K\n" + view + b"t")
    data = data.replace(places[0], b"K\x00K\x03\x85").replace(places[1], b"K\x01\x85")
    assert loaded(data).tolist() == [2, 3, 4]


def run(*code: bytes) -> bytes:
    """A pickle of instructions."""
    return b"\x80\x02" + b"".join(code) + b"."


ORDERED = b"ccollections\nOrderedDict\n"
STORAGE = b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpu"
V2 = b"ctorch._utils\n_rebuild_tensor_v2\n("
AFTER = b"\x89" + ORDERED + b")RtR"
DEEP = b")" + b"\x85" * 2000


@pytest.mark.parametrize(
    ("pickled", "message"),
    [
        (run(b"cos\nsystem\nX\x02\x00\x00\x00ls\x85R"), "os.system, whose module is blocked"),
        (run(b"cbuiltins\neval\nX\x01\x00\x00\x001\x85R"), "builtins.eval, which was not an allow"),
        (run(b"c__builtin__\ngetattr\n"), "builtins.getattr, which was not an allowed"),
        (run(b"cnanotorch.hub\nos.system\n"), "which was not an allowed"),
        (run(b"ctorch._utils\n_rebuild_sparse_tensor\n"), "which was not an allowed"),
        (run(b"ctorch.nn.functional\nrelu\n)R"), "the file runs code of nanotorch"),
        (run(b"]q\x00h\x00\x85R"), "the file calls list"),
        (run(b"ctorch\nfloat32\n)R"), "the file calls dtype"),
        (run(b"]}b"), "the file changes list"),
        (run(b"]K\x01K\x02s"), "the file adds to list"),
        (run(b"}K\x01a"), "the file adds to dict"),
        (run(b"i"), "Unsupported operand 105"),
        (run(b"B\xff\xff\xff\x7f"), "cut off"),
        (run(b"r\xff\xff\xff\xff"), "IndexError"),
        (run(b"}", DEEP, b"K\x01s"), "more than 100 tuples in one another"),
        (run(b"](", b")q\x00", b"h\x00h\x00\x86q\x00" * 60, b"e}h\x00K\x01s"),
         "a key of more than 1000"),
        (run(b"](](", b"K\x01" * 500, b"eq\x00", b"c__builtin__\nset\nh\x00\x85R" * 50, b"e"),
         "repeats its contents more often"),
        (run(b"c__builtin__\nbytearray\nJ\xff\xff\xff\x7f\x85R"), "TypeError"),
        (run(b"c_codecs\nencode\nX\x01\x00\x00\x00aX\x03\x00\x00\x00zip\x86R"), "another encod"),
        (run(b"ctorch\nSize\nK\x09\x85R"), "TypeError"),
        (run(V2, STORAGE, b"K\x02tQK\x00K\x03\x85K\x01\x85", AFTER), "in a memory of 2 elements"),
        (run(V2, STORAGE, b"K\x02tQK\x01K\x02\x85K\x01\x85", AFTER), "in a memory of 2 elements"),
        (run(V2, STORAGE, b"K\x02tQK\x00K\x02\x85J\xff\xff\xff\xff\x85", AFTER), "stride"),
        (run(V2, STORAGE, b"K\x02tQK\x00K\x02\x85)", AFTER), "ValueError: zip"),
        (run(V2, STORAGE, b"K\x03tQK\x00K\x02\x85K\x01\x85", AFTER), "has 8 bytes in place of 12"),
        (run(V2, STORAGE.replace(b"Float", b"ComplexFloat"), b"K\x01tQK\x00)))", AFTER),
         "ComplexFloatStorage"),
        (run(V2, b"K\x01K\x00)", b")", AFTER), "TypeError"),
        (run(STORAGE, b"K\x02tQ" * 2)[:-3] + b"\x85Q.", "damaged"),
    ],
)  # fmt: skip
def test_a_forged_pickle(pickled: bytes, message: str) -> None:
    file = forged(pickled, **{"0": bytes(8)})
    cases: list[dict[str, Any]] = [{}, {"weights_only": False}]
    for options in cases:
        if options and "not an allow" in message:
            continue  # what is merely named is not called
        with pytest.raises((pickle.UnpicklingError, RuntimeError), match=message):
            loaded(file, **options)


def test_with_weights_only_false_code_is_named_but_not_run() -> None:
    file = forged(run(b"cbuiltins\neval\nX\x01\x00\x00\x001\x85R"))
    with pytest.raises(pickle.UnpicklingError, match="the file runs code of builtins"):
        loaded(file, weights_only=False)


def test_a_class_with_a_last_act_needs_leave_even_with_weights_only_false() -> None:
    file = forged(run(b"c%b\nClosing\n)\x81" % __name__.encode()))
    with pytest.raises(pickle.UnpicklingError, match=r"add_safe_globals\(\[.*Closing\]\)"):
        loaded(file, weights_only=False)


LAUGHS = b"](" + b"]q\x00" + b"](h\x00h\x00eq\x00" * 70  # the text of the last has 2^70 parts
PAIRS = b"](" + b")q\x00" + b"(h\x00h\x00\x86\x91q\x00" * 70  # sets that compare as slowly


@pytest.mark.parametrize(
    "code",
    [
        b"(h\x00K\x01tQ", b"c_codecs\nencode\nX\x01\x00\x00\x00ah\x00\x86R",
        V2 + STORAGE + b"K\x02tQK\x00h\x00h\x00" + AFTER, b"ctorch\ndevice\nh\x00\x85R",
        b"ctorch\nSize\nh\x00\x85R", b"ctorch.serialization\n_get_layout\nh\x00\x85R",
        V2 + STORAGE + b"K\x02tQK\x00))\x89Nh\x00tR", b"cnumpy\ndtype\nh\x00\x85R",
        b"cnumpy\ndtype\nX\x02\x00\x00\x00f4\x85R(K\x03X\x01\x00\x00\x00<NNNh\x00h\x00h\x00tb",
        b"cnumpy._core.multiarray\n_reconstruct\n)R(K\x01h\x00h\x00h\x00h\x00tb", b"}h\x00N" + b"s",
        b"ctorch._utils\n_rebuild_parameter\n(h\x00h\x00h\x00tR", b"h\x00)R", b"h\x00Nb",
        b"ccollections\nCounter\nh\x00\x85R", b"c__builtin__\ncomplex\nh\x00\x85R",
    ],
)  # fmt: skip
def test_no_message_tells_what_is_longer_than_the_file(code: bytes) -> None:
    for start in (LAUGHS, PAIRS):
        with pytest.raises((RuntimeError, pickle.UnpicklingError), match="the file"):
            loaded(forged(run(start + code), **{"0": bytes(8)}), weights_only=False)


def test_a_forged_archive(tmp_path: Path) -> None:
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", run(b"]" * 10**6))
    good = archived({"a": torch.arange(4.0), "b": torch.arange(8.0)})
    at = {n.filename: n.header_offset for n in zipfile.ZipFile(io.BytesIO(good)).infolist()}
    first, second = at["archive/data/0"], at["archive/data/1"]
    there = good.rindex(b"archive/data/1") - 4
    assert good[there : there + 4] == second.to_bytes(4, "little")
    overlapping = good[:there] + first.to_bytes(4, "little") + good[there + 4 :]
    changed = bytearray(good)
    changed[good.index(np.arange(4.0, dtype="f4").tobytes()) + 5] ^= 1
    for data, message in (
        (inner.getvalue(), "'archive/data.pkl' is compressed or encrypted"),
        (overlapping, "lies in another member"),
        (bytes(changed), "'data/0' was changed after saving"),
        (good[:-100], "is a zip archive that is cut off"),
    ):
        (tmp_path / "a.pt").write_bytes(data)
        with pytest.raises(RuntimeError, match=rf"a\.pt.*{message}"):
            torch.load(tmp_path / "a.pt")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["e/models/model.json", "e/archive_format"], "is a program of torch.export, which"),
        (["p/.data/extern_modules", "p/m/data.pkl"], "is an archive of torch.package, which"),
        (["s/code/x.py", "s/constants.pkl", "s/data.pkl"], "is a program of torch.jit, which"),
        (["a.txt"], "is a zip archive of an unknown kind"),
    ],
)
def test_programs_in_archives(names: list[str], message: str) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in names:
            archive.writestr(name, b"")
    with pytest.raises(RuntimeError, match=message):
        loaded(file.getvalue())
    with pytest.raises(ValueError, match="Expected input to be a checkpoint returned by"):
        get_unsafe_globals_in_checkpoint(io.BytesIO(file.getvalue()))


def test_a_pickler_and_weights_only_exclude_each_other() -> None:
    with pytest.raises(RuntimeError, match="Can not safely load weights when explicit pickle_mod"):
        loaded(FILES["2.14.1/zip/state.pt"], weights_only=True, pickle_module=pickle)
