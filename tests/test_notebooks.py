"""The notebooks run from top to bottom, and what their text says of the results is so."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = Path(__file__).parents[1] / "docs" / "notebooks"
LARGEST = 1_500_000  # bytes of all outputs of a notebook
PICTURES = {
    "characters": 2, "minimum": 4, "mistakes": 0, "regression": 2, "two_moons": 3, "vanishing": 3,
}  # fmt: skip


def outputs(notebook: Any) -> Iterator[Any]:
    for cell in notebook.cells:
        yield from cell.get("outputs", ())


@pytest.fixture(scope="module", params=sorted(PICTURES))
def executed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A notebook with its outputs, run in an empty directory that stays empty."""
    jupytext = pytest.importorskip("jupytext")
    nbclient = pytest.importorskip("nbclient")
    directory = tmp_path_factory.mktemp("notebook")
    notebook = jupytext.read(NOTEBOOKS / f"{request.param}.py")
    where = {"metadata": {"path": str(directory)}}
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3", resources=where).execute()
    assert not list(directory.iterdir())
    notebook.metadata.name = request.param
    return notebook


def pictures(notebook: Any) -> int:
    data = [output.data for output in outputs(notebook) if "data" in output]
    return sum("image/png" in each or "image/gif" in each.get("text/html", "") for each in data)


def number(pattern: str, text: str) -> float:
    found = re.search(pattern, text)
    assert found, text
    return float(found[1])


@pytest.mark.slow
def test_it_shows_what_it_says(executed: Any) -> None:
    name = executed.metadata.name
    printed = "".join(output.text for output in outputs(executed) if "text" in output)
    assert not [output for output in outputs(executed) if output.get("name") == "stderr"]
    assert pictures(executed) == PICTURES[name]
    results = [each for each in outputs(executed) if each.output_type == "execute_result"]
    assert all("text/html" in each.data for each in results), results
    assert sum(len(str(output)) for output in outputs(executed)) < LARGEST
    if name == "regression":
        assert number(r"after 1000 steps: slope (\S+),", printed) < 1.5
        walked = re.search(r"SGD: +(.*)\nleast squares: (.*)\n", printed)
        assert walked, printed
        assert walked[1] == walked[2]
    elif name == "two_moons":
        assert number(r"right (\S+)%", printed) > 98
    elif name == "vanishing":
        assert number(r"no hidden layer +loss (\S+)", printed) == pytest.approx(0.6931, abs=1e-3)
        assert number(r"one hidden layer +loss (\S+)", printed) < 0.01
        assert number(r"after 400 steps: (\S+)", printed) < 0.05
    elif name == "characters":
        assert number(r"loss at first: (\S+)", printed) == pytest.approx(4.1, abs=0.3)
        assert number(r"loss at last: (\S+);", printed) < 2.2
        assert printed.count(" True") + printed.count("[True") == 6
    elif name == "mistakes":
        assert len(re.findall(r"^\w+(Error|Warning): ", printed, re.MULTILINE)) == 10
        assert "exp saved it as its result at Cell In[4]:3\n      y = x.exp()" in printed
        assert "ipykernel" not in printed


def test_all_notebooks_are_run() -> None:
    assert {path.stem for path in NOTEBOOKS.glob("*.py")} == set(PICTURES)
