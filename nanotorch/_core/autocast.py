"""Autocast: in its regions some operations compute in lower precision, others in float32.

`TABLE` says which. A function of the table is never aware of this: while a thread is in a region,
all functions of the table have the code of `code_in_autocast`, which converts their arguments if
its own thread is in a region. Modules and other functions get there because they call these.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache, partial
from importlib import import_module
from types import FunctionType
from typing import Any

from nanotorch._core import dtypes
from nanotorch._core.arguments import map_args
from nanotorch._core.grad_mode import mode
from nanotorch._core.op import OPS, PUBLIC, compile_and_call, compile_function
from nanotorch._core.substitutes import Substitutes, share_rule
from nanotorch._core.tensor import Tensor

Cast = Callable[[Tensor], Tensor]
Rule = Callable[[Any, Any], Cast]
DTYPES = (dtypes.float32, dtypes.bfloat16, dtypes.float16)  # of the tensors that are converted
PRIORITY = "Unexpected floating ScalarType in at::autocast::prioritize"


class _State(threading.local):
    """The state of one thread.

    Attributes:
        enabled, dtypes: by the type of a device, whether its autocast is on, and its lower dtype.
        region: the dtype of the region around the running code; None outside of regions, and inside
            the functions of the table.
        nesting: the number of regions around the running code.
        caching: whether conversions of parameters are kept until the outermost region ends.
        cache: these conversions, each with its parameter, by the parameter's `id`.
        former: what each `with` block restores, innermost last.
    """

    region: Any = None
    nesting = 0
    caching = True

    def __init__(self) -> None:
        self.enabled: dict[str, bool] = {}
        self.dtypes = {"cpu": dtypes.bfloat16}
        self.cache: dict[int, tuple[Tensor, Tensor]] = {}
        self.former: list[tuple[Any, ...]] = []

    def setting(self, device: str) -> tuple[bool, Any]:
        """Whether autocast is on for a device, and its lower dtype."""
        return self.enabled.get(device, False), self.dtypes.get(device, dtypes.float16)

    def set(self, device: str, enabled: bool, dtype: Any) -> None:
        """Turn autocast on or off for a device, and set its lower dtype."""
        before, _ = self.setting(device)
        if device == "cpu":
            if enabled is not before:
                substitute_functions()
                substitutes.count(1 if enabled else -1)
            self.region = dtype if enabled else None
        self.enabled[device], self.dtypes[device] = enabled, dtype

    def enter(self, device: str, enabled: bool, dtype: Any, caching: bool) -> None:
        """Begin a region."""
        self.former.append((device, *self.setting(device), self.caching))
        self.set(device, enabled, dtype)
        self.caching = caching
        self.nesting += 1

    def leave(self) -> None:
        """End the innermost region."""
        self.nesting -= 1
        if not self.nesting:
            self.cache.clear()
        *before, self.caching = self.former.pop()
        self.set(*before)


state = _State()


def region_again() -> Callable[[], AbstractContextManager[None]]:
    """A function that returns a block with the autocast of this call's place."""
    now = ("cpu", *state.setting("cpu"), state.caching)

    @contextmanager
    def block() -> Iterator[None]:
        state.enter(*now)
        try:
            yield
        finally:
            state.leave()

    return block


@contextmanager
def cache_of_its_own() -> Iterator[None]:
    """A block that neither uses nor keeps conversions from outside."""
    before, state.cache = state.cache, {}
    try:
        yield
    finally:
        state.cache = before


# The rules: each returns the conversion of a function's tensors.


def to_lower(region: Any, arguments: Any) -> Cast:
    """Convert all tensors to the lower dtype of the region."""

    def cast(tensor: Tensor) -> Tensor:
        keeps = (
            state.caching and mode.enabled and not mode.transforms and tensor.requires_grad
            and tensor._view is None and tensor.is_leaf and tensor.dtype is dtypes.float32
        )  # fmt: skip
        if not keeps:
            return tensor.to(region)
        held = state.cache.get(id(tensor))
        if held is None:
            held = state.cache[id(tensor)] = (tensor, tensor.to(region))
        return held[1]

    return cast


def to_single(region: Any, arguments: Any) -> Cast:
    """Convert all tensors to float32."""
    return lambda tensor: tensor.to(dtypes.float32)


def to_single_alone(region: Any, arguments: Any) -> Cast:
    """Convert all tensors to float32, unless `max_pool3d` is to return indices, too."""
    args, kwargs = arguments
    if kwargs.get("return_indices") or any(args[6:]):
        return lambda tensor: tensor
    return to_single(region, arguments)


