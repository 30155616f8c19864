"""Transforms of functions: batches, gradients, Jacobians and Hessians, in nested levels."""

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from nanotorch import ops
from nanotorch._core.grad_mode import enable_grad, is_grad_enabled, mode
from nanotorch._core.graph import CUT_OFF, AccumulateGrad
from nanotorch._core.random import state_bytes
from nanotorch._core.tensor import Tensor
from nanotorch.autograd.functional import vector_jacobian
from nanotorch.autograd.graph import reachable_nodes
from nanotorch.func import rules as rules
from nanotorch.func.batched import (
    Batch,
    activate_batch,
    active,
    batch_tensor,
    is_sample_of,
    make_sample,
    rewrap,
    unwrap,
)
from nanotorch.func.functions import ERROR
from nanotorch.func.trees import (
    TreeSpec,
    broadcast,
    tree_flatten,
    tree_map,
    tree_unflatten,
    treespec_pprint,
)
from nanotorch.ops.arguments import require
from nanotorch.ops.random import default_generator

# The choice of arguments to differentiate, and checks of arguments and results.


Numbers = int | tuple[int, ...]


def normal_argnums(argnums: Any, count: int) -> tuple[int, ...]:
    """The positions ``argnums`` among ``count`` arguments, counted from the front."""
    given = argnums if isinstance(argnums, tuple) else (argnums,)
    for number in given:
        require(isinstance(number, int), "argnum must be int, got: {}", type(number))
        message = "Got argnum={}, but only {} positional inputs"
        require(-count <= number < count, message, number, count)
    found = tuple([number % count for number in given])
    require(0 < len(set(found)) == len(found), "argnums must be unique, got {}", found)
    return found


def select_args(args: tuple[Any, ...], argnums: Numbers) -> Any:
    """The argument at position ``argnums``, or a tuple of several."""
    found = normal_argnums(argnums, len(args))
    return args[found[0]] if isinstance(argnums, int) else tuple([args[n] for n in found])


def check_tensors(values: list[Any], name: str) -> None:
    """Refuse results that are not tensors."""
    for value in values:
        message = "{}: expected f to return only tensors, got unsupported type {}"
        require(isinstance(value, Tensor), message, name, type(value))


def check_floats(outputs: list[Tensor]) -> None:
    """Refuse results that are not floating-point tensors."""
    for tensor in outputs:
        message = "vjp(f, ...): All outputs of f must be floating-point Tensors, got dtype {}"
        require(tensor.is_floating_point(), message, tensor.dtype)


def check_differentiable(values: list[Any]) -> None:
    """Refuse tensors among the arguments that are not floating-point."""
    for value in values:
        if isinstance(value, Tensor):
            message = "Expected floating-point numbers, but got: {}"
            require(value.is_floating_point(), message, value.dtype, error=ValueError)


# `vmap`: a function of a sample becomes a function of a batch.


