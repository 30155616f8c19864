"""`python -m nanotorch.learn`: exercises in autograd in the terminal."""

import argparse
import contextlib
import io
import sys
import warnings
from pathlib import Path

from nanotorch.learn import Exercise, exercise, exercises, run

PROGRAM = "python -m nanotorch.learn"


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return the exit code, 1 for an answer that is wrong."""
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        description="Exercises in autograd. With a number: shows the task and writes a file to "
        "fill in, or checks the file that is there. Without: lists the exercises, and what is "
        "solved in this directory.",
    )
    parser.add_argument("number", nargs="?", type=int, help="of an exercise")
    parser.add_argument("--solution", action="store_true", help="show how it can be done, and why")
    given = parser.parse_args(arguments)
    if given.number is None:
        if given.solution:
            parser.error(f"--solution needs a number: {PROGRAM} 3 --solution")
        show_all()
        return 0
    try:
        chosen = exercise(given.number)
        if given.solution:
            solution = chosen.part("Solution")
            print(f"{chosen.number}. {chosen.title}\n\n{solution.code}\n{solution.prose}")
            return 0
        return work_on(chosen)
    except (ValueError, OSError) as error:
        parser.error(str(error))


def work_on(chosen: Exercise) -> int:
    """Write the learner's file, if there is none, or else check it."""
    path, again = Path(chosen.file), f"{PROGRAM} {chosen.number}"
    if not path.exists():
        path.write_text(chosen.template, "utf-8")
        print(f"{chosen}\n\n{path} is written for you to fill in. Then: {again}")
        return 0
    report = run(chosen, path.read_bytes(), str(path))
    print(report)
    if not report:
        print(f"\nChange {path}, then: {again}\nA solution: {again} --solution")
    elif chosen.number < len(exercises()):
        print(f"\nNext: {PROGRAM} {chosen.number + 1}")
    if isinstance(report.error, KeyboardInterrupt):
        raise report.error
    return 0 if report else 1


def show_all() -> None:
    """List the exercises, each with how far it is in the current directory."""
    print(f"Exercises in autograd. `{PROGRAM} 1` begins the first.\n")
    solved = 0
    for each in exercises():
        path, state = Path(each.file), ""
        if path.is_file():
            with (
                contextlib.redirect_stdout(io.StringIO()),
                warnings.catch_warnings(action="ignore"),
            ):
                report = run(each, path.read_bytes(), str(path))
            if isinstance(report.error, KeyboardInterrupt):
                raise report.error
            solved += bool(report)
            state = "solved" if report else f"not solved yet: {path}"
        print(f"{each.number:4}  {each.title:42}  {state}".rstrip())
    print(f"\nSolved in this directory: {solved} of {len(exercises())}.")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
