"""Which functions know their dimension by NumPy's name ``axis`` too, and ``keepdim`` by its."""

from nanotorch._core.op import PUBLIC
from nanotorch._core.out import with_axis
from nanotorch._core.tensor import Tensor

# Those with an argument ``out`` have that already as functions. What is called very often, as
# `sum`, has the argument itself or, as `unsqueeze`, does without.
# fmt: off
NAMES = (
    "all", "amax", "amin", "aminmax", "any", "argmax", "argmin", "argsort",
    "count_nonzero", "cummax", "cummin", "cumprod", "cumprod_", "cumsum", "cumsum_", "diff",
    "index_fill", "index_fill_", "kthvalue", "log_softmax", "logcumsumexp", "logsumexp", "max",
    "median", "min", "mode", "nanmean", "nanmedian", "nanquantile", "nansum", "prod",
    "quantile", "renorm", "repeat_interleave", "scatter", "scatter_", "softmax", "sort",
    "std", "std_mean", "take_along_dim", "tensor_split", "topk", "trapezoid", "trapz",
    "unflatten", "var", "var_mean",
)
# fmt: on


def provide() -> None:
    """Give functions and methods the names, once all are declared and have ``out=``."""
    for name in NAMES:
        if name in PUBLIC and PUBLIC[name].__code__.co_name != "accepting_out":
            PUBLIC[name] = with_axis(PUBLIC[name])
        if name in vars(Tensor):
            setattr(Tensor, name, with_axis(vars(Tensor)[name]))
