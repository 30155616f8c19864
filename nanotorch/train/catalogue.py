"""What a configuration may say, for people: every section and every name with its fields."""

import ast
import functools
import inspect
import itertools
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, fields
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from .components import LOSSES, OPTIMIZERS, Components, members_of
from .functions import FUNCTIONS
from .generators import GENERATORS
from .hints import described
from .layers import LAYERS
from .plugins import CALLBACKS
from .problems import did_you_mean, quoted
from .reading import Section
from .schedules import SCHEDULES
from .schema import MinimizationConfig, SupervisedConfig, TextConfig

WIDTH = 100
NO_CALLBACKS = """\
none but what a program registers; what is built in has sections of its own: train, scheduler,
early_stopping, averaging, checkpoint and log"""

COMPONENTS: Mapping[str, Components] = {
    "layers": LAYERS,
    "losses": LOSSES,
    "optimizers": OPTIMIZERS,
    "schedulers": SCHEDULES,
    "callbacks": CALLBACKS,
}


@functools.cache
def class_bodies(module: str) -> Mapping[str, list[ast.stmt]]:
    """Return the statements of each class of a module; nothing of one that has no file."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (KeyError, OSError, TypeError):
        return {}
    return {node.name: node.body for node in tree.body if isinstance(node, ast.ClassDef)}


def field_sentences(section: type) -> Mapping[str, str]:
    """Return the sentence under each field of a section, those of its bases included."""
    found: dict[str, str] = {}
    for base in reversed(section.__mro__[:-1]):
        body = class_bodies(base.__module__).get(base.__qualname__, [])
        for statement, following in itertools.pairwise(body):
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                text = getattr(getattr(following, "value", None), "value", None)
                if isinstance(following, ast.Expr) and isinstance(text, str):
                    found[statement.target.id] = " ".join(text.split())
    return found


def first_sentence(thing: Any) -> str:
    """Return the first line of a docstring, which is not that of a base."""
    return inspect.cleandoc(getattr(thing, "__doc__", None) or "").partition("\n")[0]


def described_field(hint: Any, default: Any) -> str:
    """Return type and default of a field in words."""
    if get_origin(hint) is Annotated and isinstance(get_args(hint)[1], Components):
        words = get_args(hint)[1].kind
    else:
        words = described(hint)
    if type(None) in members_of(hint) and default is not None:
        words += " or null"
    return words if default is MISSING else f"{words}; default {shown(default)}"


def shown(value: Any) -> str:
    """Return a default as YAML has it."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, tuple | list):
        return f"[{', '.join(shown(item) for item in value)}]"
    return "its own" if isinstance(value, Section) else str(value)


def component_lines(registry: Components, name: str) -> Iterator[str]:
    """Yield a name with what it is, then its arguments."""
    yield f"{name}: {first_sentence(registry.factory(name))}"
    defaults, followed = registry.defaults(name), registry.followed(name)
    for argument, hint in registry.hints(name).items():
        text = described_field(hint, defaults.get(argument, MISSING))
        if argument in followed:
            text = f"{described(hint)}; follows from what comes in"
        yield f"  {argument}: {text}"


def section_lines(section: type[Section], heading: str) -> Iterator[str]:
    """Yield a section with what it is, then its fields, each with its sentence."""
    yield f"{heading}: {first_sentence(section)}"
    sentences = field_sentences(section)
    hints = get_type_hints(section, include_extras=True)
    for field in fields(section):  # type: ignore[arg-type]
        default = field.default
        if default is MISSING and field.default_factory is not MISSING:
            default = field.default_factory()
        text = f"  {field.name}: {sentences.get(field.name, '')}"
        text += f" ({described_field(hints[field.name], default)})"
        yield from textwrap.wrap(text, WIDTH, subsequent_indent="    ", initial_indent="")


def sections_within(section: type[Section], path: str) -> Iterator[tuple[str, type[Section]]]:
    """Yield a section and those in it, with their paths."""
    yield path, section
    for name, hint in get_type_hints(section, include_extras=True).items():
        for member in members_of(hint):
            if isinstance(member, type) and issubclass(member, Section):
                yield from sections_within(member, f"{path}.{name}")


def kinds() -> Mapping[str, Mapping[str, Iterable[str]]]:
    """Return kind -> name -> the lines about it."""
    experiments = {
        "regression, classification": SupervisedConfig,
        "text": TextConfig,
        "minimization": MinimizationConfig,
    }
    found: dict[str, Mapping[str, Iterable[str]]] = {
        "sections": {
            path: section_lines(inner, path)
            for name, section in experiments.items()
            for path, inner in sections_within(section, name)
        }
    }
    for kind, registry in COMPONENTS.items():
        found[kind] = {name: component_lines(registry, name) for name in registry.names}
    found["generators"] = {
        name: section_lines(section, name) for name, section in GENERATORS.sections.items()
    }
    found["functions"] = {
        name: [f"{name}: {known.sentence}", f"  f(x) = {known.shown}"]
        for name, known in FUNCTIONS.items()
    }
    return found


def catalogue(word: str) -> str | None:
    """Return what there is: of one kind, about one name, or everything.

    Args:
        word: a kind, such as `layers`, a section, such as `train`, or a name, such as `Linear`;
            empty for everything.

    Returns:
        Text for people, None if there is no such kind or name.
    """
    every = kinds()
    inner = [name for name in every["sections"] if name.rpartition(".")[2] == word]
    if inner:  # such as `train`, which several experiments have
        texts = dict.fromkeys("\n".join(list(every["sections"][name])[1:]) for name in inner)
        return f"{word}:\n" + "\nor\n".join(texts)
    chosen = {word: every[word]} if word in every else every
    lines: list[str] = []
    for kind, names in chosen.items():
        if word in names:
            return "\n".join(names[word])
        inner = [line for about in names.values() for line in about]
        lines += [f"# {kind}", "", *(inner or [NO_CALLBACKS]), ""]
    return None if word and word not in every else "\n".join(lines).rstrip()


def unknown(word: str) -> str:
    """Return the message for a word that the catalogue has not."""
    every = kinds()
    known = [*every, *(name for names in every.values() for name in names)]
    meant = did_you_mean(word, known)
    if "known here" in meant:
        meant = f"; there are {', '.join(every)}, and every name in these"
    return f"--list {quoted(word)}: is not known{meant}"
