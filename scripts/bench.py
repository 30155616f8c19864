"""Time training steps of nanotorch beside NumPy by hand, PyTorch, and other libraries.

    python scripts/bench.py                   # everything; some minutes
    python scripts/bench.py --only MLP        # workloads whose group or name matches
    python scripts/bench.py --profile BCE     # where the time of a step goes
    python scripts/bench.py --json out.json --check

The groups are steps, chains, loader, ops, import, memory. A training step is zero_grad, forward,
loss, backward, and SGD with momentum, in float32. It is compared with those of PyTorch,
autograd, MyGrad, DeZero, JAX and tinygrad that are installed.

All candidates of a workload take turns in one process, so that a machine whose speed drifts slows
them alike: read the ratios, not the microseconds. Before anything is timed, the losses of all
candidates are compared, so that nobody wins by computing something else. All use one thread
(`--threads`); PyTorch is also measured with its default number.
"""

import argparse
import json
import os
import platform
import re
import sys
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))


def pattern(text: str) -> re.Pattern[str]:
    """The regular expression of `--only` or `--profile`; case does not matter."""
    try:
        return re.compile(text, re.IGNORECASE)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not a regular expression: {error}") from None


def arguments() -> argparse.Namespace:
    """The arguments of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--only", metavar="PATTERN", type=pattern, help="workloads that match in group or name")
    add("--profile", metavar="PATTERN", type=pattern, help="profile the matching steps")
    add("--threads", type=int, default=1, help="threads of each candidate (default: 1)")
    add("--times", action="store_true", help="also print medians and minima")
    add("--json", metavar="FILE", type=Path, help="also write the figures to FILE")
    add("--check", action="store_true", help="exit with 1 if a target is missed")
    add("--markdown", action="store_true", help="print the table of docs/benchmarks.md instead")
    add("--docs", metavar="MACHINE", help="write it there under this title, and to README.md")
    options = parser.parse_args()
    if options.docs and options.only:
        parser.error("--docs needs all figures; remove --only")
    return options


def limit_threads(number: int) -> None:
    """Set the number of threads of NumPy's BLAS, before it is loaded.

    OMP_NUM_THREADS and MKL_NUM_THREADS stay unchanged: they determine PyTorch's default.
    """
    for name in ("OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
        os.environ[name] = str(number)


def machine() -> str:
    """The name of the processor and the number of its cores."""
    name = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        found = re.search(r"model name\s*: (.*)", information.read_text("utf-8"))
        name = found[1] if found else name
    return f"{os.cpu_count()} x {name}"


def versions() -> str:
    """The versions of Python and of the libraries that are installed."""
    found = [f"Python {platform.python_version()}"]
    for name in ("numpy", "torch", "autograd", "mygrad", "dezero", "jax", "tinygrad"):
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    return ", ".join(found)


def profile(wanted: re.Pattern[str]) -> None:
    """Print where the time of training steps goes."""
    from benchmarks.anatomy import describe
    from benchmarks.libraries import Parts
    from benchmarks.workloads import WORKLOADS

    import nanotorch

    for workload in WORKLOADS:
        if wanted.search(f"{workload.group} {workload.name}"):
            made = workload.library(nanotorch)
            if isinstance(made, Parts):
                print(describe(workload.name, made, workload.by_hand()), end="\n\n")
            else:
                print(f"{workload.name} is not a training step.", end="\n\n")


def measure(options: argparse.Namespace) -> bool:
    """Measure and report; return whether all targets were reached, or True without `--check`."""
    # Imported here: the number of threads must be set before NumPy is loaded.
    from benchmarks import fresh, measuring, rivals, table, targets, workloads

    wanted = options.only or pattern("")
    field = workloads.Field(options.threads, rivals.installed())
    names = field.names()
    chosen = [w for w in workloads.WORKLOADS if wanted.search(f"{w.group} {w.name}")]
    rows = measuring.run(chosen, field.candidates) + fresh.run(wanted, names, field.rivals)
    measuring.announce("")
    if not rows:
        sys.exit("no workload matches; --help lists the groups")
    about = {"machine": machine()}
    about["versions"] = versions()
    if options.json:
        content = {"about": about, "threads": options.threads, "rows": rows}
        options.json.write_text(json.dumps(content, indent=1), "utf-8")
    text = table.markdown(rows, names, about)
    if options.docs:
        table.write(ROOT / "docs" / "benchmarks.md", ROOT / "README.md", options.docs, text)
    print(text if options.markdown else table.ratios(rows, names))
    if options.times:
        print("", table.times(rows, names), sep="\n")
    if not options.check:
        return True
    lines, good = targets.report(rows, workloads.torch_limited(options.threads))
    print("", lines, sep="\n")
    return good


def main() -> int:
    """Return 1 if a target was missed."""
    options = arguments()
    limit_threads(options.threads)
    if options.profile:
        profile(options.profile)
        return 0
    return 0 if measure(options) else 1


if __name__ == "__main__":
    sys.exit(main())
