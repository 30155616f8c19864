"""What a writer has in common with all it writes: its directory and files."""

import os
import socket
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from nanotorch._core.tensor import Tensor
from nanotorch.utils.tensorboard.events import EventFile
from nanotorch.utils.tensorboard.protos import protos

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike


class Output:
    """The files in a run's directory, and in those of runs below it."""

    def __init__(
        self,
        log_dir: str | os.PathLike[str] | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
    ) -> None:
        if not log_dir:
            now = datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")  # noqa: PTH118 - PyTorch's `log_dir` is a string
        self.log_dir = os.fspath(log_dir)
        self._flush_secs = flush_secs
        self._suffix = filename_suffix
        self._files: dict[str, EventFile] = {}
        self._scalar_tags: set[str] = set()
        file = self._file()
        if purge_step is not None:
            log = protos().SessionLog(status=protos().SessionLog.START)
            file.add(protos().Event(file_version="brain.Event:2"), purge_step)
            file.add(protos().Event(session_log=log), purge_step)

    def get_logdir(self) -> str:
        """Return the run's directory."""
        return self.log_dir

    def flush(self) -> None:
        """Return when everything added is on the disk."""
        for file in self._files.values():
            file.flush()

    def close(self) -> None:
        """Flush and close the files; adding afterwards opens new ones."""
        for file in self._files.values():
            file.close()
        self._files.clear()

    def __enter__(self) -> "Self":
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _file(self, subdirectory: str = "") -> EventFile:
        if subdirectory not in self._files:
            path = f"{self.log_dir}/{subdirectory}" if subdirectory else self.log_dir
            self._files[subdirectory] = EventFile(path, self._suffix, self._flush_secs)
        return self._files[subdirectory]

    def _add_summary(
        self, summary: Any, step: int | None, walltime: float | None, tag: str | None = None
    ) -> None:
        if tag is not None:  # tensorboardX replaces characters that TensorBoard shows well
            summary.value[0].tag = tag
        self._file().add(protos().Event(summary=summary), step, walltime)

    def _add_values(self, values: list[Any], step: int | None, walltime: float | None) -> None:
        self._add_summary(protos().Summary(value=values), step, walltime)


def array_of(value: "Tensor | ArrayLike") -> np.ndarray[Any, np.dtype[Any]]:
    """A tensor, or what NumPy takes for an array, as an array.

    tensorboardX takes any type with "torch" in its name for PyTorch's, nanotorch's included.
    """
    return value.detach().numpy() if isinstance(value, Tensor) else np.asarray(value)


def number_of(value: "Tensor | ArrayLike") -> float:
    """A number, or a tensor or an array of one element, as a number.

    Raises:
        ValueError: for more elements, or none.
    """
    array = array_of(value)
    if array.size != 1:
        raise ValueError(f"a scalar has one element, got shape {array.shape}")
    return float(array.item())


def metadata(plugin: str, content: bytes = b"") -> Any:
    """Which of TensorBoard's plugins a summary is for."""
    data = protos().SummaryMetadata.PluginData(plugin_name=plugin, content=content)
    return protos().SummaryMetadata(plugin_data=data)


def shape_proto(shape: tuple[int, ...]) -> Any:
    """The message for a shape."""
    p = protos()
    return p.TensorShapeProto(dim=[p.TensorShapeProto.Dim(size=int(size)) for size in shape])
