"""The dtypes that autocast changes, for the operations of the table in `tests.ops`."""

import warnings
from typing import Any

import numpy as np

from tests.ops.samples import TABLE
from tests.ops.sampling import Call, Row, Sample, find, is_inplace

KINDS = ("float32", "bfloat16", "float16", "float64")
SAMPLES = 2  # of each operation
# In PyTorch `roll` and `matrix_exp` call `cat`, which refuses one of the lower dtypes. Its `pinv`
# and `local_response_norm` are made of other operations, its `cholesky` is a former name, and its
# `bincount` computes weights of half precision in float64. It has no bfloat16 in the last four.
OTHERS = (
    "roll", "matrix_exp", "linalg.matrix_exp", "linalg.pinv", "local_response_norm", "cholesky",
    "bincount", "logdet", "linalg.matrix_norm of values", "norm of values", "affine_grid",
)  # fmt: skip


def _dtypes(torch: Any, name: str, row: Row, sample: Sample, kind: str, region: Any) -> str:
    """The dtypes of the results, or the error of a `cat`; "" for another error."""

    def make(array: np.ndarray) -> Any:
        tensor = torch.tensor(array)
        return tensor.to(getattr(torch, kind)) if array.dtype == np.float64 else tensor

    arrays = [i.draw(k, "float64") for k, i in enumerate(sample.inputs())]
    try:
        if row.call is not None:
            call, own = row.call, lambda *args, **named: call(torch, *args, **named)
        else:
            own = find(torch, row.torch or name)
        ready = Call(torch, own, sample, arrays, make, inplace=is_inplace(name))
        with torch.autocast("cpu", dtype=region):
            outs = ready()
    except Exception as error:
        return "autocast refuses" if "autocast" in str(error) else ""
    return " ".join(str(getattr(out, "dtype", "-")).removeprefix("torch.") for out in outs)


def changed(torch: Any) -> dict[str, list[str]]:
    """The dtypes of results in regions of bfloat16 and float16, where one is not the input's."""
    found = {}
    with warnings.catch_warnings(action="ignore"):
        for name, row in TABLE.items():
            samples = row.samples[:SAMPLES] if row.torch is not None else ()
            for number, sample in enumerate(samples if name not in OTHERS else ()):
                for kind in KINDS:
                    regions = torch.bfloat16, torch.float16
                    told = [_dtypes(torch, name, row, sample, kind, region) for region in regions]
                    words = set(" ".join(told).split())
                    if words & {*KINDS, "autocast"} - {kind}:
                        found[f"{name}:{number} {kind}"] = told
    return found
