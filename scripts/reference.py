"""Write the reference of the site: signatures and docstrings, and what configurations say.

    python scripts/reference.py directory

`scripts/docs.py` calls this; the pages are made anew for each site and kept nowhere.
"""

import argparse
import ast
import importlib
import inspect
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from coverage import sorted_names  # noqa: E402 - the script in this folder

import nanotorch as torch  # noqa: E402 - of this checkout
from nanotorch.names.scope import names_of_pytorch  # noqa: E402

OWN = {  # names in addition to PyTorch's
    "autograd": "explain graph_text make_dot print_graph",
    "utils.tensorboard": "SummaryWriter",
    "train": "fit train resume load_trained Callback Loop Task History RunResult load_config "
    "register_callback register_function register_generator register_layer register_loss",
}
PLACES = {  # pages, and their subjects
    "": "tensors: how to make them, operations on them, modes",
    "Tensor": "methods and attributes of tensors",
    "autograd": "gradients, `Function`, pictures of graphs",
    "nn": "modules: layers, losses, containers",
    "nn.functional": "the functions behind the layers",
    "nn.init": "initial values of parameters",
    "nn.utils": "clipping, parametrizations, padded sequences",
    "optim": "optimizers",
    "optim.lr_scheduler": "schedules of learning rates",
    "func": "`grad`, `vmap`, Jacobians, functional calls",
    "linalg": "linear algebra",
    "distributions": "probability distributions",
    "utils.data": "datasets, samplers, loaders",
    "utils.tensorboard": "the writer of events",
    "train": "the trainer from Python",
}
SECTION = re.compile(r"^(Args|Attributes|Raises|Returns|Shape|Yields|Note|Reference|Example)s?:$")
ENTRY = re.compile(r"^(\*{0,2}[\w.,* ]+?): (.*)", re.DOTALL)
BUILTINS = re.compile(r"\b_(int|float|bool)\b")  # as stubs call them
HOME = re.compile(r"\b(?:nanotorch|collections|typing)\.[\w.]*?(?=\w+\b(?!\.))")


@cache
def stubs() -> dict[str, list[ast.FunctionDef]]:
    """The typed functions of the package and, as ``Tensor.name``, its tensors' methods."""
    found: dict[str, list[ast.FunctionDef]] = {}
    for name, prefix in (("__init__.pyi", ""), ("_core/methods.pyi", "Tensor.")):
        tree = ast.parse((ROOT / "nanotorch" / name).read_text("utf-8"))
        body = tree.body if not prefix else next(
            node.body for node in tree.body if isinstance(node, ast.ClassDef)
        )  # fmt: skip
        for node in body:
            if isinstance(node, ast.FunctionDef):
                found.setdefault(prefix + node.name, []).append(node)
    return found


def with_default(default: ast.expr, parameter: inspect.Parameter | None) -> ast.expr:
    """The default value, from the function itself: a stub says only that there is one."""
    try:
        return ast.parse(repr(parameter and parameter.default), mode="eval").body
    except SyntaxError:
        return default


def signatures(thing: Any, name: str) -> Iterator[str]:
    """The signatures of a function or class: those of the stubs, or Python's own."""
    try:
        own = inspect.signature(thing)
    except (TypeError, ValueError):
        return
    for node in stubs().get(name, ()):
        given = node.args
        positional = given.args[len(given.args) - len(given.defaults) :]
        for arguments, defaults in (
            (positional, given.defaults), (given.kwonlyargs, given.kw_defaults)
        ):  # fmt: skip
            for i, (argument, default) in enumerate(zip(arguments, defaults, strict=True)):
                if default is not None:
                    defaults[i] = with_default(default, own.parameters.get(argument.arg))
        result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
        ways = re.sub(r"(?<=[\w\]])=(?! )", " = ", ast.unparse(given))
        yield BUILTINS.sub(r"\1", f"{name}({ways}){result}")
    if name not in stubs():
        text = HOME.sub("", str(own)).replace("~", "").removesuffix(" -> None")
        yield name + text.replace("(self, ", "(", 1).replace("(self)", "()")


def wrapped(signature: str) -> str:
    """A signature on one line, or with one argument per line."""
    if len(signature) <= 90:
        return signature
    inner = signature.index("(") + 1
    end = signature.rindex(")", 0, signature.find(") -> ") + 1 or None)
    parts, depth, start = [], 0, inner
    for i in range(inner, end):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(signature[i], 0)
        if signature[i] == "," and not depth:
            parts.append(signature[start:i].strip())
            start = i + 1
    parts.append(signature[start:end].strip())
    return "\n".join([signature[:inner], *(f"    {part}," for part in parts), signature[end:]])


def prose(text: str) -> str:
    """A docstring's text as Markdown: code stays code, and all else is plain."""
    parts = re.split(r"(``.+?``|`.+?`)", text, flags=re.DOTALL)
    return "".join(p if p.startswith("`") else re.sub(r"([*_<|])", r"\\\1", p) for p in parts)


