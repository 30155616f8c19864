"""A file of records with checksums, as TensorBoard reads it."""

import functools
import os
import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

POLYNOMIAL = 0x82F63B78
"""Castagnoli's, with the bits in reverse order."""
BLOCK = 512
"""How many bytes are looked up at once."""
MASK = 0xA282EAD8
"""Added to a checksum that is stored beside what it is of."""


class RecordFile:
    """Writes records to a new file: length, checksum of the length, data, checksum of the data."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb")

    def write(self, data: bytes) -> None:
        """Append a record."""
        self._file.write(b"".join((_head(len(data)), data, _checksum(data))))

    def flush(self) -> None:
        """Return when everything is on the disk."""
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        self._file.close()


@functools.lru_cache(1000)
def _head(length: int) -> bytes:
    """A length with its checksum: few are different."""
    head = struct.pack("<Q", length)
    return head + _checksum(head)


def _checksum(data: bytes) -> bytes:
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + MASK) & 0xFFFFFFFF)


def crc32c(data: bytes) -> int:
    """Return the cyclic redundancy check of RFC 3720, section 12.1.

    The check is linear: each byte contributes by its value and its distance from the end, and what
    was found of all blocks before is as if it were added to the next four bytes.
    """
    table, rows = _contributions()
    crc = 0xFFFFFFFF
    for start in range(0, len(data), BLOCK):
        count = min(BLOCK, len(data) - start)
        places = rows[-count:] + np.frombuffer(data, np.uint8, count, start)
        reached = min(count, 4)
        for index in range(reached):
            places[index] ^= crc >> 8 * index & 0xFF
        crc = int(np.bitwise_xor.reduce(table[places])) ^ crc >> 8 * reached
    return crc ^ 0xFFFFFFFF


@functools.cache
def _contributions() -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """What each value contributes at each place of a block, and where a place's row begins."""
    last = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        last = np.where(last & 1, last >> 1 ^ np.uint32(POLYNOMIAL), last >> 1)
    rows = [last]
    for _ in range(BLOCK - 1):  # one byte further from the end
        rows.append(last[rows[-1] & 0xFF] ^ rows[-1] >> 8)
    return np.concatenate(rows[::-1]), np.arange(0, 256 * BLOCK, 256, dtype=np.int64)
