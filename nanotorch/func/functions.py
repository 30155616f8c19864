"""The rules under `vmap` of functions of `ops` that are no operations."""

import inspect
from typing import Any

from nanotorch._core.arguments import flat_args, map_args
from nanotorch._core.tensor import Tensor
from nanotorch.func.batched import (
    DYNAMIC,
    NO_RULE,
    Batch,
    Batched,
    FunctionRule,
    active,
    all_values,
    along,
    batch_tensor,
    for_each,
    function_in_batch,
    in_place,
    looped,
    make_sample,
    never,
    stacked,
    take_sample,
    under_vmap,
    wholes,
)
from nanotorch.ops import (
    creation,
    elementwise,
    gathering,
    joining,
    matrix,
    memory,
    random,
    reduction,
    shape,
    sorting,
    statistics,
)
from nanotorch.ops.arguments import parse_shape, require
from nanotorch.ops.creation import empty
from nanotorch.ops.memory import checked_layout, layout_of, memory_extent
from nanotorch.ops.random import default_generator
from nanotorch.ops.shape import parse_ints, reshape

# Functions of shapes and memory


def reshape_batched(function: Any, batch: Batch, args: Any, kwargs: Any) -> Any:
    """`reshape` of each sample."""
    input, *given = args
    if not isinstance(input, Batched):
        return function(*args, **kwargs)
    size = parse_ints("reshape", "shape", tuple(given) or (kwargs["shape"],))
    return make_sample(reshape(input._whole, (batch.size, *size)), batch)


def as_strided_batched(function: Any, batch: Batch, args: Any, kwargs: Any) -> Any:
    """`as_strided` of each sample, by one view of the whole batch."""
    given = dict(zip(("input", "size", "stride", "storage_offset"), args, strict=False)) | kwargs
    whole = given["input"]._whole
    first = layout_of(all_values(whole))[2]
    sizes, strides, offset = checked_layout(
        (tuple(whole.shape[1:]), whole.stride()[1:], first), given["size"], given["stride"],
        given.get("storage_offset"),
    )  # fmt: skip
    start = offset - first
    end, own = [
        memory_extent(n, s) for n, s in ((sizes, strides), (whole.shape[1:], whole.stride()[1:]))
    ]
    require(0 in sizes or 0 <= start <= start + end <= own, "as_strided(): beyond a sample")
    every = whole, (batch.size, *sizes), (whole.stride(0), *strides), offset
    return make_sample(function_in_batch(function, as_strided_batched, False, every, {}), batch)


def linear_batched(function: Any, batch: Batch, args: Any, kwargs: Any) -> Any:
    """`linear` of each sample.

    The bias is not added in place: samples with different biases may share one product.
    """
    given = dict(zip(("input", "weight", "bias"), args, strict=False)) | kwargs
    bias = given.pop("bias", None)
    out = function(**given)
    return out if bias is None else out + bias


# Random numbers under `vmap`: an error, the same for all samples, or different ones.
#
# A function draws different numbers for all samples at once, in PyTorch's order. The next outer
# `vmap` applies its own rule to this call.


ERROR = (
    "vmap: called random operation while in randomness error mode. Please either use the 'same' or "
    "'different' randomness flags on vmap or perform the randomness operation out of vmap"
)
SAME = "vmap with randomness='same' of a tensor that differs between samples"
NOT_IN_PLACE = "vmap with randomness='different' fills in place only what differs between samples"


def call_outside_batch(function: Any, rule: FunctionRule, args: Any, kwargs: Any) -> Any:
    """Call the function by the rule of the next outer `vmap`, or directly if there is none."""
    held = active.batches
    active.batches = held[:-1]
    try:
        return function_in_batch(function, rule, True, args, kwargs)
    finally:
        active.batches = held


def has_sample(args: Any, kwargs: Any, batch: Batch) -> bool:
    """Whether an argument is a sample of the batch."""
    return any(isinstance(v, Batched) and v._batch is batch for v in flat_args((args, kwargs)))


def refuse_error(batch: Batch) -> None:
    """Refuse random numbers if the batch's mode of randomness is "error"."""
    if batch.randomness == "error":
        raise RuntimeError(ERROR)


def sized(several: bool) -> FunctionRule:
    """The rule of functions of a shape: ``several`` arguments, or the last argument."""

    def rule(function: Any, batch: Batch, args: Any, kwargs: Any) -> Any:
        refuse_error(batch)
        if any(isinstance(value, Tensor) for value in flat_args((args, kwargs))):
            return by_values(function, batch, args, kwargs)
        if batch.randomness == "same":
            return call_outside_batch(function, rule, args, kwargs)
        size = kwargs.get("size")
        if several:
            shape, args = parse_shape("rand", args, size), ()
        elif size is None:
            shape, args = tuple(args[-1]), args[:-1]
        else:
            shape = tuple(size)
        drawn = call_outside_batch(function, rule, args, {**kwargs, "size": (batch.size, *shape)})
        return make_sample(drawn, batch)

    return rule