def vmap(
    func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:  # fmt: skip
    """A function that applies ``func`` to every sample of a batch and stacks the results.

    ``func`` is called once, with tensors that represent one sample; an operation on them computes
    all samples at once. So ``func`` cannot read values or branch on them.

    Args:
        func: a function of nested tensors that returns nested tensors, without a batch dimension.
        in_dims: the batch dimension of each argument, nested like the arguments; None for arguments
            that all samples share. Keyword arguments are always shared. Default: 0.
        out_dims: the batch dimension of each result; None for results that are not tensors or that
            all samples share. Default: 0.
        randomness: whether samples draw "different" random numbers, the "same", or none ("error").
            Default: "error".
        chunk_size: the number of samples per call of ``func``. Default: all.

    Raises:
        ValueError: if dimensions do not match arguments or results, batch sizes differ, or a result
            is not a tensor.
        RuntimeError: if ``func`` draws random numbers with "error", or reads values.
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
                value
                if dim is None
                else make_sample(value.movedim(dim, 0) if dim else value, batch)
                for value, dim in zip(leaves, dims, strict=True)
            ]
            with activate_batch(batch):
                results, nested = tree_flatten(func(*tree_unflatten(samples, spec), **kwargs))
                whole = all(isinstance(dim, int | None) for dim in tree_flatten(out_dims)[0])
                message = "vmap({}): out_dims must hold ints and None, got {}"
                require(whole, message, name, out_dims, error=ValueError)
                # A single result may have its dimension in a tuple.
                single = isinstance(out_dims, tuple) and len(out_dims) == 1 and nested.type is None
                places = dims_of(name, "out", out_dims[0] if single else out_dims, nested)
                pairs = zip(results, places, strict=True)
                return (
                    [unwrap_result(name, part, dim, batch) for part, dim in pairs],
                    nested,
                    places,
                )

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


def dims_of(name: str, what: str, dims: Any, spec: TreeSpec) -> list[Any]:
    """The batch dimension of each argument or result; ``what`` is "in" or "out"."""
    found = broadcast(dims, spec)
    message = "vmap({}): {}_dims={} is not compatible with the structure of `{}puts`"
    require(found is not None, message, name, what, dims, what, error=ValueError)
    return found or []


def input_dims(name: str, in_dims: Any, leaves: list[Any], spec: TreeSpec) -> list[int | None]:
    """The batch dimension of each argument, at least 0; None for shared arguments."""
    whole = isinstance(in_dims, (int, tuple))
    message = "vmap({}): in_dims must be int or a tuple, got: {}"
    require(whole, message, name, type(in_dims), error=ValueError)
    require(spec.inner, "vmap({})(<inputs>): got no inputs", name, error=ValueError)
    dims: list[int | None] = []
    for value, dim in zip(leaves, dims_of(name, "in", in_dims, spec), strict=True):
        if dim is not None:
            message = "vmap({}): in_dim must be either an integer or None, got {}"
            require(isinstance(dim, int), message, name, dim, error=ValueError)
            message = (
                "vmap({}): Got in_dim={} for an input of type {}. We cannot vmap "
                "over non-Tensor arguments, please use None as the respective in_dim"
            )
            require(isinstance(value, Tensor), message, name, dim, type(value), error=ValueError)
            message = "vmap({}): Got in_dim={} for a Tensor of {} dimensions"
            fits = -value.ndim <= dim < value.ndim
            require(fits, message, name, dim, value.ndim, error=ValueError)
        dims.append(None if dim is None else dim % value.ndim)
    return dims


def batch_size(leaves: list[Any], dims: list[int | None]) -> int:
    """The number of samples."""
    sizes = [v.shape[dim] for v, dim in zip(leaves, dims, strict=True) if dim is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if any(size != sizes[0] for size in sizes):
        message = "vmap: Expected all tensors to have the same size in the mapped dimension, got "
        raise ValueError(f"{message}sizes {sizes}")
    return int(sizes[0])


def unwrap_result(name: str, part: Any, dim: Any, batch: Batch) -> Any:
    """One result as a batch; raises ValueError if it is not a tensor or ``dim`` does not match."""
    if dim is None:
        if is_sample_of(part, batch):
            raise ValueError(f"vmap({name}): a result of each sample needs a dimension in out_dims")
        return part
    if not isinstance(part, Tensor):
        raise ValueError(f"vmap({name}): `{name}` must only return Tensors, got {type(part)}")
    whole = batch_tensor(part, batch)
    return whole.movedim(0, dim) if dim else whole


# A level: one differentiation of a function, with its own inputs.
#
# Every transform runs its function on its own inputs: leaves or, if the caller records operations
# on its arguments, views of them in the graph. So transforms nest, also inside `backward`. Results
# are detached unless their graph leads to other tensors than these inputs.


class Level:
    """One use of a transform.

    Attributes:
        inputs: the tensors to differentiate by.
        batches: the active `vmap` batches. Each sample has its own inputs, even for shared
            arguments, and its own gradient.
        recorded: whether results keep their graph, because it leads further than to the inputs.
        outer, inner: the structure of the outputs and of the inputs.
    """

    outer: TreeSpec
    inner: TreeSpec

    def __init__(self) -> None:
        self.inputs: list[Tensor] = []
        self.batches = tuple(active.batches)
        self.recorded = False
        self._leaves: list[Tensor] = []
        self._outside = bool(mode.enabled)

    def _enter(self, value: Any) -> Tensor:
        """An input of this level for an argument, a floating-point tensor."""
        if not isinstance(value, Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(value)}")
        whole = unwrap(value, self.batches)
        with enable_grad():
            if self._outside and whole.requires_grad:
                entered = whole.view_as(whole)
            else:
                entered = whole.detach()._set_requires_grad()
        self._leaves.append(entered)
        self.inputs.append(rewrap(entered, self.batches))
        return self.inputs[-1]

    def run(self, func: Callable[[Any], Any], given: Any, has_aux: bool, name: str) -> Any:
        """The output of ``func`` for this level's inputs, and its auxiliary output.

        The auxiliary output is None without ``has_aux``. Other kinds of differentiation are not
        allowed inside ``func``.
        """
        entered = tree_map(self._enter, given)
        self.inner = tree_flatten(entered)[1]
        mode.transforms += 1
        try:
            with enable_grad():
                result = func(entered)
        finally:
            mode.transforms -= 1
        if not has_aux:
            return result, None
        pair = isinstance(result, tuple) and len(result) == 2
        message = "{}: output of function f should be a tuple: (output, aux) if has_aux is True"
        require(pair, message, name)
        return result

    def outputs_of(
        self, func: Callable[[Any], Any], given: Any, has_aux: bool, name: str
    ) -> tuple[list[Tensor], Any, Any]:
        """The tensors in the output of ``func``, and the results of `run`."""
        output, aux = self.run(func, given, has_aux, name)
        outputs, self.outer = tree_flatten(output)
        message = "{}: Expected f to be a function that has non-empty output"
        require(outputs and outputs != [None], message, name)
        check_tensors(outputs, name)
        self.watch(outputs)
        return outputs, output, aux

    def leaf(self, value: Tensor) -> Tensor:
        """A new leaf with these values, in the batches of this level."""
        return rewrap(unwrap(value, self.batches).detach()._set_requires_grad(), self.batches)

    def watch(self, outputs: Iterable[Any]) -> None:
        """Set `recorded`: whether the outputs depend on more than this level's own leaves."""
        if not self._outside:
            return
        wholes = [unwrap(t, self.batches) for t in outputs if isinstance(t, Tensor)]
        smooth, own = [t for t in wholes if t.requires_grad], set(map(id, self._leaves))
        nodes = list(reachable_nodes(t.grad_fn for t in smooth))
        ends = [t for t in smooth if t.grad_fn is None]
        ends += [node.variable for node in nodes if isinstance(node, AccumulateGrad)]
        # Tensors that are cut off require grad, too.
        cut = any(edge is CUT_OFF for node in nodes for edge in node.next_functions)
        self.recorded = cut or any(id(t) not in own for t in ends)

    def left(self, tree: Any) -> Any:
        """The results for the caller: detached unless `recorded`."""
        if self.recorded:
            return tree
        return tree_map(lambda t: t.detach() if isinstance(t, Tensor) else t, tree)

    def pulled_back(self, outputs: Sequence[Tensor], weights: Sequence[Any]) -> list[Tensor]:
        """The gradient of the weighted outputs by each input; zeros for unused inputs."""
        recorded = self.recorded or (
            self._outside and any(isinstance(w, Tensor) and w.requires_grad for w in weights)
        )
        return self.gradients(outputs, self.inputs, weights, recorded)

    def gradients(
        self, outputs: Sequence[Tensor], inputs: Sequence[Tensor], weights: Sequence[Any],
        recorded: bool,
    ) -> list[Tensor]:  # fmt: skip
        """The gradients of the weighted outputs by some inputs of this level, per sample."""
        if not self.batches:
            return [*vector_jacobian(outputs, inputs, weights, recorded)]
        weights = [
            ops.ones_like(o) if w is None else w for o, w in zip(outputs, weights, strict=True)
        ]
        wholes = [[unwrap(t, self.batches) for t in ts] for ts in (outputs, inputs, weights)]
        found = vector_jacobian(wholes[0], wholes[1], wholes[2], recorded)
        return [rewrap(g, self.batches) for g in found]


# Gradients of functions, and products of their Jacobians with vectors.


VJP, JVP = "vjp(f, *primals)", "jvp(f, primals, tangents)"


def grad_and_value(
    func: Callable[..., Any], argnums: Numbers = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that returns the gradient of ``func`` and its value.

    Args:
        func: a function of nested tensors that returns a 0-d tensor.
        argnums: the position of the argument to differentiate by (default: 0), or a tuple.
        has_aux: ``func`` returns a tuple (output, aux); aux is returned unchanged. Default: False.

    Returns:
        A function of the same arguments that returns the gradient, nested like the argument or a
        tuple of these, and the value; with ``has_aux``, the gradient and (value, aux).

    Raises:
        RuntimeError: if ``func`` returns another result, or ``argnums`` is out of range.
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        level, name = Level(), "grad_and_value(f)(*args)"
        of_chosen, given = partial_of(func, args, kwargs, argnums)
        output, aux = level.run(of_chosen, given, has_aux, name)
        check_tensors([output], name)
        message = "{}: Expected f(*args) to return a scalar Tensor, got tensor with {} dims"
        require(not output.ndim, message, name, output.ndim)
        level.watch([output])
        gradient = tree_unflatten(level.pulled_back([output], [None]), level.inner)
        return level.left(gradient), level.left((output, aux) if has_aux else output)

    return wrapper


def partial_of(
    func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], argnums: Numbers
) -> tuple[Callable[[Any], Any], Any]:
    """``func`` as a function of the arguments ``argnums`` only, and these arguments."""
    found = normal_argnums(argnums, len(args))

    def of_chosen(given: Any) -> Any:
        values = dict(zip(found, (given,) if isinstance(argnums, int) else given, strict=True))
        return func(*[values.get(n, arg) for n, arg in enumerate(args)], **kwargs)

    return of_chosen, select_args(args, argnums)


def grad(
    func: Callable[..., Any], argnums: Numbers = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that returns the gradient of ``func``.

    Args:
        func, argnums, has_aux: see `grad_and_value`.

    Returns:
        A function of the same arguments that returns the gradient; with ``has_aux``, a tuple
        (gradient, aux).

    Raises:
        RuntimeError: see `grad_and_value`.
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        gradient, value = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return wrapper


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """The value of ``func``, and a function that multiplies vectors with its Jacobian.

    Args:
        func: a function of nested tensors that returns nested tensors.
        primals: the arguments of ``func``.
        has_aux: ``func`` returns a tuple (output, aux). Default: False.

    Returns:
        The value; a function of cotangents, nested like the value, that returns a tuple of their
        products with the Jacobians by each argument; with ``has_aux``, also aux.

    Raises:
        RuntimeError: if ``func`` returns anything but floating-point tensors, or the cotangents
            have another structure.
    """
    level = Level()
    outputs, output, aux = level.outputs_of(lambda given: func(*given), primals, has_aux, VJP)
    check_floats(outputs)

    def vjp_fn(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        weights, given = tree_flatten(cotangents)
        message = "cotangents must be nested as the output of the function, {}, but are {}"
        require(given == level.outer, message, *map(treespec_pprint, (level.outer, given)))
        return tree_unflatten(level.pulled_back(outputs, weights), level.inner)

    results = level.left(output), vjp_fn
    return (*results, level.left(aux)) if has_aux else results


class Linear:
    """The linear map from small changes of a function's inputs to changes of its outputs.

    A backward pass multiplies weights with the transposed Jacobian. This is linear in the weights,
    so its gradient by the weights multiplies with the Jacobian itself.
    """

    def __init__(self, level: Level, outputs: Sequence[Tensor]) -> None:
        self._level, self.outputs = level, outputs
        smooth = [o for o in outputs if o.is_floating_point()]
        with enable_grad():
            self._weights = [level.leaf(ops.zeros_like(o)) for o in smooth]
        self._products = level.gradients(smooth, level.inputs, self._weights, True)

    def __call__(self, tangents: Sequence[Tensor]) -> list[Tensor]:
        """The change of each output; zeros for integer outputs."""
        recorded = self._level.recorded or (
            is_grad_enabled() and any(t.requires_grad for t in tangents)
        )
        found = self._level.gradients(self._products, self._weights, tangents, recorded)
        changes = iter(found if recorded else [t.detach() for t in found])
        return [next(changes) if o.is_floating_point() else ops.zeros_like(o) for o in self.outputs]


def jvp(
    func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False,
    has_aux: bool = False,
) -> tuple[Any, ...]:  # fmt: skip
    """The value of ``func``, and the product of its Jacobian with a vector.

    Args:
        func: a function of nested tensors that returns nested tensors.
        primals: a tuple of the arguments of ``func``.
        tangents: the vector, nested like ``primals``.
        strict: must be False.
        has_aux: ``func`` returns a tuple (output, aux). Default: False.

    Returns:
        The value and the product; with ``has_aux``, also aux.

    Raises:
        RuntimeError: if ``primals`` is not a tuple, or ``tangents`` has another structure or shape.
        ValueError: if an argument is not floating-point.
        NotImplementedError: with ``strict``.
    """
    if strict:
        raise NotImplementedError(f"{JVP}: strict=True is not supported; unused inputs get zeros")
    require(isinstance(primals, tuple), "{}: Expected primals to be a tuple", JVP)
    inputs, inputs_spec = tree_flatten(primals)
    directions, directions_spec = tree_flatten(tangents)
    message = "{}: Expected primals and tangents to have the same python structure, got {} and {}"
    nested = map(treespec_pprint, (inputs_spec, directions_spec))
    require(inputs_spec == directions_spec, message, JVP, *nested)
    require(inputs, "{}: Expected primals to contain at least one Tensor", JVP)
    check_tensors([*inputs, *directions], JVP)
    check_differentiable([*inputs, *directions])
    for value, direction in zip(inputs, directions, strict=True):
        message = "a tangent of size {} does not fit a primal of size {}"
        sizes = list(direction.shape), list(value.shape)
        require(value.shape == direction.shape, message, *sizes)
    level = Level()
    outputs, output, aux = level.outputs_of(lambda given: func(*given), primals, has_aux, JVP)
    product = tree_unflatten(Linear(level, outputs)(directions), level.outer)
    results = level.left(output), product
    return (*results, level.left(aux)) if has_aux else results


# Jacobians by rows, by columns, and of second order.


def jacrev(
    func: Callable[..., Any], argnums: Numbers = 0, *, has_aux: bool = False,
    chunk_size: int | None = None, _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:  # fmt: skip
    """A function that returns the Jacobian of ``func``, from one backward pass for all rows.

    Args:
        func: a function of nested tensors that returns nested tensors.
        argnums: the position of the argument to differentiate by (default: 0), or a tuple.
        has_aux: ``func`` returns a tuple (output, aux); aux is returned unchanged. Default: False.
        chunk_size: the number of rows to compute at once. Default: all.

    Returns:
        A function of the same arguments. Its result is nested like the output of ``func``, and each
        leaf is nested like the argument: derivatives of shape (*output, *input). With ``has_aux``,
        a tuple (Jacobian, aux).

    Raises:
        RuntimeError: if ``func`` returns another result, or ``argnums`` is out of range.
        ValueError: if ``chunk_size`` is less than 1.
    """
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        level = Level()
        outputs, _, aux = level.outputs_of(*partial_of(func, args, kwargs, argnums), has_aux, VJP)
        check_floats(outputs)
        blocks = []
        for output in outputs:
            shapes = [(*output.shape, *input.shape) for input in level.inputs]

            def pull(unit: Tensor, output: Tensor = output) -> list[Tensor]:
                return level.pulled_back([output], [unit])

            rows = apply_to_units(pull, output, 0, chunk_size, "error")
            blocks.append([row.reshape(shape) for row, shape in zip(rows, shapes, strict=True)])
        return assemble_jacobians(level, blocks, has_aux, aux)

    return wrapper


def jacfwd(
    func: Callable[..., Any], argnums: Numbers = 0, has_aux: bool = False, *,
    randomness: str = "error",
) -> Callable[..., Any]:  # fmt: skip
    """A function that returns the Jacobian of ``func``, from one forward pass for all columns.

    It is faster than `jacrev` if there are fewer inputs than outputs.

    Args:
        func, argnums, has_aux: see `jacrev`.
        randomness: "error" refuses random numbers in ``func``; "same" draws them once for all
            columns. Default: "error".

    Raises:
        RuntimeError: see `jacrev`; if ``func`` draws random numbers with "error".
        NotImplementedError: for ``randomness="different"``.
        ValueError: if an argument is not floating-point.
    """

    if randomness == "different":
        raise NotImplementedError(
            'jacfwd: randomness="different" is not supported; use torch.vmap of torch.func.jvp'
        )

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        check_differentiable(tree_flatten(select_args(args, argnums))[0])
        before = default_generator._mark()
        level = Level()
        outputs, _, aux = level.outputs_of(*partial_of(func, args, kwargs, argnums), has_aux, JVP)
        after = default_generator._mark()
        # A state that was put back has another mark.
        drawn = after != before and (state_bytes(after) != state_bytes(before)).any()
        if randomness == "error" and drawn:
            raise RuntimeError(ERROR)
        linear, zeros = Linear(level, outputs), [ops.zeros_like(t) for t in level.inputs]
        blocks: list[list[Tensor]] = [[] for _ in outputs]
        for n, input in enumerate(level.inputs):

            def push(unit: Tensor, n: int = n) -> list[Tensor]:
                return linear([*zeros[:n], unit, *zeros[n + 1 :]])

            columns = apply_to_units(push, input, -1, None, randomness)
            for k, output in enumerate(outputs):
                blocks[k].append(columns[k].reshape(output.shape + input.shape))
        return assemble_jacobians(level, blocks, has_aux, aux)

    return wrapper


def hessian(func: Callable[..., Any], argnums: Numbers = 0) -> Callable[..., Any]:
    """A function that returns the second derivatives of ``func``: ``jacfwd(jacrev(func))``.

    Args:
        func, argnums: see `jacrev`.

    Raises:
        RuntimeError: see `jacrev`.
    """
    return jacfwd(jacrev(func, argnums), argnums)


def apply_to_units(
    function: Callable[[Tensor], list[Tensor]], tensor: Tensor, dim: int, chunk_size: int | None,
    randomness: str,
) -> list[Tensor]:  # fmt: skip
    """The stacked results of a function for each unit tensor: one element 1, the others 0.

    Args:
        tensor: a tensor of the same shape and dtype as the units.
        dim: the new dimension of the results.
    """
    count = tensor.numel()
    if count <= 1:
        one = ops.ones(tuple(tensor.shape), dtype=tensor.dtype)
        return [result.unsqueeze(dim).narrow(dim, 0, count) for result in function(one)]
    units = ops.eye(count, dtype=tensor.dtype).view(count, *tensor.shape)
    found: list[Tensor] = vmap(function, 0, 0, randomness, chunk_size=chunk_size)(units)
    if active.batches:  # as in PyTorch, the samples of an outer `vmap` lie one after the other
        found = [result.contiguous() for result in found]
    return [result.movedim(0, dim) if dim else result for result in found]


def assemble_jacobians(level: Level, blocks: list[list[Tensor]], has_aux: bool, aux: Any) -> Any:
    """The nested Jacobians for the caller, from a list by outputs of lists by inputs."""
    rows = [tree_unflatten(row, level.inner) for row in blocks]
    jacobian = level.left(tree_unflatten(rows, level.outer))
    return (jacobian, level.left(aux)) if has_aux else jacobian