def to_widest(region: Any, arguments: Any) -> Cast:
    """Convert all tensors to the lower dtype, or to float32 if one of them has it.

    Raises:
        RuntimeError: for the other one of float16 and bfloat16 before the first float32.
    """
    wanted = region

    def compare(value: Any) -> None:
        nonlocal wanted
        kind = value.dtype if isinstance(value, Tensor) else None
        if dtypes.float32 in (kind, wanted):
            wanted = dtypes.float32
        elif kind in DTYPES and kind is not region:
            raise RuntimeError(PRIORITY)

    map_args(arguments, compare)
    return lambda tensor: tensor.to(wanted)


def in_region(function: Any, rule: Rule, args: Any, kwargs: Any) -> Any:
    """Call a function of the table, with converted tensors if this thread is in a region."""
    region = state.region
    if region is None:
        return function(*args, **kwargs)
    state.region = None
    try:
        if kwargs.get("out") is None:  # as in PyTorch, forms with `out` convert nothing
            cast = rule(region, (args, kwargs))

            def convert(value: Any) -> Any:
                return cast(value) if isinstance(value, Tensor) and value.dtype in DTYPES else value

            args, kwargs = map_args((args, kwargs), convert)
        return function(*args, **kwargs)
    finally:
        state.region = region


# The functions of each rule, by the module that defines them.
TABLE: dict[Rule, dict[str, str]] = {
    to_lower: {
        "nanotorch.ops.matrix": "addmm baddbmm bmm linear matmul mm",
        "nanotorch.ops.activation": "prelu",
        "nanotorch.ops.convolution": (
            "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d"
        ),
        "nanotorch.ops.resampling": "affine_grid_generator",
        "nanotorch.ops.sequences": "elman_steps",
        "nanotorch.nn.functional.activation": "scaled_dot_product_attention",
    },
    to_single: {
        "nanotorch.ops.reduction": "prod",
        "nanotorch.ops.products": "cdist trace",
        "nanotorch.ops.statistics": "nanquantile quantile",
        "nanotorch.ops.linalg": "cholesky cholesky_solve inverse pinverse svd",
        "nanotorch.linalg": (
            "cholesky cholesky_ex eigh eigvalsh inv lstsq matrix_rank qr solve svd svdvals"
        ),
        "nanotorch.ops.convolution": (
            "reflection_pad1d reflection_pad2d replication_pad1d replication_pad2d "
            "replication_pad3d"
        ),
        "nanotorch.ops.sequences": "gru_steps lstm_steps",
        "nanotorch.nn.functional.spatial": (
            "adaptive_avg_pool3d adaptive_max_pool3d avg_pool3d grid_sample"
        ),
        "nanotorch.nn.functional.loss": (
            "binary_cross_entropy binary_cross_entropy_with_logits cosine_embedding_loss "
            "cross_entropy ctc_loss hinge_embedding_loss huber_loss kl_div l1_loss "
            "margin_ranking_loss mse_loss nll_loss poisson_nll_loss smooth_l1_loss "
            "triplet_margin_loss"
        ),
    },
    to_single_alone: {"nanotorch.nn.functional.spatial": "max_pool3d"},
    to_widest: {
        "nanotorch.ops.joining": "cat column_stack dstack hstack stack vstack",
        "nanotorch.ops.products": "combinations",
        "nanotorch.ops.indexing": "index_copy",
    },
}


def code_in_autocast(*args: Any, in_autocast: Any, **kwargs: Any) -> Any:
    """The code that replaces a function's own while any thread is in a region."""
    return in_autocast(args, kwargs)


substitutes = Substitutes("in_autocast", code_in_autocast)


@cache  # only once it is over: another thread must not find a part of the functions
def substitute_functions() -> None:
    """Find the functions of the table, before the first region."""
    for rule, homes in TABLE.items():
        for home, names in homes.items():
            module = import_module(home)
            for function in {f for name in names.split() for f in functions_of(module, name)}:
                own = substitutes.own.get(function, function.__code__)
                plain = FunctionType(
                    own, function.__globals__, own.co_name, function.__defaults__,
                    function.__closure__,
                )  # fmt: skip
                plain.__kwdefaults__ = function.__kwdefaults__
                substitutes.add(function, partial(in_region, share_rule(function, plain), rule))


def functions_of(module: Any, name: str) -> set[Any]:
    """The functions and methods of this name that compute a new tensor."""
    o = OPS.get(name)  # some operations are in a table of their module
    functions: list[Any] = [getattr(module, name, o and o.functions[name])]
    functions += [vars(Tensor).get(name), PUBLIC.get(name)]
    for function in functions:  # the list grows while the loop runs
        if hasattr(function, "__wrapped__"):
            functions.append(function.__wrapped__)
        if getattr(function, "__code__", None) is compile_and_call.__code__:
            compile_function(*function.__kwdefaults__["which"])
    return {f for f in functions if isinstance(f, FunctionType)}
