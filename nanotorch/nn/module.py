"""`Module`, the base class of layers and models: a tree of parameters, buffers and children."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Self, TypeVar

from nanotorch._core import dtypes
from nanotorch._core.call_site import count_write, warn
from nanotorch._core.dtypes import absent, device, dtype, on_meta, shown_as_one
from nanotorch._core.grad_mode import no_grad
from nanotorch._core.graph import (
    HookDict,
    RemovableHandle,
    add_hook,
    changes,
    keep_accumulators,
    next_change,
)
from nanotorch._core.meta import NO_DATA
from nanotorch._core.tensor import Tensor, typename
from nanotorch.names.lookup import advised
from nanotorch.nn.module_call import ModuleCall
from nanotorch.nn.parameter import Buffer, Parameter
from nanotorch.ops.arguments import parse_to, require
from nanotorch.ops.creation import empty_like

# The tree: parameters, buffers and children, by attribute and by dotted name.


NONE: dict[str, Any] = {}


def cannot_register(value: Any, where: str, kind: str, asked: str = "expected") -> TypeError:
    """The error for a value of a type that cannot be registered as ``kind``."""
    return TypeError(f"cannot assign '{typename(value)}' {where} ({kind} or None {asked})")


def similar_names(given: list[str], known: list[str]) -> str:
    """Which of the known names the first of the given ones resemble."""
    from difflib import get_close_matches  # errors are few

    # To compare all names of two large models would take a minute.
    near = [(name, get_close_matches(name, known, 1)) for name in given[:3]]
    return ", ".join(f"`{found[0]}` for `{name}`" for name, found in near if found)


def no_init(module: Any, what: str) -> AttributeError:
    """The error for a part that a module gets before `Module.__init__` ran."""
    error = AttributeError(f"cannot assign {what} before Module.__init__() call")
    return advised(error, "no init", type(module).__name__)


class ModuleTree:
    """A base of `Module`: registers assigned parameters, buffers and modules, and lists them."""

    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]

    # Attributes

    def __getattr__(self, name: str) -> Any:
        # Python calls this if ordinary look-up fails, as it does for every parameter.
        own = self.__dict__
        if name in own.get("_parameters", NONE):
            return own["_parameters"][name]
        if name in own.get("_buffers", NONE):
            return own["_buffers"][name]
        if name in own.get("_modules", NONE):
            return own["_modules"][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        if isinstance(value, Parameter):
            if "_parameters" not in own:
                raise no_init(self, "parameters")
            self._forget(name, "_parameters")
            self.register_parameter(name, value)
        elif name in own.get("_parameters", NONE):
            if value is not None:
                error = cannot_register(value, f"as parameter '{name}'", "torch.nn.Parameter")
                raise advised(error, "no parameter", name)
            self.register_parameter(name, value)
        elif isinstance(value, ModuleTree):
            if "_modules" not in own:
                raise no_init(self, "module")
            self._forget(name, "_modules")
            self._modules[name] = value
        elif name in own.get("_modules", NONE):
            if value is not None:
                raise cannot_register(value, f"as child module '{name}'", "torch.nn.Module")
            self._modules[name] = value
        elif name in own.get("_buffers", NONE) or (
            isinstance(value, Tensor) and isinstance(value, Buffer)
        ):
            if value is not None and not isinstance(value, Tensor):
                raise cannot_register(value, f"as buffer '{name}'", "torch.nn.Buffer, torch.Tensor")
            persistent = name not in own.get("_non_persistent_buffers_set", ())
            self.register_buffer(name, value, bool(getattr(value, "persistent", persistent)))
        else:
            object.__setattr__(self, name, value)
            if name == "forward":
                self._is_ours = False  # the new `forward` is the user's
        changes[0] = next_change()

    def _forget(self, name: str, keep: str) -> None:
        """Remove ``name`` from every dict that could hold it, except the dict ``keep``."""
        self.__dict__.pop(name, None)
        for kind in ("_parameters", "_buffers", "_modules"):
            if kind != keep:
                self.__dict__[kind].pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def __delattr__(self, name: str) -> None:
        for members in (self._parameters, self._buffers, self._modules):
            if name in members:
                del members[name]
                self._non_persistent_buffers_set.discard(name)
                break
        else:
            object.__delattr__(self, name)
        changes[0] = next_change()

    def __dir__(self) -> list[str]:
        names = [*dir(type(self)), *self.__dict__]
        names += [*self._parameters, *self._modules, *self._buffers]
        return sorted(name for name in names if not name[0].isdigit())

    # Registration

    def register_buffer(self, name: str, tensor: Any, persistent: bool = True) -> None:
        """Add a buffer: a tensor that belongs to the module's state but is not trained.

        Args:
            name: the name of the buffer and of its attribute, without a dot.
            tensor: the buffer; None reserves the name and is not part of `state_dict`.
            persistent: whether the buffer is part of `state_dict`. Default: True.

        Raises:
            KeyError: if ``name`` is empty, contains a dot or is an attribute already.
            TypeError: if ``tensor`` is neither a tensor nor None, or ``name`` is not a string.
        """
        if "_buffers" not in self.__dict__:
            raise no_init(self, "buffer")
        self._check_name(name, "buffer", self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise cannot_register(tensor, f"object to buffer '{name}'", "torch Tensor", "required")
        self._buffers[name] = tensor
        changes[0] = next_change()
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter; `self.name = param` does the same.

        Args:
            name: the name of the parameter and of its attribute, without a dot.
            param: the parameter; None reserves the name, and `parameters` skips it.

        Raises:
            KeyError: if ``name`` is empty, contains a dot or is an attribute already.
            TypeError: if ``param`` is neither a `Parameter` nor None, or ``name`` is not a string.
            ValueError: if ``param`` is the result of an operation.
        """
        if "_parameters" not in self.__dict__:
            raise no_init(self, "parameter")
        self._check_name(name, "parameter", self._parameters)
        if param is not None and not isinstance(param, Parameter):
            raise cannot_register(
                param, f"object to parameter '{name}'", "torch.nn.Parameter", "required"
            )
        if param is not None and param.grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be "
                f"created explicitly. To express '{name}' as a function of another Tensor, compute "
                "the value in the forward() method."
            )
        self._parameters[name] = param
        changes[0] = next_change()

    def add_module(self, name: str, module: Any) -> None:
        """Add a child module; `self.name = module` does the same.

        Raises:
            KeyError: if ``name`` is empty, contains a dot or is an attribute already.
            TypeError: if ``module`` is neither a module nor None, or ``name`` is not a string.
        """
        if module is not None and not isinstance(module, ModuleTree):
            error = TypeError(f"{typename(module)} is not a Module subclass")
            raise advised(error, "list of layers") if isinstance(module, list) else error
        self._check_name(name, "module", self._modules)
        self._modules[name] = module
        changes[0] = next_change()

    def register_module(self, name: str, module: Any) -> None:
        """Add a child module; an alias of `add_module`."""
        self.add_module(name, module)

    def _check_name(self, name: Any, kind: str, members: dict[str, Any]) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
        if "." in name:
            got = f", got: {name}" if kind == "module" else ""
            raise KeyError(f'{kind} name can\'t contain "."{got}')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if hasattr(self, name) and name not in members:
            raise KeyError(f"attribute '{name}' already exists")

    # Traversal: parents before children, in the order of registration

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """All modules of the tree with their dotted names, this one first.

        Args:
            memo: a set of modules to skip; every listed module is added. Default: a new set.
            prefix: the first part of every name. Default: "".
            remove_duplicate: list a module with several names only once. Default: True.
        """
        seen = set() if memo is None else memo
        if self in seen:
            return
        if remove_duplicate:
            seen.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                place = f"{prefix}.{name}" if prefix else name
                yield from module.named_modules(seen, place, remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> Iterator[Any]:
        """All modules of the tree, this one first."""
        return (module for _, module in self.named_modules(remove_duplicate=remove_duplicate))

    def named_children(self) -> Iterator[tuple[str, Any]]:
        """The direct children, each once, with the first of its names."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Any]:
        """The direct children, each once."""
        return (module for _, module in self.named_children())

    def _named_members(
        self, get_members_fn: Callable[[Any], Iterable[tuple[str, Any]]], prefix: str = "",
        recurse: bool = True, remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:  # fmt: skip
        """The members that ``get_members_fn`` lists for each module, with their dotted names."""
        seen: set[Any] = set()
        modules: Iterable[tuple[str, Any]] = [(prefix, self)]
        if recurse:
            modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
        for place, module in modules:
            for name, member in get_members_fn(module):
                if member is None or member in seen:
                    continue
                if remove_duplicate:
                    seen.add(member)
                yield f"{place}.{name}" if place else name, member

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """The parameters with their dotted names.

        Args:
            prefix: the first part of every name. Default: "".
            recurse: include the parameters of all modules below. Default: True.
            remove_duplicate: list a shared parameter only once. Default: True.
        """
        yield from self._named_members(
            lambda module: module._parameters.items(), prefix, recurse, remove_duplicate
        )

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters, each once; with ``recurse``, also those of all modules below."""
        return (param for _, param in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """The buffers with their dotted names; the arguments are those of `named_parameters`."""
        yield from self._named_members(
            lambda module: module._buffers.items(), prefix, recurse, remove_duplicate
        )

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers, each once; with ``recurse``, also those of all modules below."""
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    # Access by dotted name

    def get_submodule(self, target: str) -> Any:
        """The module with a dotted name such as ``"net.0"``; this one for ``""``.

        Raises:
            AttributeError: if ``target`` does not exist or is not a module.
        """
        module: Any = self
        for name in target.split(".") if target else ():
            module = _step(module, name)
            if not isinstance(module, ModuleTree):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Any, strict: bool = False) -> None:
        """Set or replace the module with a dotted name.

        Args:
            target: the dotted name; its parent must exist.
            module: the new module.
            strict: ``target`` must exist already. Default: False.

        Raises:
            ValueError: if ``target`` is empty or ``module`` is not a module.
            AttributeError: if the parent or, with ``strict``, ``target`` does not exist, or if
                ``target`` is not a module.
        """
        require(target != "", "Cannot set the submodule without a target name!", error=ValueError)
        if not isinstance(module, ModuleTree):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        there = strict or hasattr(parent, name)
        if there and not isinstance(_step(parent, name), ModuleTree):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter with a dotted name.

        Raises:
            AttributeError: if ``target`` does not exist or is not a parameter.
        """
        path, _, name = target.rpartition(".")
        param = _step(self.get_submodule(path), name)
        if not isinstance(param, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return param

    def get_buffer(self, target: str) -> Tensor:
        """The buffer with a dotted name.

        Raises:
            AttributeError: if ``target`` does not exist or is not a buffer.
        """
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        buffer: Tensor = _step(module, name)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return buffer


def _step(module: Any, name: str) -> Any:
    if not hasattr(module, name):
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    return getattr(module, name)


# The state of a module, as a dict of tensors.


EXTRA_STATE = _EXTRA_STATE_KEY_SUFFIX = "_extra_state"
NO_COPY = (
    "for {}: copying from a non-meta parameter in the checkpoint to a meta parameter in the "
    "current model, which is a no-op. (Did you mean to pass `assign=True` to assign items in the "
    "state dictionary to their corresponding key in the module instead of copying them in place?)"
)
NO_EXTRA_STATE = (
    "{method} is to be implemented by modules that have extra state; the base class has none."
)


class _IncompatibleKeys(NamedTuple):
    """The names that only the module has, and those that only the state dict has."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return (
            f"_IncompatibleKeys(missing_keys={self.missing_keys!r}, "
            f"unexpected_keys={self.unexpected_keys!r})"
        )


class ModuleState(ModuleTree):
    """A base of `Module`: `state_dict` and `load_state_dict`."""

    _version: int = 1
    _state_dict_hooks: HookDict
    _state_dict_pre_hooks: HookDict
    _load_state_dict_pre_hooks: HookDict
    _load_state_dict_pre_hooks_with_module: set[int]
    _load_state_dict_post_hooks: HookDict

    # From the module to a dict

    def state_dict(
        self, *, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> Any:
        """The parameters and persistent buffers of the tree by their dotted names.

        The tensors share the module's memory.

        Args:
            destination: the dict to write to. Default: a new ordered dict.
            prefix: the first part of every name. Default: "".
            keep_vars: keep the tensors attached to the graph. Default: False, detached tensors.
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
                require(result is None, "state_dict post-hook must return None")
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
        passing = self._non_persistent_buffers_set
        held: dict[str, Any] = {**self._parameters, **self._buffers}
        return {n: tensor for n, tensor in held.items() if tensor is not None and n not in passing}

    def get_extra_state(self) -> Any:
        """Further state for the state dict; subclasses override this and `set_extra_state`.

        Raises:
            RuntimeError: always, in this base class.
        """
        raise RuntimeError(NO_EXTRA_STATE.format(method="Module.get_extra_state()"))

    def set_extra_state(self, state: Any) -> None:
        """Restore the state that `get_extra_state` returned.

        Raises:
            RuntimeError: always, in this base class.
        """
        raise RuntimeError(NO_EXTRA_STATE.format(method="Module.set_extra_state()"))

    # From a dict to the module

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copy the tensors of a state dict into the parameters and buffers.

        Args:
            state_dict: a result of `state_dict`.
            strict: require exactly the names of the module. Default: True.
            assign: replace the module's tensors by those of the dict instead of copying values. A
                new parameter requires grad if the old one does. Default: False.

        Returns:
            The missing and the unexpected names.

        Raises:
            TypeError: if ``state_dict`` is not a mapping.
            RuntimeError: if shapes differ or, with ``strict``, names do not match.
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
            error = RuntimeError(
                f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{text}"
            )
            near = similar_names(keys.unexpected_keys, keys.missing_keys)
            raise advised(error, "misspelt key", near) if near else error
        return keys

    def _load(
        self, given: dict[str, Any], prefix: str, metadata: Mapping[str, Any], assign: bool,
        keys: _IncompatibleKeys, errors: list[str],
    ) -> None:  # fmt: skip
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
                raise AssertionError("a hook after load_state_dict changes the keys in place")

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], strict: bool,
        missing_keys: list[str], unexpected_keys: list[str], error_msgs: list[str],
    ) -> None:  # fmt: skip
        """Load the module's own parameters, buffers and extra state, not its children's."""
        arguments = (
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs,
        )  # fmt: skip
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
        """Copy or assign one tensor of a state dict; append any error to ``errors``."""
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
                    if tensor.is_meta and not value.is_meta:
                        warn(NO_COPY.format(key))
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
        """Call ``hook(module, prefix, keep_vars)`` before `state_dict` collects the tensors."""
        return add_hook(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Any) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata)`` at the end of `state_dict`.

        The hook may change the dict and must return None.
        """
        hook._from_public_api = True
        return add_hook(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Any) -> RemovableHandle:
        """Like `register_state_dict_post_hook`, for hooks that may return another dict."""
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError("the function is registered by register_state_dict_post_hook")
        return add_hook(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata, strict, missing_keys,
        unexpected_keys, error_msgs)`` before the module loads its own parameters and buffers.
        """
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., None], with_module: bool = False
    ) -> RemovableHandle:
        """Like the public method; the hook gets the module only if ``with_module`` is set."""
        handle = add_hook(self._load_state_dict_pre_hooks, hook)
        if with_module:
            self._load_state_dict_pre_hooks_with_module.add(handle.id)
        return handle

    def register_load_state_dict_post_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Call ``hook(module, incompatible_keys)`` after the module and its children are loaded.

        The hook may change the lists of keys in place and must return None.
        """
        return add_hook(self._load_state_dict_post_hooks, hook)


def _overrides(module: ModuleState, name: str) -> bool:
    return getattr(type(module), name) is not getattr(ModuleState, name)


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Remove ``prefix`` from the names of a state dict, in place.

    The state of a layer in a wrapper such as `DataParallel` then fits the layer itself.
    """
    for key in list(state_dict):
        if key.startswith(prefix):
            state_dict[key.removeprefix(prefix)] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", {})
    for key in list(metadata):
        if key == prefix.replace(".", "") or (key and key.startswith(prefix)):
            metadata[key[len(prefix) :]] = metadata.pop(key)


