"""The checks around every test are seen to fail on tests that deserve it."""

import shutil
from pathlib import Path

from tests.several import PYTHON, ROOT, ended

BODIES = {
    "grad_mode": "torch.set_grad_enabled(False)",
    "dtype": "torch.set_default_dtype(torch.float64)",
    "seeds": "assert f'{torch.rand(1).item():.4f}' == '0.4963'",
    "the_same_seeds": "assert f'{torch.rand(1).item():.4f}' == '0.4963'",
}


def test_a_leak_is_seen_and_seeds_are_fixed(tmp_path: Path) -> None:
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    tests = [f"def test_{name}():\n    {body}\n" for name, body in BODIES.items()]
    source = "\n\n".join(["import nanotorch as torch\n", *tests])
    (tmp_path / "test_it.py").write_text(source, "utf-8")
    command = (PYTHON, "-m", "pytest", "-v", "-p", "no:cacheprovider", ".")
    code, shown, _ = ended(*command, cwd=tmp_path)
    assert code == 1
    assert "test_seeds PASSED" in shown
    assert "test_the_same_seeds PASSED" in shown
    grad_mode, dtype = shown.index("left grad mode"), shown.index("left the default dtype")
    assert shown.index("ERROR at teardown of test_grad_mode") < grad_mode
    assert shown.index("ERROR at teardown of test_dtype") < dtype
    assert "4 passed, 2 errors" in shown
