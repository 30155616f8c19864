"""A configuration file, with the command line's overrides, into a checked configuration."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from .config import parse_yaml, read_config_text, with_overrides
from .problems import ConfigError, Origins, Place, Problem
from .reading import Reader
from .schema import Config
from .tree import Table


@dataclass(frozen=True)
class LoadedConfig:
    """A configuration, with where each of its values came from."""

    config: Config
    origins: Origins


def load_config(path: str | Path, overrides: Sequence[str] = ()) -> LoadedConfig:
    """Return the configuration in the file at `path`.

    Args:
        path: a YAML file.
        overrides: `key=value` each, as on the command line; they win over the file.

    Raises:
        ConfigError: if anything is wrong with it; says everything that is.
    """
    source, path = str(path), Path(path)
    text = read_config_text(path, source)
    start = Place(source=source, line=1, column=1, base=path.resolve().parent)
    tree = with_overrides(parse_yaml(text, start), overrides)
    if not isinstance(tree, Table):
        message = f"expected sections, such as 'model:' and 'train:', got {tree}"
        raise ConfigError([Problem(tree.place, "", message)])
    reader = Reader()
    config = reader.read(tree, Config, "")
    if reader.problems:
        raise ConfigError(sorted(reader.problems, key=position))
    if config.log.name is None:
        config = replace(config, log=replace(config.log, name=run_name(path.stem)))
    return LoadedConfig(config, Origins(reader.places))


def position(problem: Problem) -> tuple[bool, int, int]:
    """Return what orders problems as their places stand in the file, the command line last."""
    place = problem.place
    return (True, 0, 0) if place is None else (not place.line, place.line, place.column)


def run_name(stem: str) -> str:
    """Return a file's name as a name for its runs."""
    name = re.sub(r"[^A-Za-z0-9_.-]", "_", stem).lstrip(".-")[:100] or "run"
    return f"{name}_" if name == "latest.txt" else name
