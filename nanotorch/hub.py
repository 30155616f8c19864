"""`torch.hub`: the directory of downloaded weights. nanotorch itself downloads nothing."""

import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from nanotorch.names.lookup import on_demand
from nanotorch.serialization import load as _load

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")  # the checksum in a file's name


def _get_torch_home() -> str:
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return str(Path(os.environ.get("TORCH_HOME") or f"{cache}/torch").expanduser())


def get_dir() -> str:
    """The directory of downloaded files: ``$TORCH_HOME/hub``."""
    return str(Path(_get_torch_home()) / "hub")


def load_state_dict_from_url(
    url: str, model_dir: str | None = None, map_location: Any = None, progress: bool = True,
    check_hash: bool = False, file_name: str | None = None, weights_only: bool = False,
) -> Any:  # fmt: skip
    """The weights in a file that was downloaded from ``url`` before.

    Args:
        url: the address of the file, which is not read.
        model_dir: the directory of the file. Default: ``checkpoints`` in `get_dir`.
        file_name: the name of the file. Default: the last part of ``url``.
        map_location, weights_only: see `nanotorch.load`.
        progress, check_hash: accepted for PyTorch's sake.

    Raises:
        FileNotFoundError: if the file does not exist.
    """
    name = file_name or Path(urlparse(url).path).name
    path = Path(model_dir or f"{get_dir()}/checkpoints") / name
    if not path.exists():
        raise FileNotFoundError(
            f"nanotorch downloads nothing, and there is no {path}. Make the model without weights, "
            f"or put them there, from {url}"
        )
    return _load(path, map_location, weights_only=weights_only)


on_demand(__name__)
