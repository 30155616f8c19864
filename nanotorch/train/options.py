"""How the commands take their options."""

import argparse
from typing import NoReturn


class Parser(argparse.ArgumentParser):
    """A parser that shows examples in its help, and tells a mistake in one line.

    Args:
        program: how the command is called.
        description: what it does.
        examples: what help ends with; `PROGRAM` stands for the program there.
    """

    def __init__(self, program: str, description: str, examples: str) -> None:
        super().__init__(
            prog=program,
            description=description,
            epilog=examples.replace("PROGRAM", program),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )

    def error(self, message: str) -> NoReturn:
        """End the program; `--help` says what the usage would."""
        self.exit(2, f"{self.prog}: error: {message}; --help shows what there is\n")
