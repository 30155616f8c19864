"""No name is public that PyTorch has not, but for those listed here with a reason."""

import json
from functools import reduce
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import nanotorch as torch

KNOWN: dict[str, list[str]] = json.loads(
    (Path(__file__).parent / "golden" / "names.json").read_text("utf-8")
)
IN_TENSOR_STR = "PyTorch keeps it in `torch._tensor_str`"
PROGRAMS = "lets `import torch` give nanotorch"
OWN_VIEW = "shows a graph, for which PyTorch needs other packages"
STREAM = "what functions of random numbers draw; PyTorch has it in C++"
OWN: dict[str, dict[str, str]] = {
    "": {"as_torch": PROGRAMS}
    | dict.fromkeys(["get_printoptions", "printoptions"], IN_TENSOR_STR),
    "autograd": dict.fromkeys(["make_dot", "print_graph"], OWN_VIEW),
    "Generator": dict.fromkeys(
        [
            "bernoulli", "cauchy", "draw32", "draw64", "exponential", "geometric", "integers",
            "log_normal", "multinomial", "naturals", "normal", "permutation", "uniform",
            "uniform32", "uniform64",
        ],
        STREAM,
    ),
}  # fmt: skip


def names_at(place: str) -> set[str]:
    """The public names of a module or class; a package's modules are not meant."""
    found: Any = reduce(getattr, filter(None, place.split(".")), torch)
    return {
        name
        for name in dir(found)
        if name[0] != "_" and not isinstance(getattr(found, name, None), ModuleType)
    }


# What is one file shows what it imports too, and its helpers.
FILES = {"nn.init", "linalg"}


@pytest.mark.parametrize("place", sorted(set(KNOWN) - FILES))
def test_every_name_is_pytorchs(place: str) -> None:
    assert names_at(place) - set(KNOWN[place]) == set(OWN.get(place, {}))


def test_a_name_of_our_own_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.Tensor, "clamp_numbers_", torch.Tensor.clamp_, raising=False)
    with pytest.raises(AssertionError):
        test_every_name_is_pytorchs("Tensor")
