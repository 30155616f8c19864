"""Calls with every argument by its name, PyTorch's own or NumPy's.

Nothing here knows a framework: `scripts/golden/keywords.py` asks PyTorch with it, and
`test_keywords` nanotorch.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tests.ops.sampling import Call, Sample, is_inplace

# What PyTorch calls an argument -> what NumPy and others call it.
OTHER_NAMES = {
    "dim": ("axis",), "keepdim": ("keepdims",), "input": ("x", "a", "x1"), "other": ("x2",),
}  # fmt: skip
PLACES = ("", "Tensor.", "nn.functional.", "special.")  # where a row's operation may stand


def found(lib: Any, path: str) -> Callable[..., Any] | None:
    """What a framework has at a path; None if it has nothing."""
    for name in path.split("."):
        lib = getattr(lib, name, None)
    return lib if callable(lib) else None


def prepared(lib: Any, path: str, sample: Sample, make: Any) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of one sample, those without a name and those with one."""
    arrays = [i.draw(k, "float64") for k, i in enumerate(sample.inputs())]
    call = Call(lib, len, sample, arrays, make)
    args = list(call.args)
    if is_inplace(path):
        args[0] = args[0].clone()
    return args, call.kwargs


def by_name(path: str, args: Sequence[Any], names: Sequence[str]) -> tuple[Any, dict[str, Any]]:
    """The arguments under these names; a method's tensor stands alone, in front."""
    own = list(args[:1]) if path.startswith("Tensor.") else []
    return own, dict(zip(names, args[len(own) :], strict=True))


def spellings(named: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The arguments with each of NumPy's names for one of them."""
    for name in named.keys() & OTHER_NAMES.keys():
        for other in OTHER_NAMES[name]:
            yield {other if n == name else n: value for n, value in named.items()}
