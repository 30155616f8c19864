"""A configuration file, with the command line's overrides, into a checked configuration."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from .config import with_overrides
from .homes import homes
from .inherit import read_tree
from .problems import ConfigError, Origins, Place, Problem
from .reading import Reader
from .schema import Config
from .tree import Table, Tree
from .trials import refused, unreadable


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
    noted: list[Problem] = []
    written = read_tree(path, source, noted)
    tree = with_overrides(written, overrides, noted)
    if not isinstance(tree, Table):
        message = f"expected sections, such as 'model:' and 'train:', got {tree}"
        raise ConfigError([*noted, Problem(tree.place, "", message)])
    reader = Reader(homes)
    config = reader.read(tree, Config, "")
    if noted or reader.problems:
        origins = Origins(reader.places)
        blamed = () if noted else blamed_on_overrides(reader.problems, written, overrides)
        noted += [*reader.problems, *refused(reader.components, origins)]
        noted += unreadable(reader.files, origins)
        raise ConfigError([*sorted(noted, key=partial(position, source=source)), *blamed])
    if config.log.name is None:
        config = replace(config, log=replace(config.log, name=run_name(path.stem)))
    return LoadedConfig(config, Origins(reader.places))


def blamed_on_overrides(
    problems: Sequence[Problem], written: Tree, overrides: Sequence[str]
) -> Iterator[Problem]:
    """Yield who is to blame for problems in a file that is right as it stands."""
    if not overrides or not any(problem.place and problem.place.line for problem in problems):
        return
    reader = Reader()
    reader.read(written, Config, "")
    if not reader.problems:
        message = "the file alone is right; this makes the mistakes above"
        yield Problem(Place(source=f"command line: {' '.join(overrides)}"), "", message)


def position(problem: Problem, source: str) -> tuple[bool, bool, str, int, int]:
    """Return what orders problems as places stand in the file, then in those it inherits from.

    The command line comes last.
    """
    place = problem.place
    if place is None or not place.line:
        return True, True, "", 0, 0
    return False, place.source != source, place.source, place.line, place.column


def run_name(stem: str) -> str:
    """Return a file's name as a name for its runs."""
    name = re.sub(r"[^A-Za-z0-9_.-]", "_", stem).lstrip(".-")[:100] or "run"
    return f"{name}_" if name == "latest.txt" else name