def alike(function: Any, batch: Batch, args: Any, kwargs: Any) -> Any:
    """The rule of functions that use only the shape and dtype of a tensor."""
    refuse_error(batch)
    input, *rest = args
    if batch.randomness == "same":
        model = empty(tuple(input.shape), dtype=input.dtype)
        return call_outside_batch(function, alike, (model, *rest), kwargs)
    whole = batch_tensor(input.detach(), batch).contiguous()
    return make_sample(call_outside_batch(function, alike, (whole, *rest), kwargs), batch)


def by_values(function: Any, batch: Batch, args: Any, kwargs: Any) -> Any:
    """The rule of functions that draw a number for each element of their tensors."""
    refuse_error(batch)
    if batch.randomness == "same":
        if has_sample(args, kwargs, batch):
            raise RuntimeError(SAME)
        return call_outside_batch(function, by_values, args, kwargs)
    shape = next(v for v in flat_args((args, kwargs)) if isinstance(v, Tensor)).shape

    def whole(value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        return batch_tensor(value.expand(shape) if value.ndim < len(shape) else value, batch)

    given = map_args((args, kwargs), whole)
    return make_sample(call_outside_batch(function, by_values, *given), batch)


def by_rows(function: Any, batch: Batch, args: Any, kwargs: Any) -> Any:
    """The rule of `multinomial`, whose input is a vector or a matrix of rows of weights."""
    refuse_error(batch)
    input = args[0]
    if batch.randomness == "same" or input.ndim == 1:
        return by_values(function, batch, args, kwargs)
    whole = batch_tensor(input, batch)
    drawn = call_outside_batch(function, by_rows, (whole.flatten(0, 1), *args[1:]), kwargs)
    return make_sample(drawn.unflatten(0, whole.shape[:2]), batch)


def filling(function: Any, batch: Batch, args: Any, kwargs: Any) -> Any:
    """The rule of functions that fill a tensor."""
    refuse_error(batch)
    input, *rest = args
    mine = isinstance(input, Batched) and input._batch is batch
    if batch.randomness == "same":
        if has_sample(rest, kwargs, batch):
            raise RuntimeError(SAME)
        if not mine:
            return call_outside_batch(function, filling, args, kwargs)
        model = empty(tuple(input.shape), dtype=input.dtype)
        return input.copy_(call_outside_batch(function, filling, (model, *rest), kwargs))
    if not mine:
        raise RuntimeError(NOT_IN_PLACE)
    given = [
        batch_tensor(v.expand(input.shape), batch) if isinstance(v, Tensor) else v for v in rest
    ]
    call_outside_batch(function, filling, (input._whole, *given), kwargs)
    return input


def each(function: Any, batch: Batch, args: Any, kwargs: Any) -> Any:
    """The rule of other functions: a call for each sample; for "same", from the same state."""
    refuse_error(batch)
    if batch.randomness == "same" and not has_sample(args, kwargs, batch):
        return call_outside_batch(function, each, args, kwargs)
    state = default_generator.get_state()
    found = []
    for k in range(batch.size or 1):
        if batch.randomness == "same":
            default_generator.set_state(state)
        given = map_args((args, kwargs), lambda v, k=k: take_sample(v, batch, k))  # type: ignore[misc]
        found.append(call_outside_batch(function, each, *given))
    return make_sample(stacked(found, batch.size), batch)


# The functions of each rule, by module.


NO_ALLCLOSE = "vmap over torch.allclose isn't supported yet; compare the tensors of all samples"
RULES_OF_FUNCTIONS: dict[Any, dict[FunctionRule, str]] = {
    creation: {for_each: "new_empty new_full new_ones new_zeros", wholes: "convert"},
    elementwise: {never(NO_ALLCLOSE): "allclose", never(NO_RULE.format("equal")): "equal"},
    gathering: {looped: "take_along_dim", never(DYNAMIC.format("nonzero")): "argwhere nonzero"},
    joining: {looped: "repeat_interleave"},
    matrix: {linear_batched: "linear"},
    memory: {as_strided_batched: "as_strided", in_place: "apply_ fill_diagonal_"},
    random: {
        sized(True): "rand randn",
        sized(False): "normal randint",
        alike: "rand_like randint_like randn_like",
        by_values: "bernoulli",
        by_rows: "multinomial",
        each: "randperm",
        filling: "bernoulli_ exponential_ normal_ random_ uniform_",
    },
    reduction: {along: "all any argmax argmin count_nonzero"},
    shape: {reshape_batched: "reshape"},
    sorting: {
        looped: "histc isin searchsorted",
        never(DYNAMIC.format("_unique2")): "unique",
        never(DYNAMIC.format("unique_consecutive")): "unique_consecutive",
    },
    statistics: {looped: "cov histogram quantile_of"},
}
for _module, _rules in RULES_OF_FUNCTIONS.items():
    for _rule, _names in _rules.items():
        for _name in _names.split():
            under_vmap(_rule, random=_module is random)(inspect.unwrap(getattr(_module, _name)))
