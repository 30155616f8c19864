"""What a step can reach from the code it runs, and how to see that nothing of it has changed.

The survey starts at the step's closure, globals and arguments and follows what the step's code can
name. What is plain Python is the business of `Reach`; here is what the library gives.
"""

from collections.abc import Iterable
from types import CodeType
from typing import Any

from nanotorch._core.tensor import Tensor
from nanotorch.compile.checks import Check
from nanotorch.compile.reach import VALUES, Reach, Unguardable
from nanotorch.compile.tracing import KNOWN_OPTIMIZERS, OPTIONS
from nanotorch.compile.watch import attribute_names
from nanotorch.nn import every_module
from nanotorch.nn.module import Module
from nanotorch.optim import every_optimizer
from nanotorch.optim.optimizer import Optimizer
from nanotorch.optim.sgd import SGD

# Attributes of a module that it looks up by text, whatever its forward names.
OF_MODULES = {"_parameters", "_buffers", "_modules", "training"}
# What of a tensor must be as it was.
FLAGS = ("_requires_grad", "_edge", "_view", "_leaf_hooks", "_post_accumulate_hooks")


class Survey(Reach):
    """Everything in reach of a step.

    Attributes:
        grads: which leaves have a gradient; beside `signature` it tells one state from another.
        tensors: by `id`; gradients among them are listed too.
        modules, optimizers: all of them.
    """

    def __init__(self, codes: Iterable[CodeType], library: Iterable[CodeType]) -> None:
        super().__init__(codes, library)
        self.library_names = {name for code in self.library for name in attribute_names(code)}
        # Who reads the options himself sees numbers, which are then guarded as such.
        self.ordinary = "param_groups" in self.names
        self.grads: list[tuple[int, bool]] = []
        self.tensors: dict[int, Tensor] = {}
        self.gradients: list[int] = []
        self.optimizers: list[Optimizer] = []
        self.modules: list[Module] = []

    def visit(self, value: Any, path: str) -> None:
        """Follow one object."""
        if isinstance(value, Tensor):
            self.visit_tensor(value, path)
        elif isinstance(value, Optimizer):
            self.visit_optimizer(value, path)
        elif isinstance(value, Module):
            self.visit_module(value, path)
        else:
            super().visit(value, path)

    def visit_tensor(self, tensor: Tensor, path: str) -> None:
        """Its array, flags and hooks; its gradient is the replay's own concern."""
        self.tensors[id(tensor)] = tensor
        self.hold(type(tensor), path)
        if tensor._edge is not None and tensor._requires_grad:
            raise Unguardable(f"`{path}` is a tensor with a history")
        own = vars(tensor)
        self.users_attributes(own, path)
        self.size(own)
        for name in ("_array", *FLAGS):
            value = getattr(tensor, name)
            if name in own:
                self.checks.append(Check("item", own, name, value))
            if name.endswith("hooks") and value is not None:
                self.hold(value, path)
            else:
                self.signature.append(id(value))
        # An optimizer moves whatever has a gradient, even if it does not require one.
        if "_grad" in own:
            self.checks.append(Check("grad", own, None, tensor._grad is None))
        self.grads.append((id(tensor), tensor._grad is None))
        if tensor._view is not None:
            self.hold(tensor._view.base, path)
        if tensor._grad is not None:
            self.gradients.append(id(tensor._grad))
            self.tensors[id(tensor._grad)] = tensor._grad

    def let_go(self) -> None:
        """Hold no gradients any more, which are another step's."""
        for key in self.gradients:
            if key not in self.seen:
                self.tensors.pop(key, None)

    def visit_optimizer(self, optimizer: Optimizer, path: str) -> None:
        """Groups, state and hooks; options that are numbers are read at run time."""
        counted = type(optimizer).__setattr__ is Optimizer.__setattr__
        self.checks.append(Check("attr", optimizer, "__class__", type(optimizer), counted))
        self.hold(type(optimizer), path)
        self.optimizers.append(optimizer)
        own = vars(optimizer)
        self.size(own, counted)
        self.users_attributes(own, path)
        hooks = [name for name in own if name.endswith(("step_pre_hooks", "step_post_hooks"))]
        called = [hook for name in hooks for hook in own[name].values()]
        if every_optimizer.before or every_optimizer.after:
            raise Unguardable("there are hooks of the steps of all optimizers")
        for name in ("before", "after"):
            self.checks.append(Check("empty", vars(every_optimizer), name, None, True))
        if not all(str(getattr(h, "__module__", "")).startswith("nanotorch.") for h in called):
            raise Unguardable(f"`{path}` has hooks of its steps")
        options = [part for group in optimizer.param_groups for part in group.values()]
        if type(optimizer) is not SGD and any(isinstance(part, Tensor) for part in options):
            raise Unguardable(f"an option of `{path}` is a tensor, with a precision of its own")
        for name in ("param_groups", *hooks):
            self.attribute(own, name, own[name], f"{path}.{name}", counted)
        self.visit_state(optimizer, path, counted)
        free = type(optimizer) in KNOWN_OPTIMIZERS and not self.ordinary
        for group in optimizer.param_groups if free else ():
            self.seen.add(id(group))
            self.kept.append(group)
            plain = all(is_number(part) or isinstance(part, VALUES) or key == "params"
                        for key, part in group.items())  # fmt: skip
            if plain:
                self.checks.append(Check("group", group, None, list(group.values())))
            for key, part in group.items():
                if key in OPTIONS and is_number(part):
                    self.signature.append((key, type(part).__name__ == "tuple"))
                    continue
                place = f"{path}.param_groups[{key!r}]"
                self.checks.append(Check("item", group, key, part, counted=plain))
                self.hold(part, place)
        if type(optimizer) not in KNOWN_OPTIMIZERS:
            for name in [name for name in own if name != "_flats"]:
                self.entry("item", own, name, own[name], f"{path}.{name}")

    def visit_state(self, optimizer: Optimizer, path: str, counted: bool) -> None:
        """What an optimizer keeps for each parameter, which nobody else changes the flags of."""
        own = vars(optimizer)
        self.checks.append(Check("item", own, "state", optimizer.state, counted))
        self.kept.append(optimizer.state)
        self.checks.append(Check("len", optimizer.state, None, len(optimizer.state)))
        self.signature.append((id(optimizer.state), len(optimizer.state)))
        for key, entry in optimizer.state.items():
            self.hold(key, path)
            if not isinstance(entry, dict):
                self.hold(entry, f"{path}.state")
                continue
            for name, value in entry.items():
                self.checks.append(Check("state", optimizer.state, (key, name), value))
                if type(value) is Tensor and value._edge is None and not value.requires_grad:
                    self.tensors[id(value)] = value
                    self.kept.append(value)
                    self.checks.append(Check("item", vars(value), "_array", value._array))
                    self.signature += [id(value), id(value._array)]
                else:
                    self.hold(value, f"{path}.state[{name!r}]")
            self.signature.append(tuple(entry))

    def visit_module(self, module: Module, path: str) -> None:
        """Parameters, buffers, children, hooks, and attributes in reach."""
        own = vars(module)
        self.modules.append(module)
        counted = type(module).__setattr__ is Module.__setattr__
        if every_module.calls:
            raise Unguardable("there are hooks of all modules")
        self.checks.append(Check("empty", vars(every_module), "calls", None, True))
        self.checks.append(Check("attr", module, "__class__", type(module), counted))
        self.hold(type(module), path)
        self.size(own, counted)
        for name, value in own.items():
            if self.dynamic or name in self.names | self.library_names | OF_MODULES:
                # What users set they may set in `vars` of the module too, which nobody counts.
                users = self.dynamic or name in self.names
                inner = name in OF_MODULES or name.startswith("_") or not users
                self.attribute(own, name, value, f"{path}.{name}", counted and inner)

    def attribute(
        self, own: dict[str, Any], name: str, value: Any, path: str, counted: bool = False
    ) -> None:
        """An attribute of a module; of hooks it is enough to see that there are none."""
        if isinstance(value, (dict, set)) and not value and name.startswith("_"):
            self.checks.append(Check("empty", own, name, None, counted))
            self.signature.append((name, 0))
        else:
            self.checks.append(Check("item", own, name, value, counted))
            self.hold(value, path)


def is_number(value: Any) -> bool:
    """Whether an option is a number, or several."""
    if type(value) is tuple:
        return all(type(part) in (int, float) for part in value)
    return type(value) in (int, float)
