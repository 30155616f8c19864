"""Run the pages of `docs` and build the site.

    python scripts/docs.py                      # build/site, from docs and the package itself
    python scripts/docs.py --write docs/a.md    # run a page and write down what its blocks print
    python scripts/docs.py --write              # all pages, after a change of words or pictures

A page is a program: its blocks run one after the other. What a block prints is in the block
`text` after it, the error it ends with in a block `pytb`. A block whose first line is a comment
with the name of a file is that file. A picture that a page saves in `pictures` is part of docs.
"""

import argparse
import contextlib
import io
import linecache
import os
import re
import shutil
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

DOCS = ROOT / "docs"
PICTURES = DOCS / "pictures"
PYTHON = ("python", "py")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"# ([\w.-]+\.\w+)\n")  # the first line of a block that is a file


def told(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
    """Print a warning as Python does, without its place."""
    print(f"{category.__name__}: {message}")


def run_python(code: str, names: dict[str, Any]) -> tuple[str, str]:
    """The output of a block, and the traceback of the error that ends it; "" for none."""
    name, printed, error = "example.py", io.StringIO(), ""
    lines = code.splitlines(keepends=True)
    linecache.cache[name] = (len(code), None, lines, name)  # errors quote the lines
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = told
        try:
            exec(compile(code, name, "exec"), names)
        except Exception as raised:
            error = "".join(traceback.format_exception_only(raised))
    return printed.getvalue(), error


def run_shell(code: str, directory: Path) -> tuple[str, str]:
    """The output of commands, and "": an error of theirs ends the script."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-euc", code.replace(".venv/bin/", "")], cwd=directory, text=True, check=False,
        capture_output=True, env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{code}{done.stdout}{done.stderr}")
    return done.stdout, ""


def executed(page: str, directory: Path, *, shell: bool = True) -> str:
    """The page with the present output and errors of its blocks, run in ``directory``.

    Raises:
        RuntimeError: if a block fails and no block ``pytb`` after it says so.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    parts: list[str] = []
    end = 0
    printed: str | None = None  # output of the last block, not yet in the page
    error = ""

    def check() -> None:
        if error:
            raise RuntimeError(f"a block ends with\n{error}")

    for block in FENCE.finditer(page):
        language, code = block.groups()
        between, shown = page[end : block.start()], code
        if between.strip():
            check()
        if not between.strip() and language == "text" and printed is not None:
            shown, printed = printed, None
        elif not between.strip() and language == "pytb":
            shown, error = error, ""
        else:
            check()
            printed = None
            if name := NAMED.match(code):
                (directory / name[1]).write_text(code, "utf-8")
            elif language in PYTHON:
                printed, error = run_python(code, names)
            elif language == "sh" and shell:
                printed, error = run_shell(code, directory)
        parts += between, f"```{language}\n{shown.rstrip()}\n```"
        end = block.end()
    check()
    return "".join([*parts, page[end:]])


@contextlib.contextmanager
def directory_for_pictures() -> Iterator[Path]:
    """A block whose current directory is a new one with a folder for pictures."""
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        directory = Path(name)
        (directory / "pictures").mkdir()
        yield directory


def drawn(picture: Path) -> str:
    """A drawing without its numbers: keys are new each time, last digits differ by processor."""
    return re.sub(r"-?\d[\d.e+-]*", "0", picture.read_text("utf-8"))


def write(path: Path) -> None:
    """Run a page, and write its blocks' output and its pictures."""
    page = path.read_text("utf-8")
    with directory_for_pictures() as directory:
        new = executed(page, directory)
        for picture in (directory / "pictures").iterdir():
            shipped = PICTURES / picture.name
            if not shipped.exists() or drawn(picture) != drawn(shipped):
                shutil.copy(picture, shipped)
    if new != page:
        path.write_text(new, "utf-8")


def build(directory: Path) -> Path:
    """Build the site in a directory, which also gets its sources; nothing is downloaded."""
    staged = directory / "docs"
    for old in (staged, directory / "site", directory / ".cache"):
        shutil.rmtree(old, ignore_errors=True)
    shutil.copytree(DOCS, staged, ignore=shutil.ignore_patterns("*.toml"))
    shutil.copy(DOCS / "zensical.toml", directory)
    reference = [sys.executable, str(ROOT / "scripts" / "reference.py"), str(staged / "reference")]
    subprocess.run(reference, check=True)
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    subprocess.run(command, cwd=directory, check=True)
    return directory / "site"


def main() -> None:
    about, _, rest = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        description=about, epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", nargs="*", type=Path, metavar="PAGE", help="default: all")
    arguments = parser.parse_args()
    if arguments.write is not None:
        for path in arguments.write or sorted(DOCS.rglob("*.md")):
            write(path.resolve())
    else:
        print(build(ROOT / "build") / "index.html")


if __name__ == "__main__":
    main()
