"""What is told of configurations is true."""

import re
import subprocess
import sys
from pathlib import Path

from tests.train.examples import REGRESSION, write_example

TEXT = (Path(__file__).parents[2] / "configs" / "README.md").read_text("utf-8")


def test_the_program_with_a_layer_of_its_own_runs(tmp_path: Path) -> None:
    (program,) = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    path = write_example(tmp_path, REGRESSION.replace("layers:", "layers:\n    - {name: Scale}"))
    (tmp_path / "own.py").write_text(program, "utf-8")
    command = [sys.executable, "own.py", "--config", path.name, "--check"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "0 Scale" in done.stdout
