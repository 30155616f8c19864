"""`vmap`: a function for one sample, run once for all samples of a batch."""

import functools
from collections.abc import Callable
from typing import Any

from nanotorch import ops
from nanotorch._core.batched import Batch, batched, differing, running, whole_of
from nanotorch._core.tensor import Tensor
from nanotorch.func.trees import TreeSpec, broadcast, tree_flatten, tree_unflatten
from nanotorch.ops.arguments import require
from nanotorch.ops.random import default_generator

# Which arguments of a function are differentiated, and what its results must be.


Numbers = int | tuple[int, ...]


def positions(argnums: Any, count: int) -> tuple[int, ...]:
    """The positions of the arguments to differentiate by, counted from the front."""
    given = argnums if isinstance(argnums, tuple) else (argnums,)
    for number in given:
        require(isinstance(number, int), "argnum must be int, got: {}", type(number))
        told = "Got argnum={}, but only {} positional inputs"
        require(-count <= number < count, told, number, count)
    found = tuple([number % count for number in given])
    require(0 < len(set(found)) == len(found), "argnums must be unique, got {}", found)
    return found


def chosen(args: tuple[Any, ...], argnums: Numbers) -> Any:
    """The argument, or the tuple of them."""
    found = positions(argnums, len(args))
    return args[found[0]] if isinstance(argnums, int) else tuple([args[n] for n in found])


def replaced(args: tuple[Any, ...], argnums: Numbers, new: Any) -> tuple[Any, ...]:
    """The arguments with others in the place of those that `chosen` gives."""
    found = positions(argnums, len(args))
    values = dict(zip(found, (new,) if isinstance(argnums, int) else new, strict=True))
    return tuple([values.get(n, arg) for n, arg in enumerate(args)])


def with_aux(result: Any, has_aux: bool, name: str) -> tuple[Any, Any]:
    """What a function returned, and what it returned besides; None where that is not asked for."""
    if not has_aux:
        return result, None
    pair = isinstance(result, tuple) and len(result) == 2
    told = "{}: output of function f should be a tuple: (output, aux) if has_aux is True"
    require(pair, told, name)
    return result


def need_tensors(values: list[Any], name: str) -> None:
    """Refuse results that are not tensors."""
    for value in values:
        told = "{}: expected f to return only tensors, got unsupported type {}"
        require(isinstance(value, Tensor), told, name, type(value))


def need_output(leaves: list[Any], name: str) -> None:
    """Refuse a function that returns nothing, or no tensors."""
    told = "{}: Expected f to be a function that has non-empty output"
    require(leaves and leaves != [None], told, name)
    need_tensors(leaves, name)


def need_floats(outputs: list[Tensor]) -> None:
    """Refuse results that have no gradient."""
    for tensor in outputs:
        told = "vjp(f, ...): All outputs of f must be floating-point Tensors, got dtype {}"
        require(tensor.is_floating_point(), told, tensor.dtype)


def need_smooth(values: list[Any]) -> None:
    """Refuse arguments that cannot be changed by a little."""
    for value in values:
        if isinstance(value, Tensor):
            told = "Expected floating-point numbers, but got: {}"
            require(value.is_floating_point(), told, value.dtype, error=ValueError)


# `vmap`: a function of single samples made one of whole batches.


