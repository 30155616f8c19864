"""The pictures of the README are what the script makes of today's trainings."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "img"
LARGEST = 600_000  # bytes of all pictures


@pytest.mark.slow
def test_pictures_are_made_anew(tmp_path: Path) -> None:
    """Each is a picture of the same size; the graph is missing where there is no Chromium."""
    image = pytest.importorskip("PIL.Image")
    script = [sys.executable, "scripts/pictures.py", str(tmp_path)]
    done = subprocess.run(script, cwd=ROOT, capture_output=True, text=True, check=True)
    shipped = {path.name: path for path in PICTURES.iterdir()}
    made = {path.name for path in tmp_path.iterdir()}
    assert made | ({"graph.png"} if "no graph.png" in done.stderr else set()) == set(shipped)
    for name in made:
        with image.open(tmp_path / name) as now, image.open(shipped[name]) as before:
            assert (now.format, now.size) == (before.format, before.size)
            frames, expected = getattr(now, "n_frames", 1), getattr(before, "n_frames", 1)
            assert 0.8 * expected <= frames <= 1.2 * expected
            now.seek(frames - 1)
            colors = now.convert("RGB").getcolors(now.width * now.height)
            assert len(colors) > 20
            assert max(count for count, _ in colors) < 0.9 * now.width * now.height  # not empty
    assert sum(path.stat().st_size for path in shipped.values()) <= LARGEST
