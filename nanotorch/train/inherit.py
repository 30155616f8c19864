"""`inherit: base.yaml`: a configuration that says only what differs from another one."""

from dataclasses import replace
from pathlib import Path

from nanotorch.serialization.files import opened

from .config import parse_yaml, read_config_text
from .csv_file import shown_path
from .problems import ConfigError, Place, Problem, quoted
from .tree import Entry, Items, Scalar, Table, Tree

KEY = "inherit"
DEEPEST = 10


def read_tree(
    path: Path,
    source: str,
    noted: list[Problem],
    within: tuple[Path, ...] = (),
    known: dict[Path, Tree] | None = None,
) -> Tree:
    """Return the tree of a file, on top of those it inherits from.

    Args:
        path: the file.
        source: its name, for messages.
        noted: takes what is wrong with the files but leaves a tree.
        within: the files that inherit from this one.
        known: takes the trees of those it inherits from: however many do, each is read once.

    Raises:
        ConfigError: if one of the files cannot be read, or inherits from itself.
    """
    text = read_config_text(path, source)
    start = Place(source=source, line=1, column=1, base=path.resolve().parent)
    tree = parse_yaml(text, start, noted)
    if not isinstance(tree, Table) or KEY not in tree.entries:
        return tree
    entries = dict(tree.entries)
    names = entries.pop(KEY).value
    inner = (*within, path.resolve())
    result: Tree = replace(tree, entries=entries)
    known = {} if known is None else known
    bases = [
        base_path(name, inner) for name in (names.items if isinstance(names, Items) else [names])
    ]
    # The file itself comes last, and of several bases the later one wins.
    for file, base in {base.resolve(): base for base in reversed(bases)}.items():
        if file not in known:
            known[file] = read_tree(base, shown_path(base), noted, inner, known)
        inherited = known[file]
        if not isinstance(inherited, Table):
            message = f"expected sections to inherit, got {inherited}"
            raise ConfigError([Problem(inherited.place, "", message)])
        result = merged(inherited, result)
    return result


def base_path(name: Tree, within: tuple[Path, ...]) -> Path:
    """Return the file that an item of `inherit` names."""

    def refusal(message: str) -> ConfigError:
        return ConfigError([Problem(name.place, KEY, message)])

    if not isinstance(name, Scalar) or not isinstance(name.value, str) or "\0" in name.value:
        raise refusal(f"expected a file name, got {name}")
    path = name.place.base / name.value
    if len(within) >= DEEPEST:
        raise refusal(f"more than {DEEPEST} files inherit from one another")
    try:
        opened(path).close()
    except OSError as error:
        raise refusal(f"cannot read {quoted(name.value)}: {error.strerror or error}") from None
    if path.resolve() in within:
        raise refusal(f"{quoted(name.value)} inherits from itself")
    return path


def merged(base: Tree, tree: Tree) -> Tree:
    """Return `base` with what `tree` says instead; lists are replaced as wholes.

    A mapping with another `name` stands for something else, and takes nothing over.
    """
    if not isinstance(base, Table) or not isinstance(tree, Table):
        return tree
    names = [table.entries["name"].value for table in (base, tree) if "name" in table.entries]
    scalars = [name.value if isinstance(name, Scalar) else None for name in names]
    if len(scalars) == 2 and scalars[0] != scalars[1]:
        return tree
    entries = dict(base.entries)
    for key, entry in tree.entries.items():
        if key in entries:
            entry = Entry(entry.key_place, merged(entries[key].value, entry.value))
        entries[key] = entry
    return replace(tree, entries=entries)
