"""What is wrong with a configuration or its data, and where it was written."""

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

COMMAND_LINE = "command line: "
"""How the place of an override begins."""
LONGEST_QUOTE = 60
LONGEST_NAME = 300
MOST_PROBLEMS = 20
MOST_CHOICES = 100


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a value was written: a line and column of a file, or one argument of the command."""

    source: str
    """The file's name as the user gave it, or `command line: key=value`."""
    line: int = 0
    """Counted from 1; 0 where there are no lines."""
    column: int = 0
    """Counted from 1, in characters."""
    base: Path = Path()
    """The directory from which a relative path written here is meant."""

    def __str__(self) -> str:
        source = named(self.source)
        return f"{source}:{self.line}:{self.column}" if self.line else source

    def is_of(self, path: str) -> bool:
        """Return whether the value at `path`, or what it is in, may have been written here.

        An override says its own value, and not what else is in a section that it has begun.
        """
        key, equals, _ = self.source.removeprefix(COMMAND_LINE).partition("=")
        other = bool(equals) and self.source.startswith(COMMAND_LINE) and not self.line
        return not other or path == key or path.startswith((f"{key}.", f"{key}["))


@dataclass(frozen=True)
class Problem:
    """One mistake: where, in which value, and what is wrong with it."""

    place: Place | None
    path: str
    message: str

    def __str__(self) -> str:
        parts = [str(self.place)] if self.place else ["configuration"]
        # An override's place already spells the path, so that it is not said twice.
        if self.path and f": {self.path}=" not in parts[0]:
            parts.append(self.path)
        return ": ".join([*parts, self.message])


class ConfigError(Exception):
    """A configuration, or the data it names, cannot be used; says everything that is wrong."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        lines = [str(problem) for problem in self.problems[:MOST_PROBLEMS]]
        if len(self.problems) > MOST_PROBLEMS:
            lines.append(f"and {len(self.problems) - MOST_PROBLEMS} more problems")
        super().__init__("\n".join(lines))


class Origins:
    """Where each value of a configuration came from, by its path; empty for one made in Python."""

    def __init__(self, places: Mapping[str, Place] | None = None) -> None:
        self._places = dict(places or {})

    def __getitem__(self, path: str) -> Place | None:
        """Return where the value at `path` was written, None for a default."""
        return self._places.get(path)

    def nearest(self, path: str) -> Place | None:
        """Return the place of `path`, or of the innermost section around it that was written."""
        around = path
        while around:
            if around in self._places and self._places[around].is_of(path):
                return self._places[around]
            around = around[: max(around.rfind("."), around.rfind("["), 0)]
        return self._places.get("")

    def error(self, path: str, message: str) -> ConfigError:
        """Return the error that says `message` about the value at `path`."""
        return ConfigError([Problem(self.nearest(path), path, message)])


def quoted(value: object) -> str:
    """Return `repr(value)`, cut short; control characters cannot reach the terminal."""
    # Cutting first keeps a megabyte from being escaped for sixty characters of it.
    text = repr(value[: 2 * LONGEST_QUOTE] if isinstance(value, str) else value)
    return text if len(text) <= LONGEST_QUOTE else text[: LONGEST_QUOTE - 3] + "..."


def named(name: str) -> str:
    """Return the name of a file for a message: on one line, and not longer than a few."""
    shown = name if name.isprintable() else repr(name)
    half = LONGEST_NAME // 2
    return shown if len(shown) <= LONGEST_NAME else f"{shown[:half]}...{shown[-half:]}"


def closest(word: str, known: Iterable[str], likeness: float = 0.6) -> str | None:
    """Return what `word` is most likely meant to be, None if nothing is close.

    Args:
        word: what was written.
        known: what could have been.
        likeness: how alike they must be, from 0 to 1 for all but the case of letters.
    """
    by_lower_case = {choice.lower(): choice for choice in known}
    close = difflib.get_close_matches(word.lower(), by_lower_case, n=1, cutoff=likeness)
    return by_lower_case[close[0]] if close else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean 'x'?` where something known is close, else what is known."""
    choices = list(known)
    if meant := closest(word, choices):
        return f"; did you mean '{meant}'?"
    shown = ", ".join(choices[:MOST_CHOICES])
    more = f" and {len(choices) - MOST_CHOICES} more" if len(choices) > MOST_CHOICES else ""
    return f"; known here: {shown}{more}" if choices else ""