def markdown(docstring: str) -> str:
    """A docstring in the project's style as Markdown."""
    lines: list[str] = []
    for block in re.split(r"\n(?=\S)|\n\n", inspect.cleandoc(docstring)):
        head, _, rest = block.partition("\n")
        if SECTION.match(head):
            lines.append(f"**{head[:-1]}**\n")
            entries = re.split(r"\n(?! )", inspect.cleandoc(rest))
            for entry in entries:
                words = " ".join(entry.split())
                named = ENTRY.match(words)
                lines.append(f"- `{named[1]}`: {prose(named[2])}" if named else prose(words) + "\n")
            lines.append("")
        elif block.startswith("    "):
            lines.append(f"```text\n{inspect.cleandoc(block)}\n```\n")
        elif block.strip():
            lines.append(f"{prose(block)}\n")
    return "\n".join(lines)


def entry(thing: Any, name: str, level: str = "##") -> Iterator[str]:
    """The part of a page about one name."""
    ways = "\n".join(map(wrapped, signatures(thing, name)))
    yield f"{level} {name.rpartition('.')[2] if level == '##' else name}\n"
    if ways:
        yield f"```python\n{ways}\n```\n"
    if about := getattr(thing, "__doc__", None):
        yield markdown(about)
    if inspect.isclass(thing) and level == "##" and thing is not torch.Tensor:
        for inner, member in vars(thing).items():
            if (
                inner[0] != "_"
                and inner != "forward"
                and inspect.isfunction(member)
                and member.__doc__
            ):
                yield from entry(member, f"{thing.__name__}.{inner}", "###")


def title(place: str) -> str:
    """The full name of a place."""
    return {"": "torch", "train": "nanotorch.train"}.get(place, f"torch.{place}")


def page(place: str) -> str:
    """The page of one module, or of `Tensor`."""
    if place == "Tensor":
        here: Any = torch.Tensor
    else:
        here = importlib.import_module(".".join(filter(None, ("nanotorch", place))))
    names = OWN.get(place, "").split()
    known = names_of_pytorch()
    if place in known:
        names += sorted_names(known, place)["present"]
    parts = [f"# {title(place)}\n", f"{PLACES[place][0].upper()}{PLACES[place][1:]}.\n"]
    prefix = "Tensor." if place == "Tensor" else ""
    for name in sorted({*names}, key=str.lower):
        if not place and name.endswith("_"):
            continue  # `torch.abs_` is `Tensor.abs_`
        thing = inspect.getattr_static(here, name) if prefix else getattr(here, name, None)
        told = callable(thing) or isinstance(thing, property)
        if name[0] != "_" and told and thing.__doc__:
            parts += entry(thing, prefix + name)
    return "\n".join(parts)


def configuration() -> str:
    """The output of `nanotorch train --list all`, as a page."""
    script = [sys.executable, str(ROOT / "scripts" / "train.py"), "--list", "all"]
    environment = {**os.environ, "COLUMNS": "100000"}
    done = subprocess.run(script, capture_output=True, text=True, check=True, env=environment)
    parts = [
        "# Configurations\n",
        "What a YAML file contains, from the dataclasses that check it; `nanotorch train --list`",
        "shows the same in a terminal. `configs/README.md` describes how files are written.\n",
    ]
    for line in done.stdout.splitlines():
        name, colon, text = line.strip().partition(": ")
        if line.startswith("# "):
            parts.append(f"\n## {line[2:].capitalize()}\n")
        elif line.startswith(" ") and colon:
            parts.append(f"- `{name}`: {prose(text)}")
        elif colon:
            parts.append(f"\n### {name}\n\n{prose(text)}\n")
        else:
            parts.append(prose(line.strip()))
    return "\n".join(parts) + "\n"


def write(directory: Path) -> None:
    """Write all pages."""
    directory.mkdir(parents=True, exist_ok=True)
    index = ["# Reference\n", "From the package itself: signatures, docstrings, schema.\n"]
    for place, about in PLACES.items():
        name = place or "torch"
        (directory / f"{name}.md").write_text(page(place), "utf-8")
        index.append(f"- [`{title(place)}`]({name}.md): {about}")
    (directory / "configuration.md").write_text(configuration(), "utf-8")
    coverage = (ROOT / "nanotorch" / "COVERAGE.md").read_text("utf-8")
    (directory / "coverage.md").write_text(coverage, "utf-8")
    index.append("- [Configurations](configuration.md): every key of a YAML file")
    index.append("- [Coverage](coverage.md): which of PyTorch's names it has\n")
    (directory / "index.md").write_text("\n".join(index), "utf-8")


def main() -> None:
    about, _, rest = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        description=about, epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("directory", type=Path, help="where to write")
    write(parser.parse_args().directory)


if __name__ == "__main__":
    main()
