"""A module's state: to a dict of tensors and back."""

import itertools
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from nanotorch._core.grad_mode import no_grad
from nanotorch._core.hooks import HookDict, RemovableHandle, add_hook
from nanotorch._core.tensor import Tensor
from nanotorch.nn.module_tree import ModuleTree
from nanotorch.nn.parameter import Parameter

EXTRA_STATE = "_extra_state"
NO_EXTRA_STATE = (
    "{method} is to be implemented by modules that have extra state; the base class has none."
)


class _IncompatibleKeys(NamedTuple):
    """What a state dict and a module do not have in common."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return (
            f"_IncompatibleKeys(missing_keys={self.missing_keys!r}, "
            f"unexpected_keys={self.unexpected_keys!r})"
        )

    def __str__(self) -> str:
        return repr(self)


class ModuleState(ModuleTree):
    """`state_dict` and `load_state_dict`; a base of `Module`."""

    _version: int = 1
    _state_dict_hooks: HookDict
    _state_dict_pre_hooks: HookDict
    _load_state_dict_pre_hooks: HookDict
    _load_state_dict_pre_hooks_with_module: set[int]
    _load_state_dict_post_hooks: HookDict

    # Out

    def state_dict(
        self,
        *,
        destination: Any = None,
        prefix: str = "",
        keep_vars: bool = False,
    ) -> Any:
        """The parameters and persistent buffers of the tree by their dotted names.

        The tensors share the module's memory.

        Args:
            destination: a dict to write to. Default: a new ordered dict.
            prefix: what every name begins with.
            keep_vars: give the parameters themselves. Default: detached tensors.
        """
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()  # the modules' versions
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix.removesuffix(".")] = metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(
                    destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars
                )
        for hook in self._state_dict_hooks.values():
            result = hook(self, destination, prefix, metadata)
            if getattr(hook, "_from_public_api", False):
                if result is not None:
                    raise RuntimeError("state_dict post-hook must return None")
            elif result is not None:
                destination = result
        return destination

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Write the module's own parameters, buffers and extra state, not its children's."""
        for name, tensor in self._own_state().items():
            destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if _overrides(self, "get_extra_state"):
            destination[prefix + EXTRA_STATE] = self.get_extra_state()

    def _own_state(self) -> dict[str, Tensor]:
        persistent = (
            (name, buffer)
            for name, buffer in self._buffers.items()
            if name not in self._non_persistent_buffers_set
        )
        both = itertools.chain(self._parameters.items(), persistent)
        return {name: tensor for name, tensor in both if tensor is not None}

    def get_extra_state(self) -> Any:
        """What else to store in the state dict; implemented together with `set_extra_state`.

        Raises:
            RuntimeError: here, where there is none.
        """
        raise RuntimeError(NO_EXTRA_STATE.format(method="Module.get_extra_state()"))

    def set_extra_state(self, state: Any) -> None:
        """Take back what `get_extra_state` gave.

        Raises:
            RuntimeError: here, where there is none.
        """
        raise RuntimeError(NO_EXTRA_STATE.format(method="Module.set_extra_state()"))

    # In

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copy the tensors of a state dict into the parameters and buffers.

        Args:
            state_dict: what `state_dict` gave.
            strict: its names must be exactly the module's. Default: True.
            assign: put its tensors in the place of the module's instead of copying; whether they
                require grad stays as it was. Default: False.

        Returns:
            The missing and the unexpected names.

        Raises:
            TypeError: if ``state_dict`` is not a mapping.
            RuntimeError: for names that do not match, if ``strict``; for shapes that differ.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        given: Any = OrderedDict(state_dict)  # hooks may change it
        metadata = getattr(state_dict, "_metadata", None)
        if metadata is not None:
            given._metadata = metadata
        keys = _IncompatibleKeys([], [])
        errors: list[str] = []
        self._load(given, "", metadata or {}, assign, keys, errors)
        if strict:
            kinds = (("Unexpected", keys.unexpected_keys), ("Missing", keys.missing_keys))
            for kind, names in kinds:
                if names:
                    listed = ", ".join(f'"{name}"' for name in names)
                    errors.insert(0, f"{kind} key(s) in state_dict: {listed}. ")
        if errors:
            text = "\n\t".join(errors)
            raise RuntimeError(
                f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{text}"
            )
        return keys

    def _load(
        self,
        given: dict[str, Any],
        prefix: str,
        metadata: Mapping[str, Any],
        assign: bool,
        keys: _IncompatibleKeys,
        errors: list[str],
    ) -> None:
        local = metadata.get(prefix.removesuffix("."), {})
        if assign:
            local["assign_to_params_buffers"] = True
        self._load_from_state_dict(
            given, prefix, local, True, keys.missing_keys, keys.unexpected_keys, errors
        )
        for name, module in self._modules.items():
            if module is not None:
                place = f"{prefix}{name}."
                part = {key: value for key, value in given.items() if key.startswith(place)}
                module._load(part, place, metadata, assign, keys, errors)
        for hook in self._load_state_dict_post_hooks.values():
            if hook(self, keys) is not None:
                raise AssertionError(
                    "Hooks registered with ``register_load_state_dict_post_hook`` are not expected "
                    "to return new values, if incompatible_keys need to be modified, it should be "
                    "done inplace."
                )

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Take the module's own parameters, buffers and extra state, not its children's."""
        reports = (missing_keys, unexpected_keys, error_msgs)
        arguments = (state_dict, prefix, local_metadata, strict, *reports)
        for number, hook in self._load_state_dict_pre_hooks.items():
            with_module = number in self._load_state_dict_pre_hooks_with_module
            hook(self, *arguments) if with_module else hook(*arguments)
        own = self._own_state()
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, tensor in own.items():
            key = prefix + name
            if key in state_dict:
                self._take(name, key, tensor, state_dict[key], assign, error_msgs)
            elif strict:
                missing_keys.append(key)
        extra = prefix + EXTRA_STATE
        if _overrides(self, "set_extra_state"):
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != extra:
                    name, *below = key.removeprefix(prefix).split(".", 1)
                    if name not in (self._modules if below else own):
                        unexpected_keys.append(key)

    def _take(
        self, name: str, key: str, tensor: Tensor, value: Any, assign: bool, errors: list[str]
    ) -> None:
        """Copy or assign one tensor of a state dict; what does not work is noted in ``errors``."""
        if not isinstance(value, Tensor):
            errors.append(
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like '
                f"object from checkpoint but received {type(value)}"
            )
            return
        if tensor.shape == () and value.shape == (1,):
            value = value[0]
        if value.shape != tensor.shape:
            errors.append(
                f"size mismatch for {key}: copying a param with shape {value.shape} from "
                f"checkpoint, the shape in current model is {tensor.shape}."
            )
            return
        try:
            with no_grad():
                if not assign:
                    tensor.copy_(value)
                    return
                if isinstance(value, Parameter):
                    value.requires_grad_(tensor.requires_grad)
                elif isinstance(tensor, Parameter):
                    value = Parameter(value, tensor.requires_grad)
                setattr(self, name, value)
        except Exception as error:
            errors.append(
                f'While copying the parameter named "{key}", whose dimensions in the model are '
                f"{tensor.shape} and whose dimensions in the checkpoint are {value.shape}, an "
                f"exception occurred : {error.args}."
            )

    # Hooks

    def register_state_dict_pre_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Call ``hook(module, prefix, keep_vars)`` before `state_dict` collects."""
        return add_hook(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Any) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata)`` after `state_dict` collected.

        The hook may change the dict; it returns None.
        """
        hook._from_public_api = True
        return add_hook(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Any) -> RemovableHandle:
        """As `register_state_dict_post_hook`, for hooks that may return another dict."""
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously "
                "registered via register_state_dict_post_hook"
            )
        return add_hook(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata, strict, missing_keys,
        unexpected_keys, error_msgs)`` before the module takes what is its own.
        """
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., None], with_module: bool = False
    ) -> RemovableHandle:
        """As `register_load_state_dict_pre_hook`; the hook gets the module if ``with_module``."""
        handle = add_hook(self._load_state_dict_pre_hooks, hook)
        if with_module:
            self._load_state_dict_pre_hooks_with_module.add(handle.id)
        return handle

    def register_load_state_dict_post_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Call ``hook(module, incompatible_keys)`` after the module and those below were loaded.

        The hook may change the lists of keys; it returns None.
        """
        return add_hook(self._load_state_dict_post_hooks, hook)


def _overrides(module: ModuleState, name: str) -> bool:
    return getattr(type(module), name) is not getattr(ModuleState, name)


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Take ``prefix`` off the names of a state dict that begin with it, in place.

    So that the state of a layer that was wrapped, as by `DataParallel`, fits the layer itself.
    """
    for key in list(state_dict):
        if key.startswith(prefix):
            state_dict[key.removeprefix(prefix)] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", {})
    for key in list(metadata):
        if key == prefix.replace(".", "") or (key and key.startswith(prefix)):
            metadata[key[len(prefix) :]] = metadata.pop(key)
