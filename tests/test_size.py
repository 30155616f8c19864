"""One idea, one place: no file over 1,000 lines, no function over 80 (its docstring aside).

The package may only shrink, and so may its reading path and the number of helpers that are called
once: a commit that raises a ceiling says why.
"""

import ast
import runpy
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
FILE_LINES, FUNCTION_LINES = 1000, 80
FILES, SLACK = 199, 100
PATH_LINES, CALLED_ONCE = 18_780, 174
CODE = {  # lines of code by folder
    "_core/": 6245, "amp/": 265, "autograd/": 3065, "compile/": 3690, "cuda/": 60,
    "distributed/": 1080, "distributions/": 1370, "func/": 1710, "learn/": 240, "names/": 745,
    "nn/": 5920, "onnx/": 945, "ops/": 10410, "optim/": 1990, "program/": 160,
    "serialization/": 1515, "train/": 8895, "utils/": 2350, "*.py": 1205,
}  # fmt: skip


def span(node: ast.stmt) -> int:
    """Return how many lines a statement takes."""
    return (node.end_lineno or node.lineno) - node.lineno + 1


def statements(tree: ast.Module) -> Iterator[ast.stmt]:
    """Yield all statements, inner ones too; to look at expressions would take most of the time."""
    waiting: list[ast.AST] = [*tree.body]
    for node in waiting:  # the list grows while the loop runs
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            waiting += getattr(node, part, ())
        if isinstance(node, ast.stmt):
            yield node


def too_long(name: str, source: str) -> Iterator[str]:
    """Yield what exceeds the limits, in plain words."""
    if (lines := len(source.splitlines())) > FILE_LINES:
        yield f"{name} has {lines} lines"
    if lines <= FUNCTION_LINES:
        return
    for node in statements(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0]
            documented = ast.get_docstring(node, clean=False) is not None
            lines = span(node) - (span(first) if documented else 0)
            if lines > FUNCTION_LINES:
                yield f"{name}: {node.name} has {lines} lines"


def test_files_and_functions_are_short() -> None:
    paths = [p for part in ("nanotorch", "scripts", "tests") for p in (ROOT / part).rglob("*.py")]
    problems = [
        problem
        for path in sorted(paths)
        for problem in too_long(str(path.relative_to(ROOT)), path.read_text("utf-8"))
    ]
    assert problems == []


def test_what_is_too_long_is_seen() -> None:
    body = "    x = 1\n" * FUNCTION_LINES
    inner = "".join(f"            {line}\n" for line in f"def f():\n{body}".splitlines())
    for block in ("if x:\n  pass\n else:", "try:\n  pass\n except E:", "match x:\n  case 1:"):
        source = f"class A:\n {block}\n{inner}"
        assert list(too_long("a.py", source)) == ["a.py: f has 81 lines"], block
    assert list(too_long("a.py", f"def f():\n{body}")) == ["a.py: f has 81 lines"]
    assert list(too_long("a.py", f'def f():\n    """Do."""\n{body[10:]}')) == []
    assert list(too_long("a.py", "x = 1\n" * 1001)) == ["a.py has 1001 lines"]
    assert list(too_long("a.py", "x = 1\n" * 1000)) == []


def test_the_package_does_not_grow() -> None:
    size = runpy.run_path(str(ROOT / "scripts/size.py"))
    path = size["reading_path"]()
    assert len(path) > 20
    assert sum(len(file.read_text("utf-8").splitlines()) for file in path) <= PATH_LINES
    assert len(size["called_once"]()) <= CALLED_ONCE
    rows = size["count"]()
    assert rows.pop("all")[0] <= FILES
    assert rows.keys() == CODE.keys()
    larger = {name: row[1] for name, row in rows.items() if row[1] > CODE[name]}
    assert not larger, "say why in the commit, and raise the ceiling"
    smaller = {name: row[1] for name, row in rows.items() if row[1] < CODE[name] - SLACK}
    assert not smaller, "lower the ceiling"
