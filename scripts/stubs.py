"""Write the type stubs of the functions and methods that declarations make.

    python scripts/stubs.py

Type checkers and editors cannot follow the declarations of operations. The stubs tell them each
name, its arguments and the type of its result. They are made from the package itself:
`nanotorch/__init__.pyi`, `nanotorch/return_types.pyi` and `nanotorch/_core/methods.pyi`, whose
class is a base of `Tensor` for type checkers; one for each module that is not there as a file; and
`nanotorch/train/training/settings.pyi`, with the keys that `nanotorch.train.fit` takes.
"""

import argparse
import inspect
import re
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, Unpack, get_args, get_origin, get_type_hints

import nanotorch
from nanotorch import Tensor, _core, ops, return_types
from nanotorch._core.arguments import KINDS
from nanotorch._core.op import OPS, PUBLIC
from nanotorch._core.overloads import OVERLOADS
from nanotorch.names.scope import HOMES, TABLE

PACKAGE = Path(nanotorch.__file__).parent
TENSOR, TUPLE, ANY = "Tensor", "tuple[Tensor, ...]", "Any"
ALL, ALONG = "*, out: Any = ...", "dim: _int, keepdim: _bool = ..., *, out: Any = ..."

# The results that are no tensor and have no annotation: by name, or in the order of overloads by
# the arguments after the first. PyTorch's overloads are separate only where results differ.
RESULTS: dict[str, str | dict[str, str]] = {
    **dict.fromkeys(("unbind", "split_with_sizes", "var_mean", "std_mean"), TUPLE),
    **dict.fromkeys(("lstm", "gru", "rnn_tanh", "rnn_relu"), TUPLE),
    **dict.fromkeys(("unique", "unique_consecutive"), ANY),
    "max": {ALL: TENSOR, ALONG: "return_types.max", f"other: Tensor, {ALL}": TENSOR},
    "min": {ALL: TENSOR, ALONG: "return_types.min", f"other: Tensor, {ALL}": TENSOR},
    "median": {ALL: TENSOR, ALONG: "return_types.median"},
    "nanmedian": {ALL: TENSOR, ALONG: "return_types.nanmedian"},
    "type": {"": "str", "dtype: Any, non_blocking: _bool = ...": TENSOR},
    "where": {"": TUPLE, f"input: Any, other: Any = ..., {ALL}": TENSOR},
    "nonzero": {
        "*, as_tuple: Literal[False] = ..., out: Any = ...": TENSOR,
        "*, as_tuple: Literal[True]": TUPLE,
    },
}
HEAD = '''"""{about}

`scripts/stubs.py` writes this file.
"""

from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import IO, Any, Literal, NamedTuple, SupportsInt, TypeVar, overload

import numpy as np

'''
FUNCTION = '_F = TypeVar("_F", bound=Callable[..., Any])'
# Functions that return their argument, or, without one, a decorator.
DECORATORS = {"compile"}
OPERATIONS = {*PUBLIC, *" ".join(ops.LATER.values()).split()}
# The names of types in stubs, by their names in annotations: `torch.int` and others are dtypes.
NAMES = {name: f"_{name}" for name in ("int", "float", "bool")} | {
    "ndarray": "np.ndarray",
    "generic": "np.generic",
    "NoneType": "None",
    "Layout": TENSOR,
    "module": ANY,
}
# Types of the package that annotations name, by module.
TYPES = {
    "nanotorch": ("return_types",),
    "nanotorch._core.tensor": (TENSOR,),
    "nanotorch._core.dtypes": ("Size", "device", "dtype"),
    "nanotorch._core.graph": ("RemovableHandle",),
    "nanotorch.ops.random": ("Generator",),
    "nanotorch.ops.storage": ("UntypedStorage",),
}


def annotation(kind: Any) -> str:
    """The name of a type in a stub; ``Any`` without an annotation."""
    if kind is inspect.Parameter.empty:
        return ANY
    text = kind if isinstance(kind, str) else inspect.formatannotation(kind)
    text = re.sub(r"<class '(.*)'>", r"\1", text)
    text = re.sub(r"\b(?:[A-Za-z_]\w*\.)+(?=[A-Za-z_])", "", text)
    return re.sub(r"\w+", lambda word: NAMES.get(word[0], word[0]), text)


def kernel_annotations(function: FunctionType) -> dict[str, Any]:
    """The annotations of an operation's kernel; users pass tensors for its arrays."""
    several = OVERLOADS.get(function.__name__.removesuffix("_"))
    if several is not None and function in several.functions.values():
        return several.kernel.__annotations__
    o = OPS.get(function.__name__.removesuffix("_"), OPS.get(function.__name__))
    if o is None or function not in o.functions.values():
        return {}
    first = o.inputs[0]
    kinds = {n: k for n, k in o.kernel.__annotations__.items() if n not in (*o.inputs, "return")}
    if o.dims:
        kinds["dim"] = o.dims.__annotations__["dim"]
    arrays = {n: "Sequence[Tensor]" if n == o.variadic else ANY for n in o.inputs}
    return kinds | arrays | ({} if first == o.variadic else {first: TENSOR})


