"""Run the quick-starts of libraries built on PyTorch, and write `docs/libraries.md`.

    python scripts/libraries.py PYTHON [--torch PYTHON] [NAME ...]

The quick-starts are `tests/libraries/*_.py`. The first Python has nanotorch and the libraries, but
not PyTorch; the second one PyTorch and the same libraries. What they print with PyTorch is recorded
in `tests/golden/libraries.json`, for the tests, and what they print with nanotorch is held against
that. With names, only these quick-starts run, and nothing is written.
"""

import argparse
import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.programs.test_programs import assert_alike  # noqa: E402 - of this checkout

PROGRAMS = ROOT / "tests" / "libraries"
ANSWERS = ROOT / "tests" / "golden" / "libraries.json"
PAGE = ROOT / "docs" / "libraries.md"
MARKS = "<!-- quick-starts:begin -->\n", "<!-- quick-starts:end -->\n"
HEAD = (
    "| library | version | what was run | what it prints, beside PyTorch |\n"
    "| --- | --- | --- | --- |\n"
)


def run(python: str, path: Path, ours: bool) -> tuple[list[str], str]:
    """Run a program; returns the lines of its output, and the last line of its error.

    Args:
        python: the interpreter.
        ours: whether `import torch` imports nanotorch.
    """
    paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    setting = {"PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [python, "-W", "ignore", *(["-m", "nanotorch"] if ours else []), str(path)]
    done = subprocess.run(
        command, env=os.environ | setting, capture_output=True, text=True, check=False
    )
    error = "" if not done.returncode else (done.stderr.splitlines() or ["no error"])[-1]
    return done.stdout.splitlines(), error


def beside(lines: list[str], expected: list[str]) -> str:
    """The comparison of a program's output with its output with PyTorch."""
    if lines == expected:
        return "the same"
    try:
        for line, known in zip(lines, expected, strict=True):
            assert_alike(line, known)
    except (AssertionError, ValueError) as error:
        return f"differs: {' '.join(str(error).split())[:80]}"
    return "the same up to rounding"


def described(path: Path) -> tuple[str, str]:
    """The distribution of a quick-start, and a description."""
    text = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    name, _, what = text.splitlines()[0].partition(": ")
    return name, what


def version(python: str, distribution: str) -> str:
    """The version of an installed distribution."""
    asked = f"import importlib.metadata as m; print(m.version({distribution!r}))"
    found = subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True)
    return found.stdout.strip()


def main() -> None:
    """Run the quick-starts, compare, and write the page and the answers."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("python", help="an interpreter with nanotorch and the libraries")
    parser.add_argument("--torch", metavar="PYTHON", help="one with PyTorch, to record its answers")
    parser.add_argument("names", nargs="*", help="quick-starts. Default: all")
    args = parser.parse_args()
    known: dict[str, list[str]] = json.loads(ANSWERS.read_text("utf-8")) if ANSWERS.exists() else {}
    rows, failed = [], 0
    for path in sorted(PROGRAMS.glob("*_.py")):
        name = path.stem.removesuffix("_")
        if args.names and name not in args.names:
            continue
        if args.torch:
            known[name], error = run(args.torch, path, ours=False)
            if error:
                raise SystemExit(f"{name} with PyTorch: {error}")
        lines, error = run(args.python, path, ours=True)
        result = error or beside(lines, known[name])
        failed += not result.startswith("the same")
        library, what = described(path)
        found = version(args.python, library)
        rows.append(f"| {library} | {found} | {what} | {result} |\n")
        print(rows[-1], end="", flush=True)
    if not args.names:
        lines_of = [f"{json.dumps(k)}: {json.dumps(known[k])}" for k in sorted(known)]
        ANSWERS.write_text("{\n" + ",\n".join(lines_of) + "\n}\n", "utf-8")
        begin, end = map(re.escape, MARKS)
        table = MARKS[0] + HEAD + "".join(sorted(rows, key=str.lower)) + MARKS[1]
        page = PAGE.read_text("utf-8")
        PAGE.write_text(re.sub(f"{begin}.*{end}", lambda _: table, page, flags=re.DOTALL), "utf-8")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
