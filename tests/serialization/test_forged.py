"""Forged files: `load` refuses each in one way, and takes no more memory than the file has."""

import copy
import json
import os
import random
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest

import nanotorch as torch
from nanotorch.serialization import safetensors
from tests.serialization.test_files import attempted, loaded, written
from tests.several import places

ENTRY = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}
VALUES: list[Any] = [
    *(None, True, False, 0, 1, 2, 4, 8, -1, 64, 65, 2**31, 2**62, 2**63, 2**64, 10**30, 1.0, -0.5),
    *("", "a", "F32", "I64", "BF16", "é", "\ud800", "\0", "__metadata__", [], [0], {}, {"a": 1}),
    *([0, 2**62], [2**62, 0, 2**62], [1] * 1001, [0] * 65, [[1]], [0, 4], [4, 0], ["F32"], ENTRY),
]
NONSENSE = "the description of its contents makes no"
PIECES = [b"[" * 5000, b'"a":', b"9" * 5000, b"\xff", b"\0", b"NaN", b"{", b"}", b"]", b",", b'"']


def forged(header: Any, data: bytes = b"") -> bytes:
    """The bytes of a file with this header, an object for JSON or its text."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def parts(file: bytes) -> tuple[Any, bytes]:
    """The header of a file and what follows it."""
    start = 8 + int.from_bytes(file[:8], "little")
    return json.loads(file[8:start]), file[start:]


def described(file: bytes, *changes: tuple[str, str]) -> bytes:
    """A file with these changes in its description, and the checksum that it then needs."""
    header, data = parts(file)
    text = header["__metadata__"]["nanotorch"]
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    describe(header, text)
    return forged(header, data)


def describe(header: Any, text: str) -> None:
    """Put another description into a header, with the checksum that it needs."""
    checksum = str(zlib.crc32(text.encode(errors="replace")))
    header["__metadata__"] |= {"nanotorch": text, "nanotorch.crc32": checksum}


def test_a_file_that_grows_shorter_while_it_is_read(tmp_path, monkeypatch) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(
        forged({"a": ENTRY | {"shape": [2500], "data_offsets": [0, 10_000]}}, bytes(10_000))
    )

    def shortening(text: Any, **options: Any) -> Any:
        os.truncate(path, 9_000)
        return loads(text, **options)

    loads = json.loads
    monkeypatch.setattr(safetensors.json, "loads", shortening)
    with pytest.raises(RuntimeError, match=r"cut off: \d+ bytes are missing at its end"):
        torch.load(path)


@pytest.mark.parametrize(
    ("header", "size", "message"),
    [
        ({"a": ENTRY | {"shape": [0, 2**62], "data_offsets": [0, 0]}}, 0,
         "shape of .*'a'.*too big"),
        ({"a": ENTRY | {"shape": [1] * 1001}}, 4, "shape of .*'a'.*dimension"),
        ({"a": ENTRY | {"dtype": ["F32"]}}, 4, r"'a' has the dtype \['F32'\] of safetensors"),
        ({"a": ENTRY | {"dtype": None}}, 4, "'a' has the dtype None of safetensors"),
        (f'{{"a": {json.dumps(ENTRY)}, "a": {json.dumps(ENTRY)}}}', 4, "'a' occurs twice"),
        ({"a": ENTRY | {"shape": [-1]}}, 4, r"'a' cannot be byte 0 to 4 of F32 in shape \[-1\]"),
        ({"a": ENTRY | {"shape": [True]}}, 4, r"'a' cannot be .* in shape \[True\]"),
        ({"a": ENTRY | {"shape": {}}}, 4, "'a' cannot be byte 0 to 4 of F32 in shape {}"),
        ({"a": ENTRY | {"shape": [2]}}, 4, "'a' cannot be byte 0 to 4"),
        ({"a": ENTRY | {"data_offsets": [4, 8]}}, 8, "after byte 0: .*'a' cannot be byte 4 to 8"),
        ({"a": ENTRY, "b": ENTRY}, 4, "after byte 4: .*'b' cannot be byte 0 to 4"),
        ({"a": ENTRY}, 5, "1 bytes belong to no tensor"),
        ({"a": ENTRY}, 3, r"cut off: of \d+ bytes \d+ are there"),
        ({"a": [1]}, 0, "header is damaged .*: TypeError"),
        ({"a": {"dtype": "F32", "shape": []}}, 4, "damaged .*: KeyError: .*data_offsets"),
        ({"__metadata__": 3, "a": ENTRY}, 4, "its metadata are not strings"),
        ({"__metadata__": {"nanotorch": 3}}, 0, "its metadata are not strings"),
        ('{"a": ' + "[" * 100_000, 0, "header is damaged .maximum recursion depth"),
        ('{"a": ' + "9" * 5000 + "}", 0, "header is damaged .Exceeds the limit"),
    ],
)  # fmt: skip
def test_a_header_that_was_forged(header: Any, size: int, message: str) -> None:
    data = forged(header.encode() if isinstance(header, str) else header, b"\0" * size)
    with pytest.raises(RuntimeError, match=f"^the file.*{message}"):
        loaded(data)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"offset":0', f'"offset":{2**70}', NONSENSE),
        ('"offset":4,"strides":[4]', f'"offset":4,"strides":[{2**62}]', NONSENSE),
        ('{"tuple":[{"float":"0x1.4000000000000p+1"}]}', "{}", NONSENSE),
        ('"float":"0x1.4000000000000p+1"', '"float":"0x1p99999"', NONSENSE),
        ('"bytes":24', f'"bytes":{2**62}', NONSENSE),
        ('"bytes":24', f'"bytes":{2**30}', NONSENSE),
        ('"bytes":24', '"bytes":49', NONSENSE),
        ('{"bytes":"b"}', "[" * 5000 + "]" * 5000, NONSENSE),
        ('{"bytes":"b"}', '[{"bytes":"b"},{"bytes":"b"}]', NONSENSE),
        ('"tuple"', '"eval_"', "KeyError: 'eval_'"),
        ('"offset":0', '"offset":9', "ValueError"),
        ('"bytes":24', '"bytes":-1', "ValueError"),
        ('"format":1', '"format":3', "format 3 by a later version"),
        ('"crc32":{"w.0"', '"crc32":{"w.9"', "'w.9' is missing"),
    ],
)
def test_a_description_of_what_cannot_be(old: str, new: str, message: str) -> None:
    """Checksums are no secret: what a forger writes there leads to errors, to nothing else."""
    with pytest.raises(RuntimeError, match=f"^the file.*{message}"):
        loaded(described(OURS, (old, new)))


def test_views_with_gaps_of_an_earlier_version() -> None:
    """Its files had no gaps: they ask for more memory than they have bytes, as a forger's may."""
    file = described(OURS, ('"bytes":24', '"bytes":49'))
    with pytest.raises(RuntimeError, match="if you trust the file, load it with weights_only="):
        loaded(file)
    assert repr(loaded(file, weights_only=False)) == repr(loaded(OURS))


