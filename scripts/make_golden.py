"""Write every golden file anew: PyTorch's answers, which the tests compare with.

    python scripts/make_golden.py            # all of them
    python scripts/make_golden.py ops        # those of `scripts/golden/ops.py`

It needs a Python that has torch; the tests themselves need none.
"""

import argparse
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

SCRIPTS = Path(__file__).parent / "golden"


def main() -> None:
    """Run the scripts, each in a process of its own, since they set PyTorch's global state."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="scripts in `scripts/golden`; default: all")
    names = parser.parse_args().names
    known = {path.stem: path for path in sorted(SCRIPTS.glob("*.py"))}
    unknown = sorted(set(names) - set(known))
    if unknown:
        sys.exit(f"no such script: {', '.join(unknown)}; known: {', '.join(known)}")
    if find_spec("torch") is None:
        sys.exit(
            f"PyTorch is not installed for {sys.executable}: run this with a Python that has it"
        )
    for name in names or known:
        if code := subprocess.run([sys.executable, known[name]], check=False).returncode:
            sys.exit(f"{known[name]} failed with exit code {code}")


if __name__ == "__main__":
    main()
