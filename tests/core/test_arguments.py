"""Arguments: of the wrong kind, in their former order; memory that is used again; the machine."""

import argparse
import inspect
import platform
import subprocess
import sys

import numpy as np
import pytest

import nanotorch as torch
from nanotorch import distributed, multiprocessing
from nanotorch._core import arguments, call_site
from nanotorch._core.arguments import as_int, as_ints
from nanotorch.distributed.group import launcher
from nanotorch.train.config.sections import ConfigError
from nanotorch.train.runs.sweep import sweep
from nanotorch.utils.data import DataLoader


def test_an_error_without_an_operation_names_none() -> None:
    """Called by the user's own code, no argument of an operation is at fault."""
    with pytest.raises(TypeError, match=r"^expected int, not str$"):
        as_int("a")
    with pytest.raises(TypeError, match=r"^expected tuple of ints, but found str at pos 1$"):
        as_ints((0, "a"))


def test_the_function_called_first_is_named() -> None:
    """`tile` is made of other operations."""
    with pytest.raises(TypeError, match=r"^tile\(\): argument 'dims' \(posi"):
        torch.ones(2, 2).tile("a")


def test_signatures_are_the_same_in_regions() -> None:
    """Functions that have other code in autocast or under `vmap` show their own parameters."""
    f = torch.nn.functional
    functions = (
        torch.matmul, torch.cat, f.mse_loss, f.conv2d, f.dropout, torch.Tensor.matmul,
        torch.prod, torch.combinations, torch.Tensor.quantile,
    )  # fmt: skip

    def shown() -> list[str]:
        return [str(inspect.signature(function)) for function in functions]

    outside = shown()
    assert all(text.startswith("(input") for text in outside[2:])
    with torch.autocast("cpu"):
        assert shown() == outside
    inside: list[list[str]] = []
    torch.vmap(lambda x: (inside.append(shown()), x)[1])(torch.ones(2))
    assert inside == [outside]
    assert not any("*args" in text for text in outside[2:])


def test_the_former_order_is_told_to_be_deprecated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The warning names what is to be written instead, and is not repeated."""
    monkeypatch.setattr(call_site, "said", set())
    x = torch.ones(2)
    with pytest.warns(UserWarning, match=r"add_\(Tensor other, \*, Number alpha = 1\)") as caught:
        x.add_(2, x).sub_(2, x)
    assert [w.filename for w in caught] == [__file__]


FAULTS = """
import resource
import numpy as np
{first}
def work():
    return [np.ones(800_000, np.float32) for _ in range(4)]
for _ in range(5):
    work()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    work()
print((resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) // 5)
"""


def faults(first: str) -> int:
    """How many pages the system hands out for four arrays of 3 MB that were there before."""
    source = FAULTS.format(first=first)
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, check=True)
    return int(done.stdout)


@pytest.mark.skipif(
    sys.platform != "linux" or platform.libc_ver()[0] != "glibc",
    reason="other C libraries do otherwise",
)
def test_freed_memory_is_kept() -> None:
    assert faults("import nanotorch") < 100
    assert faults("") > 1000


def test_unknown_keywords_of_options_are_refused() -> None:
    for given in (torch.ones(2), 0.0):
        with pytest.raises(TypeError, match="normal"):
            torch.normal(given, 1.0, foo=1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'foo'"):
        torch.zeros(2, foo=1)
    with pytest.raises(TypeError, match=r"^tril_indices\(\): argument 'row'"):
        torch.tril_indices(torch.ones(2), 2)


def test_a_bound_method_has_a_signature() -> None:
    assert list(inspect.signature(torch.ones(2).sum).parameters) == ["dim", "keepdim", "dtype"]
    assert list(inspect.signature(torch.ones(2).add).parameters) == ["other", "alpha"]


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_a_power_of_integers_by_a_number_of_numpy_is_a_float(kind: type) -> None:
    x = torch.tensor([1, 4, 0])
    assert torch.pow(x, kind(1.5)).tolist() == [1.0, 8.0, 0.0]
    assert (x > 0).pow(kind(1.5)).tolist() == [1.0, 1.0, 0.0]
    assert torch.pow(x, np.int64(2)).tolist() == [1, 16, 0]


def test_what_needs_processes_says_so_where_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """In WebAssembly; a loader with workers reads all the same, after one warning."""
    monkeypatch.setattr(arguments, "WEBASSEMBLY", True)
    for call in (
        lambda: multiprocessing.spawn(print),
        lambda: multiprocessing.Refused(target=print),
        lambda: distributed.init_process_group(rank=1, world_size=2),
        launcher,
        lambda: sweep(argparse.Namespace()),
    ):
        with pytest.raises((RuntimeError, ConfigError), match=arguments.NO_PROCESSES):
            call()
    workers = {"num_workers": 2, "prefetch_factor": 4, "persistent_workers": True, "timeout": 9}
    with pytest.warns(UserWarning, match="num_workers=0") as caught:
        loader = DataLoader([1, 2, 3], 2, **workers)
    assert [batch.tolist() for batch in loader] == [[1, 2], [3]]
    assert [w.filename for w in caught] == [__file__]
