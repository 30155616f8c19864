"""Messages between a loader and its workers: pickles with large arrays beside them."""

import pickle
import socket
import struct
import weakref
from typing import Any

import numpy as np

# Smaller arrays are copied with the pickle: that costs less than another call of the system.
LARGE = 1 << 16
# The loaders' ends of all channels of this process. A forked worker closes its copies of them,
# lest the other workers never hear that this process is gone.
ends: "weakref.WeakSet[socket.socket]" = weakref.WeakSet()

Parts = list[Any]


def channel() -> tuple[socket.socket, socket.socket]:
    """A loader's end and a worker's end of a new channel."""
    own, other = socket.socketpair()
    ends.add(own)
    return own, other


def encode(message: Any) -> Parts:
    """A message as bytes: the sizes of its parts, the pickle, the large arrays."""
    large: Parts = []

    def inside(buffer: pickle.PickleBuffer) -> bool:
        raw = buffer.raw()
        if raw.nbytes < LARGE:
            return True
        large.append(raw)
        return False

    body = pickle.dumps(message, 5, buffer_callback=inside)
    sizes = [len(body), *(raw.nbytes for raw in large)]
    return [struct.pack(f"<{1 + len(sizes)}Q", len(sizes), *sizes) + body, *large]


def send(end: socket.socket, parts: Parts) -> None:
    """Send what `encode` gave.

    Raises:
        OSError: if nobody is at the other end.
    """
    for part in parts:
        end.sendall(part)


def receive(end: socket.socket) -> Any:
    """The next message.

    Raises:
        EOFError, OSError: if nobody is at the other end.
    """
    (count,) = struct.unpack("<Q", read(end, 8))
    first, *others = struct.unpack(f"<{count}Q", read(end, 8 * count))
    body = read(end, first)
    return pickle.loads(body, buffers=[read(end, size) for size in others])


def read(end: socket.socket, size: int) -> memoryview:
    """The next `size` bytes, in memory of their own."""
    content = memoryview(np.empty(size, np.uint8))  # type: ignore[arg-type]
    rest = content
    while rest:
        got = end.recv_into(rest)
        if not got:
            raise EOFError
        rest = rest[got:]
    return content
