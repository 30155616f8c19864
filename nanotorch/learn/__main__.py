"""`python -m nanotorch.learn`: exercises in autograd in the terminal."""

import argparse
import sys
from pathlib import Path

from nanotorch.learn import exercise, exercises, run, run_quietly
from nanotorch.train.commands import call_again, lasting_streams

PROGRAM = call_again("python -m nanotorch.learn")


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns the exit code, 1 for a wrong answer."""
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        description="Exercises in autograd. With a number: show the task and write a file to fill "
        "in, or check that file if it exists. Without: list the exercises, and which are solved "
        "in this directory.",
    )
    parser.add_argument("number", nargs="?", type=int, help="the number of an exercise")
    parser.add_argument("--solution", action="store_true", help="show how it can be done, and why")
    given = parser.parse_args(arguments)
    if given.number is None:
        if given.solution:
            parser.error(f"--solution needs a number: {PROGRAM} 3 --solution")
        print(f"Exercises in autograd. To begin the first:\n{PROGRAM} 1\n")
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
            print(f"{chosen}\n\nFill in the new file {path}. The same command then checks it.")
            return 0
        source = path.read_bytes()
    except (ValueError, OSError) as error:
        parser.error(str(error))
    report = run(chosen, source, str(path))
    print(report)
    if not report:
        print(f"\nChange {path}, then run the command again.\nTo see a solution, add --solution.")
    else:
        following = chosen.number + 1 if chosen.number < len(exercises()) else ""
        print(f"\nNext: {PROGRAM} {following}".rstrip())
    return 130 if isinstance(report.error, KeyboardInterrupt) else int(not report)


if __name__ == "__main__":
    with lasting_streams():
        sys.exit(main())
