"""A module as a tree: its parameters, buffers and children, by attribute and by dotted name."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from nanotorch._core.hooks import changes
from nanotorch._core.tensor import Tensor
from nanotorch._core.typename import typename
from nanotorch.nn.every_module import registered, registrations
from nanotorch.nn.parameter import Buffer, Parameter

NONE: dict[str, Any] = {}


class ModuleTree:
    """Registers what is assigned to it and lists it; the base of `Module`."""

    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]

    # Attributes

    def __getattr__(self, name: str) -> Any:
        # Called for what ordinary look-up does not find, which every use of a parameter is.
        own = self.__dict__
        if name in own.get("_parameters", NONE):
            return own["_parameters"][name]
        if name in own.get("_buffers", NONE):
            return own["_buffers"][name]
        if name in own.get("_modules", NONE):
            return own["_modules"][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        changes[0] += 1
        own = self.__dict__
        if isinstance(value, Parameter):
            if "_parameters" not in own:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, "_parameters")
            self.register_parameter(name, value)
        elif name in own.get("_parameters", NONE):
            if value is not None:
                expected = f"as parameter '{name}' (torch.nn.Parameter or None expected)"
                raise TypeError(f"cannot assign '{typename(value)}' {expected}")
            self.register_parameter(name, value)
        elif isinstance(value, ModuleTree):
            if "_modules" not in own:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, "_modules")
            self._modules[name] = registered("module", self, name, value)
        elif name in own.get("_modules", NONE):
            if value is not None:
                expected = f"as child module '{name}' (torch.nn.Module or None expected)"
                raise TypeError(f"cannot assign '{typename(value)}' {expected}")
            self._modules[name] = registered("module", self, name, value)
        elif isinstance(value, Buffer) or name in own.get("_buffers", NONE):
            self._set_buffer(name, value)
        else:
            object.__setattr__(self, name, value)
            if name == "forward":
                self._is_ours = False  # it is the user's own from now on

    def _forget(self, name: str, keep: str) -> None:
        """Take ``name`` out of everything that could hold it but ``keep``."""
        self.__dict__.pop(name, None)
        for kind in ("_parameters", "_buffers", "_modules"):
            if kind != keep:
                self.__dict__[kind].pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def _set_buffer(self, name: str, value: Any) -> None:
        if isinstance(value, Buffer):
            persistent = bool(value.persistent)  # type: ignore[attr-defined]
        else:
            persistent = name not in self.__dict__.get("_non_persistent_buffers_set", ())
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(
                f"cannot assign '{typename(value)}' as buffer '{name}' "
                "(torch.nn.Buffer, torch.Tensor or None expected)"
            )
        self.register_buffer(name, value, persistent)

    def __delattr__(self, name: str) -> None:
        changes[0] += 1
        for members in (self._parameters, self._buffers, self._modules):
            if name in members:
                del members[name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        names = [*dir(type(self)), *self.__dict__]
        names += [*self._parameters, *self._modules, *self._buffers]
        return sorted(name for name in names if not name[0].isdigit())

    # Registration

    def register_buffer(self, name: str, tensor: Any, persistent: bool = True) -> None:
        """Add a buffer: a tensor that belongs to the module's state but is not trained.

        Args:
            name: without a dot; the buffer is reached as the attribute of this name.
            tensor: None reserves the name; it is then not part of `state_dict`.
            persistent: whether it is part of `state_dict`. Default: True.

        Raises:
            KeyError: for a name that is empty, has a dot or is taken.
            TypeError: if ``tensor`` is neither a tensor nor None, or ``name`` is no string.
        """
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        self._check_name(name, "buffer", self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' "
                "(torch Tensor or None required)"
            )
        changes[0] += 1
        if registrations:
            tensor = registered("buffer", self, name, tensor)
        self._buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter; `self.name = param` does the same.

        Args:
            name: without a dot; the parameter is reached as the attribute of this name.
            param: None reserves the name; operations such as `parameters` leave it out.

        Raises:
            KeyError: for a name that is empty, has a dot or is taken.
            TypeError: if ``param`` is neither a `Parameter` nor None, or ``name`` is no string.
            ValueError: if an operation made ``param``.
        """
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        self._check_name(name, "parameter", self._parameters)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{typename(param)}' object to parameter '{name}' "
                "(torch.nn.Parameter or None required)"
            )
        if param is not None and param.grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be "
                f"created explicitly. To express '{name}' as a function of another Tensor, compute "
                "the value in the forward() method."
            )
        changes[0] += 1
        if registrations and param is not None:
            param = registered("parameter", self, name, param)
        self._parameters[name] = param

    def add_module(self, name: str, module: Any) -> None:
        """Add a child module; `self.name = module` does the same.

        Raises:
            KeyError: for a name that is empty, has a dot or is taken.
            TypeError: if ``module`` is neither a module nor None, or ``name`` is no string.
        """
        if module is not None and not isinstance(module, ModuleTree):
            raise TypeError(f"{typename(module)} is not a Module subclass")
        self._check_name(name, "module", self._modules)
        changes[0] += 1
        if registrations:
            module = registered("module", self, name, module)
        self._modules[name] = module

    def register_module(self, name: str, module: Any) -> None:
        """The same as `add_module`."""
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
            memo: modules to leave out; those found are added.
            prefix: what every name begins with.
            remove_duplicate: list a module that has several places once only. Default: True.
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
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_children(self) -> Iterator[tuple[str, Any]]:
        """The modules registered here, each once, with the first of their names."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Any]:
        """The modules registered here, each once."""
        for _, module in self.named_children():
            yield module

    def _named_members(
        self,
        get_members_fn: Callable[[Any], Iterable[tuple[str, Any]]],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        """What a function lists of each module of the tree, with dotted names."""
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
            prefix: what every name begins with.
            recurse: include those of the modules below. Default: True.
            remove_duplicate: list a shared parameter once only. Default: True.
        """
        yield from self._named_members(
            lambda module: module._parameters.items(), prefix, recurse, remove_duplicate
        )

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters, each once; those of the modules below too if ``recurse``."""
        for _, param in self.named_parameters(recurse=recurse):
            yield param

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """The buffers with their dotted names; the arguments are those of `named_parameters`."""
        yield from self._named_members(
            lambda module: module._buffers.items(), prefix, recurse, remove_duplicate
        )

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers, each once; those of the modules below too if ``recurse``."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    # Access by dotted name

    def get_submodule(self, target: str) -> Any:
        """The module that a dotted name such as ``"net.0"`` leads to; this one for ``""``.

        Raises:
            AttributeError: if nothing has that name, or something that is no module.
        """
        module: Any = self
        for name in target.split(".") if target else ():
            module = _step(module, name)
            if not isinstance(module, ModuleTree):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Any, strict: bool = False) -> None:
        """Put ``module`` at the place that a dotted name leads to.

        Args:
            target: the place; its parent must exist.
            module: the module to put there.
            strict: there must be one already. Default: False.

        Raises:
            ValueError: for an empty name, or if ``module`` is no module.
            AttributeError: if the parent or, with ``strict``, the place does not exist, or what
                stands there is no module.
        """
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, ModuleTree):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        there = strict or hasattr(parent, name)
        if there and not isinstance(_step(parent, name), ModuleTree):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter that a dotted name leads to.

        Raises:
            AttributeError: if nothing has that name, or something that is no parameter.
        """
        path, _, name = target.rpartition(".")
        param = _step(self.get_submodule(path), name)
        if not isinstance(param, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return param

    def get_buffer(self, target: str) -> Tensor:
        """The buffer that a dotted name leads to.

        Raises:
            AttributeError: if nothing has that name, or something that is no buffer.
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
