"""Checksums as the standard has them, and files that TensorBoard accepts."""

from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader

from nanotorch.utils.tensorboard.files import BLOCK, crc32c, record


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        # RFC 3720, B.4, and the usual check value.
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (bytes(range(31, -1, -1)), 0x113FDB5C),
        (b"123456789", 0xE3069283),
        (b"", 0),
    ],
)
def test_checks_of_the_standard(data: bytes, expected: int) -> None:
    assert crc32c(data) == expected


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, BLOCK - 1, BLOCK, BLOCK + 3, 3 * BLOCK + 4])
def test_all_lengths_bit_by_bit(length: int) -> None:
    data = bytes(7 * i * i % 256 for i in range(length))
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ 0x82F63B78 * (crc & 1)
    assert crc32c(data) == crc ^ 0xFFFFFFFF


def test_tensorboard_reads_the_records(tmp_path: Path) -> None:
    path = tmp_path / "events.out.tfevents.1"
    records = [b"", b"a", bytes(range(256)) * 9]
    path.write_bytes(b"".join(map(record, records)))
    assert list(RawEventFileLoader(str(path)).Load()) == records
    damaged = bytearray(path.read_bytes())
    damaged[-10] ^= 1
    path.write_bytes(damaged)
    assert list(RawEventFileLoader(str(path)).Load()) == records[:2]  # it does check