def vmap(
    func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:  # fmt: skip
    """A function that applies ``func`` to every sample of a batch and stacks the results.

    ``func`` is called once, with tensors that stand for one sample; operations on them are done
    for all samples at once. So it cannot look at values, nor branch by them.

    Args:
        func: takes and returns nested tensors, without the batch's dimension.
        in_dims: which dimension of each argument counts the samples, nested as the arguments; None
            for what is the same for all. Default: the first. Keyword arguments are the same for
            all.
        out_dims: where that dimension comes to lie in each result; None for what is no tensor or
            the same for all.
        randomness: whether the samples are to draw "different" random numbers, the "same", or none
            ("error").
        chunk_size: how many samples to take at once. Default: all.

    Raises:
        ValueError: if dimensions do not fit arguments or results, sizes differ, or a result is no
            tensor.
        RuntimeError: for random numbers where they are an error; where ``func`` asks for values.
    """
    told = "Only allowed values for randomness are 'error', 'different', or 'same'. Got {}"
    require(randomness in ("error", "different", "same"), told, randomness)
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    name = getattr(func, "__name__", None) or repr(func)  # in messages

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        leaves, spec = tree_flatten(args)
        dims = input_dims(name, in_dims, leaves, spec)
        size = batch_size(leaves, dims)

        def at_once(leaves: list[Any], size: int) -> tuple[list[Any], TreeSpec, list[Any]]:
            batch = Batch(size, randomness)
            samples = [
                value if dim is None else batched(value.movedim(dim, 0) if dim else value, batch)
                for value, dim in zip(leaves, dims, strict=True)
            ]
            with running(batch):
                results, nested = tree_flatten(func(*tree_unflatten(samples, spec), **kwargs))
                places = output_dims(name, out_dims, nested)
                pairs = zip(results, places, strict=True)
                return [left(name, part, dim, batch) for part, dim in pairs], nested, places

        if chunk_size is None or chunk_size >= size:
            results, nested, _ = at_once(leaves, size)
            return tree_unflatten(results, nested)
        state = default_generator.get_state() if randomness == "same" else None
        chunks = []
        for start in range(0, size, chunk_size):
            if state is not None:
                default_generator.set_state(state)
            count = min(chunk_size, size - start)
            part = [
                value if dim is None else value.narrow(dim, start, count)
                for value, dim in zip(leaves, dims, strict=True)
            ]
            results, nested, places = at_once(part, count)
            chunks.append(results)
        columns = zip(zip(*chunks, strict=True), places, strict=True)
        whole = [column[0] if dim is None else ops.cat(column, dim) for column, dim in columns]
        return tree_unflatten(whole, nested)

    return wrapped


def input_dims(name: str, in_dims: Any, leaves: list[Any], spec: TreeSpec) -> list[int | None]:
    """The dimension that counts the samples, of each tensor among the arguments."""
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(f"vmap({name}): in_dims must be int or a tuple, got: {type(in_dims)}")
    if not spec.inner:
        raise ValueError(f"vmap({name})(<inputs>): got no inputs")
    dims = broadcast(in_dims, spec)
    if dims is None:
        raise ValueError(
            f"vmap({name}): in_dims={in_dims} is not compatible with the structure of `inputs`"
        )
    return [checked_dim(name, value, dim) for value, dim in zip(leaves, dims, strict=True)]


def checked_dim(name: str, value: Any, dim: Any) -> int | None:
    """The dimension of one argument, counted from the front."""
    if dim is None:
        return None
    if not isinstance(dim, int):
        raise ValueError(f"vmap({name}): in_dim must be either an integer or None, got {dim}")
    if not isinstance(value, Tensor):
        raise ValueError(
            f"vmap({name}): Got in_dim={dim} for an input of type {type(value)}. We cannot vmap "
            "over non-Tensor arguments, please use None as the respective in_dim"
        )
    if not -value.ndim <= dim < value.ndim:
        raise ValueError(f"vmap({name}): Got in_dim={dim} for a Tensor of {value.ndim} dimensions")
    return dim % value.ndim


def batch_size(leaves: list[Any], dims: list[int | None]) -> int:
    """How many samples there are."""
    sizes = [v.shape[dim] for v, dim in zip(leaves, dims, strict=True) if dim is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if any(size != sizes[0] for size in sizes):
        told = "vmap: Expected all tensors to have the same size in the mapped dimension, got "
        raise ValueError(f"{told}sizes {sizes}")
    return int(sizes[0])


def left(name: str, part: Any, dim: Any, batch: Batch) -> Any:
    """One result, as it is outside; refuse one that is no tensor, or that ``out_dims`` denies."""
    if dim is None:
        if differing(part, batch):
            raise ValueError(f"vmap({name}): a result of each sample needs a dimension in out_dims")
        return part
    if not isinstance(part, Tensor):
        raise ValueError(f"vmap({name}): `{name}` must only return Tensors, got {type(part)}")
    whole = whole_of(part, batch)
    return whole.movedim(0, dim) if dim else whole


def output_dims(name: str, out_dims: Any, spec: TreeSpec) -> list[Any]:
    """Where the samples come to lie in each result."""
    if not all(isinstance(d, int | None) for d in tree_flatten(out_dims)[0]):
        raise ValueError(f"vmap({name}): out_dims must hold ints and None, got {out_dims}")
    # One result may have its dimension in a tuple.
    single = isinstance(out_dims, tuple) and len(out_dims) == 1 and spec.type is None
    dims = broadcast(out_dims[0] if single else out_dims, spec)
    if dims is None:
        raise ValueError(
            f"vmap({name}): out_dims={out_dims} is not compatible with the structure of `outputs`"
        )
    return dims
