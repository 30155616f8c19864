"""Forged files of PyTorch: each is refused in one way or harmless, and takes little memory."""

import io
import os
import random
import struct
import subprocess
import sys
import tracemalloc
import zipfile
from typing import Any

import pytest

import nanotorch as torch
from nanotorch import nn
from tests.serialization.objects import OBJECTS
from tests.serialization.test_files import attempted, loaded, written
from tests.serialization.test_pytorch import FILES, forged, members

NAMES = [
    *("os system", "builtins eval", "builtins exec", "builtins getattr", "posix system"),
    *("nanotorch.hub load_state_dict_from_url", "subprocess Popen", "importlib import_module"),
    *("torch load", "torch save", "torch.nn.modules.linear Linear", "torch.nn.functional relu"),
    *("collections OrderedDict", "collections Counter", "collections defaultdict", "torch Size"),
    *("torch._utils _rebuild_tensor_v2", "torch._utils _rebuild_tensor_v3", "torch float32"),
    *("torch._utils _rebuild_parameter", "torch._tensor _rebuild_from_type_v2", "torch Tensor"),
    *("numpy._core.multiarray _reconstruct", "numpy dtype", "numpy ndarray", "torch device"),
    *("_codecs encode", "__builtin__ bytearray", "__builtin__ set", "__builtin__ list"),
    *("torch FloatStorage", "torch BFloat16Storage", "torch.storage UntypedStorage"),
]
PIECES = [
    *(b"c%b\n" % name.replace(" ", "\n").encode() for name in NAMES),
    *(bytes([code]) for code in range(256)),
    *(b"R", b"b", b"\x81", b"Q", b")", b"]", b"}", b"(", b"t", b"u", b"e", b"s", b"a", b"0", b"2"),
    *(b"\x85", b"\x86", b"\x87", b"h\x00", b"q\x00", b"h\x07", b"N", b"K\x00", b"K\x03", b"\x8f"),
    *(b"J\xff\xff\xff\xff", b"J\xff\xff\xff\x7f", b"\x8a\x08" + b"\xff" * 7 + b"\x7f"),
    *(b"\x8b\xff\xff\xff\x7f", b"X\xff\xff\xff\xff", b"\x8d" + b"\xff" * 7 + b"\x7f"),
    *(b"r\xff\xff\xff\x7f", b"j\xff\xff\xff\x7f", b")" + b"\x85" * 200),
    b"h\x00h\x00\x86q\x00" * 40,
    *(b"X\x01\x00\x00\x00a", b"X\x02\x00\x00\x00f4", b"X\x03\x00\x00\x00cpu", b"G" + b"\x7f" * 8),
]  # fmt: skip
MODELS = [nn.Sequential(nn.Linear(1, 2), nn.BatchNorm1d(2)), {"a": nn.LSTM(1, 1)}]
ARCHIVES = [FILES[f"2.14.1/zip/{name}.pt"] for name in OBJECTS if name != "many"]
ARCHIVES += [written(model, "x.pt") for model in MODELS]
OLD = [FILES[f"2.14.1/old/{name}.pt"] for name in OBJECTS if name != "many"]
EDGES = (0, 1, 2, 63, 255, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1)


def changed(data: bytes, chance: random.Random) -> bytes:
    """Bytes of which some are others, missing, or there twice; or with a piece of a pickle."""
    for _ in range(chance.choice([1, 1, 2, 5])):
        place, what = chance.randrange(len(data) + 1), chance.random()
        size = chance.choice([0, 1, 1, 2, 4, 9, 30])
        if what < 0.5:
            piece = chance.choice(PIECES)
        elif what < 0.7:
            start = chance.randrange(len(data) + 1)
            piece = data[start : start + chance.choice([1, 2, 5, 50])]
        elif what < 0.85:
            piece, size = struct.pack("<I", chance.choice(EDGES)), 4
        else:
            piece = b""
        data = data[:place] + piece + data[place + size :]
    return data


def forgery(chance: random.Random) -> bytes:
    """An archive, or an old file, that somebody has changed."""
    what = chance.random()
    if what < 0.2:
        return changed(chance.choice(OLD), chance)
    archive = chance.choice(ARCHIVES)
    if what < 0.4:
        return changed(archive, chance)
    parts = members(archive)
    pickled = parts.pop("archive/data.pkl")
    if what < 0.5:
        pickled = b"\x80\x02" + b"".join(chance.choices(PIECES, k=chance.randrange(1, 40))) + b"."
    else:
        pickled = changed(pickled, chance)
    data = {n.rpartition("data/")[2]: b for n, b in parts.items() if "/data/" in n}
    file = forged(pickled, **data)
    return changed(file, chance) if chance.random() < 0.05 else file


FILES_OF_CAMPAIGN = int(os.environ.get("NANOTORCH_FORGED_FILES", "5000"))


@pytest.mark.parametrize(
    ("seed", "files"),
    [(0, 500), pytest.param(1, FILES_OF_CAMPAIGN, marks=pytest.mark.slow)],
)
def test_forged_files_of_all_kinds(seed: int, files: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any, **options: Any) -> None:
        raise SystemError("executed")

    for place, name in ((os, "system"), (subprocess, "Popen"), (torch.hub, "_load")):
        monkeypatch.setattr(place, name, refuse)
    chance, refused = random.Random(seed), 0
    for number in range(files):
        data, trusting = forgery(chance), chance.random() < 0.3
        before = set(sys.modules)
        refusal, most = attempted(data, EOFError, weights_only=False if trusting else None)
        refused += refusal is not None
        known = "the file", "Attempting to deserialize", "don't know how"
        assert refusal is None or refusal.startswith(known), (number, refusal, data)
        assert len(refusal or "") < 1000, (number, data)
        assert most < 1_000_000 + 20 * len(data), (number, most, data)
        foreign = [name for name in set(sys.modules) - before if not name.startswith("nanotorch")]
        assert foreign == [], (number, data)
    assert 0.5 < refused / files < 0.99


def test_large_memories_of_a_small_file() -> None:
    """What a file holds is in memory twice at most, what it claims to hold is not."""
    obj = {"w": torch.zeros(1_000_000), "b": torch.zeros(250_000, dtype=torch.uint8)}
    data = written(obj, "x.pt")
    tracemalloc.start()
    loaded(data)
    assert tracemalloc.get_traced_memory()[1] < 2 * len(data) + 300_000
    pickled = members(data)["archive/data.pkl"]
    count = pickled.index(struct.pack("<I", 1_000_000)[:3])
    claims = pickled[: count - 1] + b"J\xff\xff\xff\x7f" + pickled[count + 4 :]
    for old in (False, True):
        tracemalloc.reset_peak()
        start = FILES["2.14.1/old/state.pt"].index(b"\x80\x02ccollections")
        file = FILES["2.14.1/old/state.pt"][:start] + claims if old else forged(claims)
        with pytest.raises(RuntimeError, match="the file"):
            loaded(file)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000 + 2 * len(data)
    tracemalloc.stop()


def test_two_pickles_in_one_archive() -> None:
    with zipfile.ZipFile(file := io.BytesIO(), "w") as archive:
        archive.writestr("archive/data.pkl", b"N.")
        archive.writestr("other/data.pkl", b"N.")
    with pytest.raises(RuntimeError, match=r"2 of its members are named data\.pkl"):
        loaded(file.getvalue())
