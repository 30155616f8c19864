"""`Optimizer`, the base class, and the check that an optimizer steps before its scheduler."""

import functools
import itertools
import sys
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

from nanotorch._core.call_site import warn
from nanotorch._core.grad_mode import enable_grad
from nanotorch._core.graph import HookDict, RemovableHandle, add_hook, changes, next_change
from nanotorch._core.tensor import Tensor, typename
from nanotorch.autograd.anomaly import nonfinite_level, note_nonfinite, watch
from nanotorch.names.lookup import advised
from nanotorch.nn.module import clear_gradient
from nanotorch.ops.arguments import require, require_value
from nanotorch.optim.flat_buffer import Candidate

# `Optimizer`, the base class: parameter groups, state, hooks.
#
# An update works on the bare arrays of parameters and gradients, in place, and records nothing.


Group = dict[str, Any]
Closure = Callable[[], Any]
Hook = Callable[..., Any]
ParamsT = Any  # for annotations: parameters, named or not, or groups of them


UNORDERED = (
    "optimizer parameters need to be organized in ordered collections, but the ordering of tensors "
    "in sets will change between runs. Please use a list instead."
)
OTHER_SIZE = (
    "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
)


class _Required:
    """The type of `required`, the value in ``defaults`` of an option without a default."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()


class Optimizer:
    """The base of optimizers, which update parameters by their gradients.

    Args:
        params: tensors; pairs of name and tensor; or groups: dicts with the key ``params`` and
            their own options.
        defaults: the options that groups do not set.

    Attributes:
        param_groups: a dict per group: ``params`` and the options.
        state: a dict per parameter, with the optimizer's state for it.

    Options of many optimizers:
        lr: the learning rate, at least 0; a number or a tensor of one element.
        weight_decay: the strength of the L2 penalty, at least 0. Default: 0.
        decoupled_weight_decay: ``p ← p - lr · weight_decay · p`` instead of the penalty.
        maximize: ascend instead of descend. Default: False.
        foreach, fused: accepted for compatibility.
        capturable: for accelerators only; `step` refuses it.
        differentiable: must be False.

    Raises:
        TypeError: if ``params`` is a tensor, or a parameter is not a tensor.
        ValueError: if there are no parameters, a parameter is in two groups or not a leaf, or only
            some have names; if an option is out of range.
        NotImplementedError: with ``differentiable``.
    """

    _optimizer_step_pre_hooks: HookDict
    _optimizer_step_post_hooks: HookDict
    _optimizer_state_dict_pre_hooks: HookDict
    _optimizer_state_dict_post_hooks: HookDict
    _optimizer_load_state_dict_pre_hooks: HookDict
    _optimizer_load_state_dict_post_hooks: HookDict
    _flats: dict[int, Candidate]  # by `id` of a group

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = with_step_hooks(cls.step)  # type: ignore[method-assign]

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._prepare()
        if isinstance(params, Tensor):
            error = TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, "
                f"but got {typename(params)}"
            )
            raise advised(error, "tensor for parameters")
        if isinstance(params, set):
            warn(f"{UNORDERED} This will be an error in a future release.", FutureWarning)
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[Group] = []
        try:
            groups = list(params)
        except TypeError as error:
            if hasattr(params, "parameters"):
                names = type(self).__name__, type(params).__name__
                raise advised(error, "model for parameters", *names) from None
            raise
        if not groups:
            raise advised(ValueError("optimizer got an empty parameter list"), "no parameters")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def _prepare(self) -> None:
        """Create the attributes that are not copied or pickled: caches and dicts of hooks."""
        own = self.__dict__  # bypasses `__setattr__`, which is slower
        own["_flats"] = {}
        for kind in HOOKS:
            if kind not in own:
                own[kind] = HookDict()

    def __getstate__(self) -> dict[str, Any]:
        return {name: self.__dict__[name] for name in ("defaults", "state", "param_groups")}

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        changes[0] = next_change()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._prepare()
        changes[0] = next_change()

    def __repr__(self) -> str:
        blocks = []
        for position, group in enumerate(self.param_groups):
            lines = [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
            blocks.append("\n".join([f"Parameter Group {position}", *lines]))
        return f"{type(self).__name__} (\n" + "\n\n".join(blocks) + "\n)"

    # Parameters

    def add_param_group(self, param_group: Group) -> None:
        """Add a group of parameters, for example of layers that are no longer frozen.

        Args:
            param_group: a dict with the key ``params`` (a tensor, tensors, or pairs of name and
                tensor) and options; the other options have their defaults.

        Raises:
            TypeError, ValueError: see `Optimizer`.
        """
        message = "param_group must be a dict, but got {}"
        require(isinstance(param_group, dict), message, type(param_group), error=TypeError)
        given = param_group["params"]
        require(not isinstance(given, set), UNORDERED, error=TypeError)
        entries = [given] if isinstance(given, Tensor) else list(given)
        names = [entry[0] for entry in entries if isinstance(entry, tuple)]
        alike = len(names) in (0, len(entries))
        require_value(alike, "all optimizer params should be with/without names")
        param_group["params"] = [entry[1] for entry in entries] if names else entries
        if names:
            param_group["param_names"] = names
        for param in param_group["params"]:
            if not isinstance(param, Tensor):
                message = "optimizer can only optimize Tensors, but one of the params is"
                error = TypeError(f"{message} {typename(param)}")
                if hasattr(param, "parameters"):  # from `list(model)`
                    advised(error, "model for parameters", type(self).__name__, "module")
                raise error
            if not (param.is_leaf or param.retains_grad):
                raise advised(ValueError("can't optimize a non-leaf Tensor"), "no leaf")
        for name, default in self.defaults.items():
            there = default is not required or name in param_group
            require_value(there, "parameter group didn't specify a value of {}", name)
            param_group.setdefault(name, default)
        self._check_group(param_group)
        self.param_groups.append(param_group)

    def _check_group(self, new: Group) -> None:
        """Refuse a group that shares parameters with another, or alone has names or none."""
        params = set(new["params"])
        if len(params) != len(new["params"]):
            warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this "
                "will cause an error; see github.com/pytorch/pytorch/issues/40967 for more "
                "information"
            )
        for group in self.param_groups:
            alike = ("param_names" in new) == ("param_names" in group)
            require_value(alike, "all optimizer param groups should be with/without names")
        apart = params.isdisjoint(p for group in self.param_groups for p in group["params"])
        require_value(apart, "some parameters appear in more than one parameter group")

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Reset the gradients of all parameters to None or zero.

        Args:
            set_to_none: reset to None, not to zero. Default: True.
        """
        for group in self.param_groups:
            for p in group["params"]:
                if not set_to_none and p._grad is not None:
                    clear_gradient(p._grad)
                else:
                    p._grad = None

    def step(self, closure: Closure | None = None) -> Any:
        """Update the parameters once; every subclass defines its own.

        Args:
            closure: a function that evaluates the model again and returns the loss; `step` then
                returns this loss.
        """
        raise NotImplementedError

    # State

    def state_dict(self) -> dict[str, Any]:
        """The groups and the state, with numbers instead of parameters.

        Returns:
            ``{"state": {number: {...}}, "param_groups": [{..., "params": [numbers]}]}``; tensors
            share the optimizer's memory.
        """
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers: dict[int, int] = {}
        groups = []
        start = 0
        for group in self.param_groups:
            for position, p in enumerate(group["params"], start):
                numbers.setdefault(id(p), position)
            start += len(group["params"])
            packed = {key: value for key, value in group.items() if key != "params"}
            groups.append(packed | {"params": [numbers[id(p)] for p in group["params"]]})
        state = {
            (numbers[id(key)] if isinstance(key, Tensor) else key): value
            for key, value in self.state.items()
        }
        result: dict[str, Any] = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            replaced = hook(self, result)
            result = result if replaced is None else replaced
        return result

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the options and the state of a `state_dict`.

        Parameters match by position. State of a floating-point parameter is converted to its dtype,
        except ``step``.

        Raises:
            ValueError: if the groups differ in number or size.
        """
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            replaced = hook(self, state_dict)
            state_dict = state_dict if replaced is None else replaced
        groups, saved = self.param_groups, deepcopy(state_dict["param_groups"])
        message = "loaded state dict has a different number of parameter groups"
        require_value(len(groups) == len(saved), message)
        sizes = [[len(group["params"]) for group in several] for several in (groups, saved)]
        require_value(sizes[0] == sizes[1], OTHER_SIZE)
        numbers = itertools.chain.from_iterable(group["params"] for group in saved)
        params = itertools.chain.from_iterable(group["params"] for group in groups)
        by_number = dict(zip(numbers, params, strict=True))
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            p = by_number.get(key)
            state[key if p is None else p] = value if p is None else cast_state(p, value)
        for group, new in zip(groups, saved, strict=True):
            new["params"] = group["params"]
            if "param_names" in group:
                new.setdefault("param_names", group["param_names"])
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    # Hooks

    def register_step_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` before `step`; it may return new arguments.

        The result is None or a pair of new arguments and keyword arguments.
        """
        return add_hook(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Hook) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` after `step`."""
        return add_hook(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` before `state_dict` collects the state."""
        return add_hook(self._optimizer_state_dict_pre_hooks, hook, first=prepend)

    def register_state_dict_post_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` after `state_dict`; it may return another dict."""
        return add_hook(self._optimizer_state_dict_post_hooks, hook, first=prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Hook, prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` before loading; it may return another dict."""
        return add_hook(self._optimizer_load_state_dict_pre_hooks, hook, first=prepend)

    def register_load_state_dict_post_hook(
        self, hook: Hook, prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer)`` after loading."""
        return add_hook(self._optimizer_load_state_dict_post_hooks, hook, first=prepend)


HOOKS = tuple([name for name in Optimizer.__annotations__ if name.endswith("_hooks")])

# Steps, and the hooks around them.


def with_step_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    """A class's `step` with calls of the step hooks, except in `super().step()`."""

    @functools.wraps(step)
    def hooked(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        own = self.__dict__  # a wrapper of an optimizer may have no hooks of its own
        before, after = own.get("_optimizer_step_pre_hooks"), own.get("_optimizer_step_post_hooks")
        run = functools.partial(watched_step, step) if watch.on else step
        if not (before or after) or type(self).step is not hooked:
            return run(self, *args, **kwargs)
        everything: tuple[Any, ...] = (self, *args)
        for hook in list((before or {}).values()):
            result = hook(self, everything, kwargs)
            if result is None:
                continue
            if not isinstance(result, tuple) or len(result) != 2:
                raise RuntimeError(
                    f"{step} must return None or a tuple of (new_args, new_kwargs), but got "
                    f"{result}."
                )
            everything, kwargs = result
        out = run(*everything, **kwargs)
        for hook in list((after or {}).values()):
            hook(self, everything, kwargs)
        return out

    return hooked


def watched_step(step: Callable[..., Any], optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
    """Call ``step``; note each parameter that becomes less finite than before and its gradient."""
    before = [(p, nonfinite_level(p)) for group in optimizer.param_groups for p in group["params"]]
    result = step(optimizer, *args, **kwargs)
    for position, (p, level) in enumerate(before):
        cause = max(level, nonfinite_level(p._grad))
        if nonfinite_level(p) > cause:
            inputs = [("parameter", position), ("its gradient", p._grad)]
            note_nonfinite(f"{type(optimizer).__name__}.step", p, inputs, cause, sys._getframe(1))
    return result


def evaluate(closure: Any) -> Any:
    """The loss that a closure computes, with recording on; None without a closure."""
    if closure is None:
        return None
    if isinstance(closure, Tensor):
        error = TypeError(f"'{type(closure).__name__}' object is not callable")
        raise advised(error, "loss as closure")
    with enable_grad():
        return closure()


def cast_state(param: Tensor, value: Any, key: Any = None) -> Any:
    """State from a state dict, with tensors in the parameter's dtype except the step count."""
    if isinstance(value, Tensor):
        return value.to(param.dtype) if key != "step" and param.is_floating_point() else value
    if isinstance(value, dict):
        return {name: cast_state(param, entry, name) for name, entry in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        kind: Any = type(value)
        return kind(cast_state(param, entry) for entry in value)
    return value


# For schedulers: they warn if the optimizer has not stepped before them.


def watch_steps(optimizer: Optimizer) -> None:
    """Make an optimizer set ``_opt_called`` when it steps."""
    method: Any = optimizer.step
    if hasattr(method, "_wrapped_by_lr_sched"):
        return
    own = method.__func__ if "step" in vars(optimizer) else None
    reference = weakref.ref(optimizer)  # a cycle would keep the optimizer until a collection

    @functools.wraps(method.__func__)
    def step(*args: Any, **kwargs: Any) -> Any:
        self: Any = reference()
        self._opt_called = True
        return (own or type(self).step)(self, *args, **kwargs)

    step._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    optimizer.step = step  # type: ignore[method-assign]
