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
    """Call a module with other tensors in the place of its parameters and buffers.

    Args:
        parameter_and_buffer_dicts: tensors by the names of `named_parameters` and `named_buffers`,
            or several such dicts; what is not named stays as it is. What the call assigns to a
            buffer that is named is written back to the dict.
        args: the argument, or a tuple of them.
        kwargs: further arguments.
        tie_weights: let all names of a tensor that has several get what one of them gets.
        strict: take exactly the module's names; else others are passed over.

    Raises:
        ValueError: for what is no dict, and names that stand in two.
        RuntimeError: if strict, for names that are missing and names of no tensor of the module.
    """
    given = merge_dicts(parameter_and_buffer_dicts)
    positional = () if args is None else args if isinstance(args, tuple) else (args,)
    with replaced_tensors(module, given, tie_weights, strict):
        return module(*positional, **(kwargs or {}))


def merge_dicts(dicts: Any) -> Tensors:
    """One dict of all; the given one itself if it is one."""
    if isinstance(dicts, dict):
        return dicts
    if not isinstance(dicts, Sequence) or not all(isinstance(d, dict) for d in dicts):
        raise ValueError("Expected parameter_and_buffer_dicts to be a dict, or a list of dicts")
    names = [name for d in dicts for name in d]
    repeated = [name for n, name in enumerate(names) if name in names[:n]]
    if repeated:
        raise ValueError(f"{repeated} appeared in multiple dictionaries")
    return {name: tensor for d in dicts for name, tensor in d.items()}


@contextmanager
def replaced_tensors(
    module: Module, given: Tensors, tie_weights: bool, strict: bool
) -> Iterator[None]:
    """A block in which the module has other tensors."""
    homes = {
        f"{prefix}.{name}" if prefix else name: (members, name)
        for prefix, part in module.named_modules(remove_duplicate=False)
        for members in (part._parameters, part._buffers)
        for name, tensor in members.items()
        if tensor is not None
    }
    values = tie_tensors(homes, given) if tie_weights else dict(given)
    if strict:
        unexpected = sorted(name for name in values if name not in homes)
        missing = sorted(name for name in homes if name not in values)
        told = "".join(
            f"\n\t{kind} key(s): {', '.join(map(repr, names))}."
            for kind, names in (("Unexpected", unexpected), ("Missing", missing))
            if names
        )
        if told:
            raise RuntimeError(f"Error(s) in reparametrizing for {type(module).__name__}:{told}")
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


def tie_tensors(homes: dict[str, Any], given: Tensors) -> Tensors:
    """The given tensors, for all names of the tensor that each stands for."""
    by_tensor: dict[int, list[str]] = {}
    for name, (members, own) in homes.items():
        by_tensor.setdefault(id(members[own]), []).append(name)
    values = dict(given)
    for names in by_tensor.values():
        found = [name for name in names if name in given]
        if len({id(given[name]) for name in found}) > 1:
            raise ValueError(f"functional_call got multiple values for tied keys {sorted(found)}")
        if found:
            values |= dict.fromkeys(names, given[found[0]])
    return values


def stack_module_state(models: Sequence[Module]) -> tuple[Tensors, Tensors]:
    """The parameters and the buffers of several modules of one kind, stacked, for `vmap`.

    Returns:
        Two dicts of new leaves, by name, with a first dimension for the modules.

    Raises:
        RuntimeError: for no modules, or different ones.
    """
    require(models, "stack_module_state: Expected at least one model, got 0.")
    for what, found in (("mode", {m.training for m in models}), ("class", {*map(type, models)})):
        require(len(found) == 1, "stack_module_state: Expected models of the same {}", what)
    parameters = stack_tensors([dict(model.named_parameters()) for model in models])
    return parameters, stack_tensors([dict(model.named_buffers()) for model in models])


def stack_tensors(states: Sequence[Tensors]) -> Tensors:
    """Tensors of the same names, stacked."""
    result = {}
    for name in states[0]:
        tensors = [state[name] for state in states]
        needed = {tensor.requires_grad for tensor in tensors}
        require(len(needed) == 1, "Expected {} of all models to require grad, or of none", name)
        result[name] = ops.stack(tensors).detach().requires_grad_(needed == {True})
    return result
