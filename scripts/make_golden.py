"""Write every golden file anew: PyTorch's answers, which the tests compare with.

Run it with a Python that has torch; the tests themselves need none. Names of scripts in
`scripts/golden` as arguments run those only.
"""

import subprocess
import sys
from pathlib import Path

SCRIPTS = Path(__file__).parent / "golden"


def main(names: list[str]) -> None:
    """Run the scripts, each in a process of its own, since they set PyTorch's global state."""
    known = {path.stem: path for path in sorted(SCRIPTS.glob("*.py"))}
    unknown = sorted(set(names) - set(known))
    if unknown:
        sys.exit(f"no such script: {', '.join(unknown)}; there are {', '.join(known)}")
    for name in names or known:
        subprocess.run([sys.executable, known[name]], check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
