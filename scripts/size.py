"""Print the size of the package, a row per folder: files, code lines and lines in all.

    python scripts/size.py

A code line holds a token that is neither a comment nor part of a docstring.
"""

import argparse
import ast
import tokenize
from collections import defaultdict
from io import StringIO
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "nanotorch"
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


def main() -> None:
    """Print the table."""
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    print(f"{'folder':<16}{'files':>7}{'code':>9}{'lines':>9}")
    for name, row in sorted(count().items(), key=lambda item: -item[1][1]):
        print(f"{name:<16}{row[0]:>7,}{row[1]:>9,}{row[2]:>9,}")


if __name__ == "__main__":
    main()
