"""`vmap`: a function of single samples made one of whole batches."""

import functools
from collections.abc import Callable
from typing import Any

from nanotorch import ops
from nanotorch._core.tensor import Tensor
from nanotorch.func.tree import Spec, broadcast, flatten, unflatten
from nanotorch.ops.generator import default_generator

RANDOM = (
    "vmap: called random operation while in randomness error mode. Please either use the 'same' or "
    "'different' randomness flags on vmap or perform the randomness operation out of vmap"
)


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """A function that applies ``func`` to every sample of a batch and stacks the results.

    ``func`` is called once for each sample, so that whatever runs for one sample runs for a
    batch: it may look at values and branch. It is as fast as the loop that it stands for.

    Args:
        func: takes and returns nested tensors, without the batch's dimension.
        in_dims: which dimension of each argument counts the samples, nested as the arguments; None
            for what is the same for all. Default: the first.
        out_dims: where that dimension comes to lie in each result; None for what is no tensor or
            the same for all, of which the first is given.
        randomness: "error", "different" or "same": what samples are to draw.
        chunk_size: accepted for PyTorch's sake.

    Raises:
        ValueError: if dimensions do not fit arguments or results, sizes differ, or a result is no
            tensor.
        RuntimeError: for random numbers where they are an error.
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            "Only allowed values for randomness are 'error', 'different', or 'same'. Got "
            f"{randomness}"
        )
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        name = name_of(func)
        leaves, spec = flatten(args)
        dims = input_dims(name, in_dims, leaves, spec)
        size = batch_size(leaves, dims)
        samples = Samples(leaves, spec, dims)
        if not size:
            results = [samples.absent(func, kwargs)]
            return collected(name, out_dims, results, 0)
        calls = Draws(randomness)
        results = [calls.run(lambda n=n: func(*samples[n], **kwargs)) for n in range(size)]  # type: ignore[misc]
        return collected(name, out_dims, results, size)

    return wrapped


def name_of(func: Callable[..., Any]) -> str:
    """How errors name the function."""
    return getattr(func, "__name__", None) or repr(func)


def input_dims(name: str, in_dims: Any, leaves: list[Any], spec: Spec) -> list[int | None]:
    """The dimension that counts the samples, of each tensor among the arguments.

    Raises:
        ValueError: if they do not fit.
    """
    call = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): "
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"{call}expected `in_dims` to be int or a (potentially nested) tuple matching the "
            f"structure of inputs, got: {type(in_dims)}."
        )
    if not spec.inner:
        raise ValueError(
            f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are "
            "trying to vmap over a function with no inputs. The latter is unsupported."
        )
    dims = broadcast(in_dims, spec)
    if dims is None:
        raise ValueError(
            f"{call}in_dims is not compatible with the structure of `inputs`. in_dims has "
            f"structure {flatten(in_dims)[1]} but inputs has structure {spec}."
        )
    return [checked_dim(call, value, dim) for value, dim in zip(leaves, dims, strict=True)]


def checked_dim(call: str, value: Any, dim: Any) -> int | None:
    """The dimension of one argument, counted from the front.

    Raises:
        ValueError: if it has none such.
    """
    if dim is None:
        return None
    if not isinstance(dim, int):
        raise ValueError(
            f"{call}Got in_dim={dim} for an input but in_dim must be either an integer dimension "
            "or None."
        )
    if not isinstance(value, Tensor):
        raise ValueError(
            f"{call}Got in_dim={dim} for an input but the input is of type {type(value)}. We "
            "cannot vmap over non-Tensor arguments, please use None as the respective in_dim"
        )
    if not -value.ndim <= dim < value.ndim:
        raise ValueError(
            f"{call}Got in_dim={dim} for some input, but that input is a Tensor of dimensionality "
            f"{value.ndim} so expected in_dim to satisfy -{value.ndim} <= in_dim < {value.ndim}."
        )
    return dim % value.ndim


def batch_size(leaves: list[Any], dims: list[int | None]) -> int:
    """How many samples there are.

    Raises:
        ValueError: if there are no tensors, or they disagree.
    """
    sizes = [v.shape[dim] for v, dim in zip(leaves, dims, strict=True) if dim is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if any(size != sizes[0] for size in sizes):
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sizes} for the mapped dimension"
        )
    return int(sizes[0])


class Samples:
    """The arguments of each call."""

    def __init__(self, leaves: list[Any], spec: Spec, dims: list[int | None]) -> None:
        self._leaves, self._spec, self._dims = leaves, spec, dims
        self._unbound = [
            None if dim is None else value.unbind(dim)
            for value, dim in zip(leaves, dims, strict=True)
        ]

    def __getitem__(self, number: int) -> Any:
        pairs = zip(self._leaves, self._unbound, strict=True)
        chosen = [value if parts is None else parts[number] for value, parts in pairs]
        return unflatten(chosen, self._spec)

    def absent(self, func: Callable[..., Any], kwargs: dict[str, Any]) -> Any:
        """What ``func`` makes of zeros in place of samples that there are not."""
        shapes = [
            value
            if dim is None
            else ops.zeros(value.shape[:dim] + value.shape[dim + 1 :], dtype=value.dtype)
            for value, dim in zip(self._leaves, self._dims, strict=True)
        ]
        return func(*unflatten(shapes, self._spec), **kwargs)


class Draws:
    """Calls that draw random numbers as they are allowed to."""

    def __init__(self, randomness: str) -> None:
        self._randomness = randomness
        self._start = default_generator._mark()
        self._state = default_generator.get_state() if randomness == "same" else None

    def run(self, call: Callable[[], Any]) -> Any:
        """The result of a call.

        Raises:
            RuntimeError: if it draws though it must not.
        """
        if self._randomness == "same" and default_generator._mark() != self._start:
            default_generator.set_state(self._state)
        result = call()
        if self._randomness == "error" and default_generator._mark() != self._start:
            raise RuntimeError(RANDOM)
        return result


def collected(name: str, out_dims: Any, results: list[Any], size: int) -> Any:
    """The results of all samples, stacked.

    Args:
        size: how many there are; for none, ``results`` holds what one would look like.

    Raises:
        ValueError: if ``out_dims`` does not fit them, or one is no tensor.
    """
    parts = [flatten(result) for result in results]
    spec = parts[0][1]
    dims = output_dims(name, out_dims, spec)
    stacked = []
    for n, dim in enumerate(dims):
        column = [leaves[n] for leaves, _ in parts]
        if dim is None:
            stacked.append(column[0])
            continue
        if not isinstance(column[0], Tensor):
            raise ValueError(
                f"vmap({name}, ...): `{name}` must only return Tensors, got type "
                f"{type(column[0])}. Did you mean to set out_dims= to None for output?"
            )
        whole = ops.stack(column, dim)
        stacked.append(whole if size else whole.narrow(dim, 0, 0))
    return unflatten(stacked, spec)


def output_dims(name: str, out_dims: Any, spec: Spec) -> list[Any]:
    """Where the samples come to lie in each result.

    Raises:
        ValueError: if ``out_dims`` is nested in another way.
    """
    if out_dims is not None and any(not isinstance(d, int | None) for d in flatten(out_dims)[0]):
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python "
            "collection of ints representing where in the outputs the vmapped dimension should "
            "appear."
        )
    # One result may have its dimension in a tuple.
    single = isinstance(out_dims, tuple) and len(out_dims) == 1 and spec.kind is None
    dims = broadcast(out_dims[0] if single else out_dims, spec)
    if dims is None:
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with "
            f"the structure of `outputs`. out_dims has structure {flatten(out_dims)[1]} but "
            f"outputs has structure {spec}."
        )
    return dims