# `Module`, the base class of all layers and models.


OWN_HOOKS = (
    "_backward_pre_hooks", "_backward_hooks", "_forward_hooks", "_forward_pre_hooks",
    "_state_dict_hooks", "_state_dict_pre_hooks", "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)  # fmt: skip
HOOK_OPTIONS = (
    "_forward_hooks_with_kwargs", "_forward_hooks_always_called", "_forward_pre_hooks_with_kwargs",
    "_load_state_dict_pre_hooks_with_module",
)  # fmt: skip


@shown_as_one
class Module(ModuleCall, ModuleState):
    """A part of a model: parameters, buffers, child modules and a `forward`.

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.hidden = nn.Linear(2, 16)
                self.out = nn.Linear(16, 1)

            def forward(self, x):
                return self.out(torch.relu(self.hidden(x)))

    An assignment to an attribute registers a `Parameter` among the `parameters`, a module among the
    `children` and a `Buffer` among the `buffers`.

    Attributes:
        training: whether the module is in training mode; `Dropout` and `BatchNorm` depend on it.
    """

    training: bool
    call_super_init = False
    dump_patches = False
    T_destination = TypeVar("T_destination", bound=dict[str, Any])

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        name = type(self).__name__
        if kwargs and not self.call_super_init:
            first = next(iter(kwargs))
            raise TypeError(f"{name}.__init__() got an unexpected keyword argument '{first}'")
        if args and not self.call_super_init:
            raise TypeError(
                f"{name}.__init__() takes 1 positional argument but {len(args) + 1} were given"
            )
        own = self.__dict__  # bypasses `__setattr__`, which would check each of these
        own["training"] = True
        own["_parameters"], own["_buffers"] = {}, {}
        own["_non_persistent_buffers_set"] = set()
        for kind in OWN_HOOKS:
            own[kind] = HookDict()
        for option in HOOK_OPTIONS:
            own[option] = set()
        own["_modules"] = {}
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    # Modes

    def train(self, mode: bool = True) -> Self:
        """Set training mode in this module and all modules below; returns the module.

        Args:
            mode: False sets evaluation mode. Default: True.

        Raises:
            ValueError: if ``mode`` is not a bool.
        """
        require(isinstance(mode, bool), "training mode is expected to be boolean", error=ValueError)
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Set evaluation mode in this module and all modules below; returns the module."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set ``requires_grad`` of all parameters; returns the module."""
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Reset the gradients of all parameters to None or zero.

        Args:
            set_to_none: reset to None, not to zero. Default: True.
        """
        for p in self.parameters():
            if set_to_none:
                p.grad = None
            elif p._grad is not None:
                clear_gradient(p._grad)

    # Functions over the tree

    def apply(self, fn: Callable[["Module"], Any]) -> Self:
        """Call ``fn`` with every module of the tree, children first; returns the module."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replace all parameters, their gradients and all buffers by the results of ``fn``."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for param in self._parameters.values():
            if param is not None:
                with no_grad():
                    param._take_data(fn(param))
                    if param._grad is not None:
                        requires_grad = param._grad.requires_grad
                        param._grad = fn(param._grad).detach().requires_grad_(requires_grad)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Convert the floating-point parameters and buffers; returns the module.

        The call is ``to(dtype)``, ``to(device)``, ``to(device, dtype)`` or ``to(tensor)``. The
        device is the CPU or "meta"; ``non_blocking`` has no effect.

        Raises:
            TypeError: if the dtype is neither floating-point nor complex, or for other arguments.
            NotImplementedError: for the CPU, if a tensor has no values.
            AssertionError, RuntimeError: for another device, and for ``copy``.
        """
        where, wanted, _, _ = parse_to_arguments(*args, **kwargs)
        if where is not None and on_meta(where):
            self._apply(lambda t: t.to(where))
        elif where is not None and any(t.is_meta for t in (*self.parameters(), *self.buffers())):
            raise NotImplementedError(
                f"{NO_DATA} Please use torch.nn.Module.to_empty() instead of torch.nn.Module.to() "
                "when moving module from meta to a different device."
            )
        if wanted is None:
            return self
        if not (wanted.is_floating_point or wanted.is_complex):
            raise TypeError(
                "nn.Module.to only accepts floating point or complex dtypes, but got desired "
                f"dtype={wanted}"
            )
        return self._to_float(wanted)

    def type(self, dst_type: dtype) -> Self:
        """Convert all parameters and buffers to ``dst_type``; returns the module."""
        keep_accumulators(*self.parameters())
        return self._apply(lambda t: t.to(dst_type))

    def float(self) -> Self:
        """Convert the floating-point parameters and buffers to ``float32``; returns the module."""
        return self._to_float(dtypes.float32)

    def double(self) -> Self:
        """Convert the floating-point parameters and buffers to ``float64``; returns the module."""
        return self._to_float(dtypes.float64)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing; `torch.compile` compiles steps."""

    def bfloat16(self) -> Self:
        """Convert the floating-point parameters and buffers to ``bfloat16``; returns the module."""
        return self._to_float(dtypes.bfloat16)

    def half(self) -> Self:
        """Convert the floating-point parameters and buffers to ``float16``; returns the module."""
        return self._to_float(dtypes.float16)

    def cuda(self, device: int | device | None = None) -> Self:
        """Always an error: modules are on the CPU.

        Raises:
            AssertionError: always.
        """
        raise absent("cuda")

    def xpu(self, device: int | device | None = None) -> Self:
        """Always an error, as `cuda`."""
        raise absent("xpu")

    def mtia(self, device: int | device | None = None) -> Self:
        """Always an error, as `cuda`."""
        raise absent("mtia")

    def ipu(self, device: int | device | None = None) -> Self:
        """Always an error, as `cuda`."""
        raise absent("ipu")

    def cpu(self) -> Self:
        """The module itself: it is on the CPU.

        Raises:
            NotImplementedError: if a tensor has no values.
        """
        for tensor in (*self.parameters(), *self.buffers()):
            tensor.cpu()
        return self

    def to_empty(self, *, device: int | str | device | None, recurse: bool = True) -> Self:
        """Give all parameters and buffers new memory with arbitrary values; returns the module.

        Args:
            device: the CPU or "meta". Default: that of each tensor.
            recurse: include all modules below. Default: True.
        """
        return self._apply(lambda t: empty_like(t, device=device), recurse)

    def share_memory(self) -> Self:
        """Move the tensors to memory that processes share; returns the module.

        See `Tensor.share_memory_`.
        """
        from nanotorch.multiprocessing import share  # slow to import

        return self._apply(share)

    def _to_float(self, kind: dtype) -> Self:
        keep_accumulators(*self.parameters())
        return self._apply(lambda t: t.to(kind) if t.is_floating_point() else t)

    # Printing

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """The options in the module's `repr`; subclasses override this."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        if len(lines) <= 1 and not self._modules:
            return f"{self._get_name()}({extra})"
        for name, module in self._modules.items():
            lines.append(f"({name}): {module!r}".replace("\n", "\n  "))
        inner = "\n  ".join(lines)
        return f"{self._get_name()}(\n  {inner}\n)"

    def _repr_html_(self) -> str:
        """A table of all modules and the shapes of their parameters, for notebooks."""
        from html import escape  # only notebooks need it

        rows = [("module", "layer", "parameters", "elements")]
        for path, module in self.named_modules():
            own = [(name, p) for name, p in module._parameters.items() if p is not None]
            shapes = ", ".join(f"{name} {list(p.shape)}" for name, p in own)
            layer = f"{module._get_name()}({module.extra_repr()})"
            rows.append((path, layer, shapes, f"{sum(p.numel() for _, p in own):,}" if own else ""))
        rows.append(("all", "", "", f"{sum(p.numel() for p in self.parameters()):,}"))
        cells = ("".join(f"<td>{escape(text)}</td>" for text in row) for row in rows)
        return f"<table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"


def clear_gradient(grad: Tensor) -> None:
    """Fill a gradient with zeros and make it a leaf that does not require grad."""
    if grad.grad_fn is not None:
        grad.detach_()
    else:
        grad.requires_grad_(False)
    grad._array.fill(0)
    count_write(grad._cell, "zero_grad")


def parse_to_arguments(*args: Any, **kwargs: Any) -> tuple[device | None, dtype | None, bool, Any]:
    """The device, dtype, ``non_blocking`` and memory format in arguments of `Module.to`."""
    given = parse_to(*args, **kwargs)
    require("copy" not in given, ".to() does not accept copy argument")
    place, wanted = given.get("device"), given.get("dtype")
    if "tensor" in given:
        place, wanted = given["tensor"].device, given["tensor"].dtype
    place = place if place is None else device(place)
    wanted = wanted if wanted is None else dtypes.as_dtype(wanted)
    return place, wanted, given.get("non_blocking", False), given.get("memory_format")
