"""`python -m nanotorch.learn`: exercises in autograd in the terminal."""

import argparse
import sys
from pathlib import Path

from nanotorch.learn import exercise, exercises, run, run_quietly
from nanotorch.train.commands import lasting_streams

PROGRAM = "python -m nanotorch.learn"


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns the exit code, 1 for a wrong answer."""
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
        print("Exercises in autograd. The same command with 1 at its end begins the first.\n")
        solved = 0
        for each in exercises():
            path, state = Path(each.file), ""
            if path.is_file():
                report = run_quietly(each, path.read_bytes(), str(path))
                solved += bool(report)
                state = "solved" if report else f"not solved yet: {path}"
            print(f"{each.number:4}  {each.title:42}  {state}".rstrip())
        print(f"\nSolved in this directory: {solved} of {len(exercises())}.")
        return 0
    try:
        chosen = exercise(given.number)
        if given.solution:
            solution = chosen.part("Solution")
            print(f"{chosen.number}. {chosen.title}\n\n{solution.code}\n{solution.prose}")
            return 0
        path = Path(chosen.file)
        if not path.exists():
            path.write_text(chosen.template, "utf-8")
            print(f"{chosen}\n\n{path} is written for you to fill in. The same command checks it.")
            return 0
        source = path.read_bytes()
    except (ValueError, OSError) as error:
        parser.error(str(error))
    report = run(chosen, source, str(path))
    print(report)
    if not report:
        print(f"\nChange {path}, then run the command again.\nA solution: add --solution to it.")
    else:
        last = chosen.number == len(exercises())
        print(f"\nNext: the command with{'out a number' if last else f' {chosen.number + 1}'}.")
    return 130 if isinstance(report.error, KeyboardInterrupt) else int(not report)


if __name__ == "__main__":
    with lasting_streams():
        sys.exit(main())