def test_a_file_without_end(tmp_path: Path) -> None:
    """Of a file with holes in place of a terabyte, nothing is read but its beginning."""
    path = tmp_path / "a.pt"
    for beginning in (b"", OURS, forged({"a": ENTRY}, b"1234")):
        path.write_bytes(beginning)
        os.truncate(path, 2**40)
        with pytest.raises(RuntimeError, match=r"a\.pt (is damaged|is not a file of nanotorch)"):
            torch.load(path)


def test_a_file_larger_than_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object) -> None:
        raise MemoryError

    monkeypatch.setattr("nanotorch.serialization.safetensors.read_arrays", full)
    with pytest.raises(RuntimeError, match="its 4 bytes do not fit into the memory"):
        loaded(forged({"a": ENTRY}, b"1234"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names are POSIX's")
def test_what_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    for name in ("pipe", "zero"):
        with pytest.raises(OSError, match=f"is a device or a pipe, not a file: .*{name}"):
            torch.load(tmp_path / name)
    with pytest.raises(IsADirectoryError):
        torch.load(tmp_path)


STATE = {"w": [torch.arange(6.0), torch.ones(2, 2).t()], "x": (2.5,), "b": b"1234", "n": {3, None}}
base = torch.arange(6.0)
OURS = written({"w": [base, base[1:]], "x": (2.5,), "b": b"1234"})
FILES = [OURS, written(STATE), written({"a": torch.zeros(0, 3), "b": torch.ones(3).bool()})]
FILES += [written(torch.nn.Sequential(torch.nn.Linear(1, 2), torch.nn.BatchNorm1d(2)))]
FILES += [forged({"a": ENTRY, "b": {**ENTRY, "dtype": "U8", "data_offsets": [4, 5]}}, b"12345")]


def changed(tree: Any, chance: random.Random) -> Any:
    """A tree in which one thing is another one, or missing, or there twice."""
    node, key = chance.choice(places(tree))
    what = chance.random()
    if what < 0.6:
        node[key] = copy.deepcopy(chance.choice(VALUES))
    elif what < 0.75:
        del node[key]
    elif isinstance(node, dict):
        node[chance.choice(["a", "b", "__metadata__", "shape", "tensor"])] = node.pop(key)
    else:
        node.insert(0, node[key])
    return tree


def forgery(chance: random.Random) -> bytes:
    """A file that somebody has had his fingers in."""
    header, data = parts(chance.choice(FILES))
    what = chance.random()
    if what < 0.5:
        text = json.dumps(changed(header, chance)).encode()
    elif what < 0.8 and "nanotorch" in header.get("__metadata__", {}):
        describe(
            header, json.dumps(changed(json.loads(header["__metadata__"]["nanotorch"]), chance))
        )
        text = json.dumps(header).encode()
    else:
        text = json.dumps(header).encode()
        place = chance.randrange(1, len(text) + 1)
        text = text[:place] + chance.choice(PIECES) + text[place + chance.randrange(3) :]
    length = len(text) if chance.random() < 0.9 else chance.choice([0, 1, len(text) - 1, 2**40])
    return struct.pack("<Q", length) + text + data


@pytest.mark.parametrize(
    ("seed", "files"),
    [(0, 300), *(pytest.param(seed, 1000, marks=pytest.mark.slow) for seed in range(1, 6))],
)
def test_forged_files_of_all_kinds(seed: int, files: int) -> None:
    chance, refused = random.Random(seed), 0
    for number in range(files):
        data = forgery(chance)
        refusal, most = attempted(data)
        refused += refusal is not None
        assert refusal is None or refusal.startswith("the file"), (number, data)
        assert len(refusal or "") < 1000, (number, data)
        assert most < 1_000_000 + 100 * len(data), (number, data)
    assert 0.5 < refused / files < 0.999
