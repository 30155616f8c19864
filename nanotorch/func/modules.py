"""Modules as functions of their parameters."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from nanotorch import ops
from nanotorch._core.tensor import Tensor
from nanotorch.nn.module import Module
from nanotorch.ops.arguments import require

Tensors = dict[str, Tensor]


def functional_call(
    module: Module, parameter_and_buffer_dicts: Any, args: Any = None,
    kwargs: dict[str, Any] | None = None, *, tie_weights: bool = True, strict: bool = False,
) -> Any:  # fmt: skip
    """Call a module with other tensors instead of its parameters and buffers.

    Args:
        module: the module.
        parameter_and_buffer_dicts: tensors by the names of `named_parameters` and `named_buffers`,
            or several such dicts; the module keeps its other tensors. If the call assigns a new
            tensor to a named buffer, the dict receives it.
        args: the argument, or a tuple of arguments.
        kwargs: keyword arguments.
        tie_weights: replace a shared tensor under all its names if one is given. Default: True.
        strict: require exactly the module's names; otherwise unknown names are ignored. Default:
            False.

    Raises:
        ValueError: if an entry is not a dict, or a name is in two dicts.
        RuntimeError: with ``strict``, if names are missing or unknown.
    """
    given = dicts = parameter_and_buffer_dicts
    if not isinstance(dicts, dict):
        if not isinstance(dicts, Sequence) or not all(isinstance(d, dict) for d in dicts):
            raise ValueError("Expected parameter_and_buffer_dicts to be a dict, or a list of dicts")
        names = [name for d in dicts for name in d]
        repeated = [name for n, name in enumerate(names) if name in names[:n]]
        if repeated:
            raise ValueError(f"{repeated} appeared in multiple dictionaries")
        given = {name: tensor for d in dicts for name, tensor in d.items()}
    positional = () if args is None else args if isinstance(args, tuple) else (args,)
    with replaced_tensors(module, given, tie_weights, strict):
        return module(*positional, **(kwargs or {}))


@contextmanager
def replaced_tensors(
    module: Module, given: Tensors, tie_weights: bool, strict: bool
) -> Iterator[None]:
    """A block in which the module has the tensors ``given``."""
    homes = {
        f"{prefix}.{name}" if prefix else name: (members, name)
        for prefix, part in module.named_modules(remove_duplicate=False)
        for members in (part._parameters, part._buffers)
        for name, tensor in members.items()
        if tensor is not None
    }
    values = dict(given)
    shared: dict[int, list[str]] = {}  # the names of each tensor that is replaced under all
    for name, (members, own) in homes.items() if tie_weights else ():
        shared.setdefault(id(members[own]), []).append(name)
    for names in shared.values():
        found = [name for name in names if name in given]
        if len({id(given[name]) for name in found}) > 1:
            raise ValueError(f"functional_call got multiple values for tied keys {sorted(found)}")
        if found:
            values |= dict.fromkeys(names, given[found[0]])
    if strict:
        unexpected = sorted(name for name in values if name not in homes)
        missing = sorted(name for name in homes if name not in values)
        message = "".join(
            f"\n\t{kind} key(s): {', '.join(map(repr, names))}."
            for kind, names in (("Unexpected", unexpected), ("Missing", missing))
            if names
        )
        if message:
            raise RuntimeError(f"Error(s) in reparametrizing for {type(module).__name__}:{message}")
    kept = {name: homes[name][0][homes[name][1]] for name in values if name in homes}
    try:
        for name in kept:
            members, own = homes[name]
            members[own] = values[name]
        yield
    finally:
        for name, tensor in kept.items():
            members, own = homes[name]
            if name in given:
                given[name] = members[own]
            members[own] = tensor


def stack_module_state(models: Sequence[Module]) -> tuple[Tensors, Tensors]:
    """The stacked parameters and buffers of several modules of one class, for `vmap`.

    Returns:
        Two dicts of new leaves, by name; their first dimension is that of the modules.

    Raises:
        RuntimeError: if there is no module, or their classes or modes differ.
    """
    require(models, "stack_module_state: Expected at least one model, got 0.")
    for what, found in (("mode", {m.training for m in models}), ("class", {*map(type, models)})):
        require(len(found) == 1, "stack_module_state: Expected models of the same {}", what)
    parameters = stack_tensors([dict(model.named_parameters()) for model in models])
    return parameters, stack_tensors([dict(model.named_buffers()) for model in models])


def stack_tensors(states: Sequence[Tensors]) -> Tensors:
    """The stacked tensors of several dicts, by name."""
    result = {}
    for name in states[0]:
        tensors = [state[name] for state in states]
        needed = {tensor.requires_grad for tensor in tensors}
        require(len(needed) == 1, "Expected {} of all models to require grad, or of none", name)
        result[name] = ops.stack(tensors).detach().requires_grad_(needed == {True})
    return result
