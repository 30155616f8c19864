"""What runs on GitHub and before a commit: it cannot run here, but what it names can be checked."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.test_readme import fences

ROOT = Path(__file__).parent.parent
WORKFLOWS = ROOT / ".github" / "workflows"
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PINNED = re.compile(r"[\w-]+/[\w-]+@v\d+\.\d+\.\d+")
JOB = {"name", "needs", "strategy", "runs-on", "timeout-minutes", "permissions", "environment"}
STEP = {"name", "id", "if", "uses", "with", "shell", "run"}
PROGRAM = re.compile(r"(?<!\S)(?:python )?((?:scripts|\.ci)/\S+)")


def problems(workflow: dict[Any, Any]) -> Iterator[str]:
    """What GitHub would refuse in a workflow, and what makes it depend on more than it says."""
    if unknown := workflow.keys() - {"name", True, "permissions", "concurrency", "env", "jobs"}:
        yield f"unknown keys {unknown}"
    if workflow.get("permissions") != {"contents": "read"}:
        yield "permissions of all jobs other than to read"
    jobs = workflow["jobs"]
    for name, job in jobs.items():
        needed = job.get("needs", [])
        for other in [needed] if isinstance(needed, str) else needed:
            if other not in jobs:
                yield f"{name}: needs {other}, which is no job"
        if "uses" in job:
            if not job["uses"].startswith("./") or not (ROOT / job["uses"]).is_file():
                yield f"{name}: uses {job['uses']}"
            continue
        if unknown := job.keys() - JOB - {"steps"}:
            yield f"{name}: unknown keys {unknown}"
        if not {"runs-on", "timeout-minutes", "steps"} <= job.keys():
            yield f"{name}: lacks a machine, a time limit or steps"
        for step in job.get("steps", []):
            if step.keys() - STEP or ("uses" in step) == ("run" in step):
                yield f"{name}: the keys of a step are {[*step]}"
            if "uses" in step and not PINNED.fullmatch(step["uses"]):
                yield f"{name}: {step['uses']} is not pinned to a version"
            for path in PROGRAM.findall(step.get("run", "")):
                if not (ROOT / path).is_file():
                    yield f"{name}: there is no {path}"


def read(name: str) -> dict[Any, Any]:
    return yaml.safe_load((WORKFLOWS / f"{name}.yml").read_text("utf-8"))  # type: ignore[no-any-return]


def runs(workflow: dict[Any, Any], job: str) -> list[str]:
    return [step["run"] for step in workflow["jobs"][job]["steps"] if "run" in step]


@pytest.mark.parametrize("name", [path.stem for path in WORKFLOWS.iterdir()])
def test_a_workflow_is_whole(name: str) -> None:
    assert [*problems(read(name))] == []


def test_what_is_wrong_is_seen() -> None:
    step: dict[str, Any] = {"uses": "actions/checkout@main"}
    job = {"needs": "b", "steps": [step, {"run": "python scripts/no.py", "uses": "a/b@v1.0.0"}]}
    workflow = {True: "push", "jobs": {"a": job, "c": {"uses": "./no.yml"}}, "on": 1}
    found = " ".join(problems(workflow))
    for part in (
        *["unknown keys {'on'}", "other than to read", "needs b, which", "lacks a machine"],
        *["checkout@main is not pinned", "['run', 'uses']", "no scripts/no.py", "uses ./no.yml"],
    ):
        assert part in found


def test_the_tests_run_as_the_readme_says_on_what_the_package_names() -> None:
    workflow = read("tests")
    matrix = workflow["jobs"]["tests"]["strategy"]["matrix"]
    kinds = PROJECT["project"]["classifiers"]
    pythons = [kind for kind in kinds if re.search(r":: 3\.\d+$", kind)]
    assert [f"Programming Language :: Python :: {python}" for python in matrix["python"]] == pythons
    assert PROJECT["project"]["requires-python"] == f">={matrix['python'][0]}"
    assert [name.partition("-")[0] for name in matrix["os"]] == ["ubuntu", "macos", "windows"]
    (command,) = [text.rstrip() for text in fences("sh") if "-m pytest" in text]
    windows = command.replace("python3", "python").replace(".venv/bin/", ".venv/Scripts/")
    assert runs(workflow, "tests") == [command, windows]
    assert runs(workflow, "check") == [".ci/run"]


def test_the_site_and_a_release_are_those_that_the_project_describes() -> None:
    docs, publish = read("docs"), read("publish")
    upload = docs["jobs"]["build"]["steps"][-1]
    assert runs(docs, "build")[-1] == "python scripts/docs.py"
    assert upload["with"]["path"] == "build/site"
    extras = re.findall(r"\.\[(\w+)\]", " ".join(runs(docs, "build")))
    assert extras == ["docs"]
    assert {*extras} <= PROJECT["project"]["optional-dependencies"].keys()
    assert publish[True] == {"push": {"tags": ["v*"]}}
    job = publish["jobs"]["publish"]
    assert job["permissions"] == {"id-token": "write"}  # trusted publishing: there is no token
    assert job["needs"] == ["tests", "build"]
    assert job["environment"]["url"].endswith(f"/{PROJECT['project']['name']}/")
    assert job["steps"][-1].keys() == {"uses"}
    text = (WORKFLOWS / "publish.yml").read_text("utf-8")
    assert "secrets." not in text


def test_before_a_commit_run_the_checks_of_ci() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))["repos"][0][
        "hooks"
    ]
    ci = re.findall(r"\.venv/bin/(ruff \w+|mypy)", (ROOT / ".ci" / "run").read_text("utf-8"))
    assert [hook["name"] for hook in hooks] == ci == ["ruff check", "ruff format", "mypy"]
    for hook in hooks:
        assert hook["entry"].startswith(f"python -m {hook['name']}")


def test_each_version_has_a_section_with_its_date() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    titles = re.findall(r"^## (.*)$", changes, re.MULTILINE)
    assert titles[0] == "[Unreleased]"
    versions = [re.fullmatch(r"\[(\d+\.\d+\.\d+)\] - (\d{4}-\d\d-\d\d)", t) for t in titles[1:]]
    assert all(versions)
    assert len(changes.splitlines()) < 200
    known = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert {*re.findall(r"^### (.*)$", changes, re.MULTILINE)} <= known