def parameters(name: str, function: FunctionType, method: bool) -> str:
    """The parameters of a function, with the defaults left out."""
    kinds, written = kernel_annotations(function), []
    star = False
    for k, p in enumerate(inspect.signature(function).parameters.values()):
        if method and k == 0:
            written.append("self")
            continue
        kind = annotation(kinds.get(p.name, p.annotation))
        if p.name == "input" and kind == ANY:
            kind = TENSOR
        if name[:2] == "__" and p.kind is p.KEYWORD_ONLY:
            continue  # an operator has no options
        if get_origin(p.annotation) is Unpack:
            options = get_type_hints(get_args(p.annotation)[0])
            written += ["*"] * (not star)
            written += [f"{n}: {annotation(k)} = ..." for n, k in options.items()]
            continue
        mark = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}.get(p.kind.name, "")
        if p.kind is p.KEYWORD_ONLY and not star:
            written.append("*")
        star = star or p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)
        written.append(f"{mark}{p.name}: {kind}" + " = ..." * (p.default is not p.empty))
    return ", ".join(written)


def documentation(function: FunctionType) -> list[str]:
    """The body of a stub: the first paragraph of the docstring, which editors show."""
    first = (function.__doc__ or "").strip().split("\n\n")[0].split()
    return [f'    """{" ".join(first)}"""' if first else "    ..."]


def stub(name: str, function: FunctionType, method: bool = False) -> list[str]:
    """The lines that declare one function."""
    given = inspect.signature(function).return_annotation
    result: Any = annotation(given)
    if result == ANY and (method or name in OPERATIONS):
        plain = name.removesuffix("_")
        named = f"return_types.{name}" if name in KINDS else TENSOR
        result = RESULTS.get(name, RESULTS.get(plain, named))
        if name != plain and isinstance(result, dict):
            result = TENSOR
    if name in DECORATORS:
        first, rest = parameters(name, function, method).split(",", 1)
        first = first.partition(":")[0]
        heads = [
            f"{first}: _F,{rest}) -> _F:",
            f"{first}: None = ...,{rest}) -> Callable[[_F], _F]:",
        ]
        made = (["@overload", f"def {name}({head}", *documentation(function)] for head in heads)
        return [line for lines in made for line in lines]
    if isinstance(result, str):
        ignored = "  # type: ignore[override]" * (name in ("__eq__", "__ne__"))
        heading = f"def {name}({parameters(name, function, method)}) -> {result}:"
        return [f"{heading}{ignored}", *documentation(function)]
    first = "self" if method else "condition: Tensor" if name == "where" else "input: Tensor"
    lines = []
    for rest, kind in result.items():
        if method:
            rest = rest.removesuffix(ALL).removesuffix(", ")
        heading = f"def {name}({', '.join(filter(None, (first, rest)))}) -> {kind}:"
        lines += ["@overload", heading, *documentation(function)]
    return lines


def origin(value: type) -> str | None:
    """The module whose source defines a class, whatever its ``__module__`` says."""
    for name, module in sorted(sys.modules.items()):
        ours = name.startswith("nanotorch.") and vars(module).get(value.__name__) is value
        if ours and re.search(rf"^class {value.__name__}\b", inspect.getsource(module), re.M):
            return name
    return None


def entry(module: ModuleType, name: str, value: Any) -> list[str]:
    """The lines that declare one name of a module."""
    match value:
        case FunctionType():
            written = vars(Tensor).get(name) if name.endswith("_") else None
            return stub(name, written if isinstance(written, FunctionType) else value)
        case ModuleType() if not hasattr(value, "__file__") and name not in HOMES:
            return []  # a stand-in for libraries that import it
        case ModuleType():
            package, _, own = value.__name__.rpartition(".")
            if own == name:
                return [f"from {package} import {own} as {name}"]
            return [f"from {package} import {own} as _{own}", f"{name} = _{own}"]
        case type() if module is return_types:
            fields = [f"    {field}: Tensor" for field in vars(value)["_names"]]
            return [f"class {name}(NamedTuple):", *fields]
        case type() if place := origin(value):
            return [f"from {place} import {value.__name__} as {name}"]
    types = {"str", *NAMES, *(name for names in TYPES.values() for name in names)}
    known = [kind.__name__ for kind in type(value).__mro__ if kind.__name__ in types]
    return [f"{name}: {annotation(known[0]) if known else ANY}"]


