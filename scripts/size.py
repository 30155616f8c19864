"""Print the size of the package, a row per folder: files, code lines and lines in all.

    python scripts/size.py

A code line holds a token that is neither a comment nor part of a docstring. Two more rows count
the files of the reading path in CONTRIBUTING.md, and the helpers that the package calls once.
"""

import argparse
import ast
import re
import tokenize
from collections import Counter, defaultdict
from io import StringIO
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "nanotorch"
NO_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENDMARKER,
}  # fmt: skip


def code_lines(source: str) -> int:
    """The number of code lines of a module."""
    lines = {
        line
        for token in tokenize.generate_tokens(StringIO(source).readline)
        if token.type not in NO_CODE
        for line in range(token.start[0], token.end[0] + 1)
    }
    for node in ast.walk(ast.parse(source)):
        match node:  # a string alone is documentation
            case ast.Expr(ast.Constant(str())):
                lines -= set(range(node.lineno, (node.end_lineno or 0) + 1))
    return len(lines)


def count() -> dict[str, list[int]]:
    """The files, code lines and lines of each folder, and in total."""
    rows: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for path in PACKAGE.rglob("*.py"):
        folder, source = path.relative_to(PACKAGE).parts[0], path.read_text("utf-8")
        name = f"{folder}/" if path.parent != PACKAGE else "*.py"
        counts = (1, code_lines(source), len(source.splitlines()))
        for row in (rows[name], rows["all"]):
            row[:] = [a + b for a, b in zip(row, counts, strict=True)]
    return rows


def reading_path() -> list[Path]:
    """The files of the reading path, in reading order."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    section = text.partition("## The reading path")[2].partition("\n## ")[0]
    return [PACKAGE / name for name in dict.fromkeys(re.findall(r"`(\w+/[\w/]+\.py)`", section))]


def called_once() -> list[str]:
    """The functions of modules that nothing names but one call, as `file: function`."""
    trees = {path: ast.parse(path.read_text("utf-8")) for path in PACKAGE.rglob("*.py")}
    names: Counter[str] = Counter()
    calls: set[str] = set()
    for node in (node for tree in trees.values() for node in ast.walk(tree)):
        match node:
            case ast.Name(name) | ast.Attribute(attr=name) | ast.alias(name):
                names[name] += 1
            case ast.Constant(str(name)):  # such as the names of `__all__`
                names[name] += 1
            case ast.Call(ast.Name(name)):
                calls.add(name)
    return [
        f"{path.relative_to(PACKAGE)}: {function.name}"
        for path, tree in sorted(trees.items())
        for function in tree.body
        if isinstance(function, ast.FunctionDef) and not function.decorator_list
        if names[function.name] == 1 and function.name in calls
    ]


def main() -> None:
    """Print the table."""
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    print(f"{'folder':<16}{'files':>7}{'code':>9}{'lines':>9}")
    for name, row in sorted(count().items(), key=lambda item: -item[1][1]):
        print(f"{name:<16}{row[0]:>7,}{row[1]:>9,}{row[2]:>9,}")
    path = [file.read_text("utf-8") for file in reading_path()]
    lines = sum(len(source.splitlines()) for source in path)
    print(f"{'reading path':<16}{len(path):>7,}{sum(map(code_lines, path)):>9,}{lines:>9,}")
    print(f"{'called once':<16}{len(called_once()):>7,}")


if __name__ == "__main__":
    main()
