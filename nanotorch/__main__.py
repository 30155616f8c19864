"""The console command `nanotorch`; `python -m nanotorch program.py` is its `nanotorch run`."""

import sys

from nanotorch import __version__

COMMANDS = {
    "train": "train what a YAML file describes, or resume a run",
    "predict": "predict with the model of a run",
    "export": "write the model of a run as ONNX",
    "sweep": "train with many settings",
    "compare": "show runs side by side",
    "convert": "convert weights between PyTorch, safetensors and NumPy",
    "run": "run a program written for PyTorch: `import torch` gives nanotorch",
}
USAGE = "\n".join(
    ["usage: nanotorch COMMAND ...", "", "commands:"]
    + [f"  {name:9}{does}" for name, does in COMMANDS.items()]
    + ["", "`nanotorch COMMAND --help` says more; `nanotorch --version` prints the version."]
)


def main() -> int:
    """Run `nanotorch ...`; returns the exit code."""
    first, rest = sys.argv[1] if sys.argv[1:] else "", sys.argv[2:]
    if first == "run":
        run(rest, "nanotorch run")
        return 0
    if first in ("-h", "--help"):
        print(USAGE)
    elif first == "--version":
        print(f"nanotorch {__version__}")
    elif first == "convert":
        from nanotorch.serialization import convert

        return convert.main(rest, "nanotorch convert")
    elif first in COMMANDS:
        from nanotorch.train import cli

        command = getattr(cli, "main" if first == "train" else first)
        code: int = command(rest, f"nanotorch {first}")
        return code
    else:
        message = f"nanotorch: error: there is no command {first!r}\n\n" if first else ""
        print(f"{message}{USAGE}", file=sys.stderr)
        return 2
    return 0


def run(arguments: list[str], program: str) -> None:
    """Run a program as Python does, with nanotorch as `torch`."""
    from nanotorch.program import main

    main(arguments, program)


if __name__ == "__main__":
    run(sys.argv[1:], "python -m nanotorch")
