"""`Module`, the base class of all layers and models."""

import mmap
from collections.abc import Callable
from typing import Any, Self, TypeVar

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.device import absent, device, require_cpu
from nanotorch._core.dtypes import dtype
from nanotorch._core.grad_mode import no_grad
from nanotorch._core.hooks import HookDict
from nanotorch._core.origins import wrote
from nanotorch._core.shown import whole
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.nn.module_call import ModuleCall
from nanotorch.nn.module_state import ModuleState

OWN_HOOKS = (
    "_backward_pre_hooks",
    "_backward_hooks",
    "_forward_hooks",
    "_forward_pre_hooks",
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)
HOOK_OPTIONS = (
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_forward_pre_hooks_with_kwargs",
    "_load_state_dict_pre_hooks_with_module",
)


@whole
class Module(ModuleCall, ModuleState):
    """A part of a model: parameters, buffers, further modules, and a `forward`.

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.hidden = nn.Linear(2, 16)
                self.out = nn.Linear(16, 1)

            def forward(self, x):
                return self.out(torch.relu(self.hidden(x)))

    What is assigned as an attribute is registered: `Parameter` objects among the `parameters`,
    modules among the `children`, `Buffer` objects among the `buffers`.

    Attributes:
        training: whether the module is in training mode, which `Dropout` and `BatchNorm` ask.
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
        own = self.__dict__  # past `__setattr__`, which would look at each of these
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
        """Set training mode here and below; returns the module.

        Raises:
            ValueError: if ``mode`` is not a bool.
        """
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Set evaluation mode here and below; returns the module."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set for all parameters whether they require grad; returns the module."""
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or fill them with zeros.

        Args:
            set_to_none: drop them. Default: True.
        """
        for p in self.parameters():
            if set_to_none:
                p.grad = None
            elif p._grad is not None:
                clear(p._grad)

    # Functions over the tree

    def apply(self, fn: Callable[["Module"], Any]) -> Self:
        """Call ``fn`` with every module below, children first, and with this one; returns it."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replace the values of all parameters, their gradients and all buffers by ``fn``'s."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for param in self._parameters.values():
            if param is not None:
                with no_grad():
                    param.data = fn(param)
                    if param._grad is not None:
                        requires_grad = param._grad.requires_grad
                        param._grad = fn(param._grad).detach().requires_grad_(requires_grad)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Convert the floating-point parameters and buffers; returns the module.

        Called as ``to(dtype)``, ``to(device)``, ``to(device, dtype)`` or ``to(tensor)``; the
        device is always the CPU, ``non_blocking`` is accepted.

        Raises:
            TypeError: for a dtype that is not a floating-point one.
        """
        wanted = target_dtype(*args, **kwargs)
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
        return self._apply(lambda t: t.to(dst_type))

    def float(self) -> Self:
        """Convert the floating-point parameters and buffers to ``float32``; returns the module."""
        return self._to_float(dtypes.float32)

    def double(self) -> Self:
        """Convert the floating-point parameters and buffers to ``float64``; returns the module."""
        return self._to_float(dtypes.float64)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Accepted for PyTorch's sake: calls run as they are. Compile steps by `torch.compile`."""

    def half(self) -> Self:
        """Convert the floating-point parameters and buffers to ``float16``; returns the module."""
        return self._to_float(dtypes.float16)

    def cuda(self, device: int | device | None = None) -> Self:
        """Always an error: modules live on the CPU.

        Raises:
            AssertionError: PyTorch's.
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
        """The module itself: it is on the CPU."""
        return self

    def to_empty(self, *, device: int | str | device | None, recurse: bool = True) -> Self:
        """Give all parameters and buffers new memory with arbitrary values; returns the module.

        Args:
            device: the CPU, or None.
            recurse: those of the modules below too. Default: True.
        """
        require_cpu(device)
        return self._apply(lambda t: wrap(np.empty_like(t._array)), recurse)

    def share_memory(self) -> Self:
        """Move parameters and buffers to memory that processes share; returns the module.

        What a process that is forked later writes there, all others see. It is shared by forking
        only: a module that is pickled for a process is copied.
        """
        return self._apply(shared)

    def _to_float(self, kind: dtype) -> Self:
        return self._apply(lambda t: t.to(kind) if t.is_floating_point() else t)

    # Printing

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What `repr` shows of the module besides its children; for subclasses to say."""
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


def shared(tensor: Tensor) -> Tensor:
    """A copy in memory that forked processes share."""
    array = tensor._array
    memory = np.frombuffer(mmap.mmap(-1, max(array.nbytes, 1)), np.uint8)
    copy = memory[: array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return wrap(copy)


def clear(grad: Tensor) -> None:
    """Fill a gradient with zeros, as a leaf that requires no grad."""
    if grad.grad_fn is not None:
        grad.detach_()
    else:
        grad.requires_grad_(False)
    grad._array.fill(0)
    wrote(grad._cell, "zero_grad")


def target_dtype(*args: Any, **kwargs: Any) -> dtype | None:
    """The dtype that the arguments of `Module.to` ask for; None to keep each tensor's own."""
    wanted = kwargs.get("dtype")
    places = [kwargs.get("device")]
    for argument in (*args, kwargs.get("tensor")):
        if isinstance(argument, Tensor):
            wanted = argument.dtype
        elif isinstance(argument, dtype):
            wanted = argument
        elif isinstance(argument, (str, device, int)) and not isinstance(argument, bool):
            places.append(argument)
    for place in places:
        require_cpu(place)
    return wanted