def module_stub(module: ModuleType) -> list[str]:
    """The lines of a module's stub, after its head."""
    names = [n for n in dir(module) if not n.startswith("_")] + ["__version__"]
    entries = [entry(module, n, getattr(module, n)) for n in names if hasattr(module, n)]
    lines = [line for lines in entries for line in lines]
    return sorted(lines, key=lambda line: not line.startswith("from "))


def methods_stub() -> list[str]:
    """The lines of a class with the methods of tensors that no class's source defines."""
    source = inspect.getsource(_core.tensor) + inspect.getsource(_core.layout)
    written = set(re.findall(r"^    def (\w+)", source, re.M))
    lines = []
    for name in sorted({*dir(Tensor)} - written):
        match inspect.getattr_static(Tensor, name):
            case FunctionType() as function:
                lines += stub(name, function, method=True)
            case property(fget=getter) if getter is not None:
                result = annotation(getter.__annotations__.get("return", ANY))
                result = TENSOR if result == ANY else result
                lines += ["@property", f"def {name}(self) -> {result}: ..."]
    return ["class Methods:", *(f"    {line}" for line in lines)]


def text(about: str, lines: list[str]) -> str:
    """A stub, before its imports are sorted and the unused ones removed."""
    needed = [f"from {module} import {n} as {n}" for module, names in TYPES.items() for n in names]
    imports = [line for line in needed if line not in lines]
    if any("_F" in line for line in lines):
        first = next(k for k, line in enumerate(lines) if not line.startswith("from "))
        lines = [*lines[:first], FUNCTION, *lines[first:]]
    return HEAD.format(about=about) + "\n".join([*imports, *lines]) + "\n"


def homes_stub(place: str) -> str:
    """The stub of a module whose names other modules have."""
    several = HOMES[place].items()
    lines = [f"from {home} import {n} as {n}" for home, names in several for n in names.split()]
    if place in TABLE:
        lines = ["from typing import Any", *lines, "def __getattr__(name: str) -> Any: ..."]
    about = HEAD.format(about="Names that are at home elsewhere.").partition("from ")[0]
    return about + "\n".join(lines) + "\n"


def settings_stub() -> str:
    """The keys of a configuration that `nanotorch.train.fit` accepts, with their types."""
    from nanotorch.train import fit  # here, so that it is no name of `nanotorch` before
    from nanotorch.train.config import schema
    from nanotorch.train.config.sections import hint_form, section_keys

    classes = list[str]()

    def kind(hint: Any) -> str:
        match hint_form(hint):
            case "limited", (inner, _):
                return kind(inner)
            case "union", members:
                return " | ".join(map(kind, members))
            case "choice", values:
                return f"Literal[{', '.join(map(repr, values))}]"
            case "section", section:
                keys = f"{section.__name__}Keys"
                declare(keys, section_keys(section))
                return f"{keys} | schema.{section.__name__}"
        return str(hint.__name__).replace("NoneType", "None")

    def declare(name: str, keys: Mapping[str, Any]) -> None:
        lines = [f"    {key}: {kind(about.hint)}" for key, about in keys.items()]
        classes.append("\n".join([f"class {name}(TypedDict, total=False):", *lines]))

    given = {*inspect.signature(fit).parameters, "experiment", "train"}
    keys = {**section_keys(schema.Train), **section_keys(schema.FitConfig)}
    declare("Settings", {name: key for name, key in keys.items() if name not in given})
    about = HEAD.format(about=settings_stub.__doc__).partition("from ")[0]
    imports = "from typing import Literal, TypedDict\n\nfrom nanotorch.train.config import schema\n"
    return "\n".join([about, imports, *classes])


def stubs() -> dict[Path, str]:
    """The stubs by their files."""
    files = {place: PACKAGE / f"{place.replace('.', '/')}.pyi" for place in HOMES}
    return {
        file: homes_stub(place)
        for place, file in files.items()
        if file.parent.is_dir() and not file.name.startswith("_")
    } | {
        PACKAGE / "__init__.pyi": text("What `nanotorch` has.", module_stub(nanotorch)),
        PACKAGE / "return_types.pyi": text("Tuples with names.", module_stub(return_types)),
        PACKAGE / "_core/methods.pyi": text("Methods of tensors.", methods_stub()),
        PACKAGE / "train/training/settings.pyi": settings_stub(),
    }


def main() -> None:
    """Write the stubs, in the project's format."""
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    if find_spec("ruff") is None:
        raise SystemExit("stubs.py needs ruff: pip install -e '.[dev]'")
    for path, written in stubs().items():
        path.write_text(written, "utf-8")
        for step in (["check", "-q", "--fix", "--select=I,F401"], ["format", "-q"]):
            subprocess.run([sys.executable, "-m", "ruff", *step, str(path)], check=True)


if __name__ == "__main__":
    main()
