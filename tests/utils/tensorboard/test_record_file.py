"""Files of records that TensorBoard accepts."""

from pathlib import Path

from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader

from nanotorch.utils.tensorboard.files import record


def test_tensorboard_reads_the_records(tmp_path: Path) -> None:
    path = tmp_path / "events.out.tfevents.1"
    records = [b"", b"a", bytes(range(256)) * 9]
    path.write_bytes(b"".join(map(record, records)))
    assert list(RawEventFileLoader(str(path)).Load()) == records
    damaged = bytearray(path.read_bytes())
    damaged[-10] ^= 1
    path.write_bytes(damaged)
    assert list(RawEventFileLoader(str(path)).Load()) == records[:2]  # it does check
