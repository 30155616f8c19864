"""Grad mode: whether a thread records operations. Also inference mode and transforms."""

import functools
import inspect
import threading
from collections.abc import Callable, Generator
from typing import Any, Self, SupportsIndex, TypeVar, cast, overload

import numpy as np

F = TypeVar("F", bound=Callable[..., Any])


class _Mode(threading.local):
    """The mode of one thread: ``enabled`` is true, False, or None in inference mode.

    The first use in a thread also turns off NumPy's floating-point warnings there. Tensors divide
    by zero and overflow silently, as in PyTorch. To turn the warnings off around every kernel
    would cost as much as a small kernel itself.
    """

    def __init__(self) -> None:
        # While a module of `nanotorch.nn` runs, `enabled` is not True but the site of the user's
        # call of that module (a `call_site.Site`). The nodes recorded in the module keep this site.
        self.enabled: Any = True
        self.observed = True  # whether observers see the nodes that are recorded
        self.transforms = 0  # how many transforms of `torch.func` enclose the running function
        np.seterr(all="ignore")

    def quiet(self) -> None:
        """Do nothing: in a new thread, the access to this method silences NumPy by `__init__`."""


mode = _Mode()


def is_grad_enabled() -> bool:
    """Whether operations of this thread are recorded."""
    return bool(mode.enabled)


def is_inference_mode_enabled() -> bool:
    """Whether this thread is in inference mode."""
    return mode.enabled is None


def _now() -> bool | None:
    """The mode as a bool or None, to restore later. A site is not kept: its call will be over."""
    return None if mode.enabled is None else bool(mode.enabled)


def _set(enabled: bool) -> bool | None:
    """Switch recording on or off, except in inference mode; returns the former mode."""
    before = _now()
    if before is not None:
        mode.enabled = enabled
    return before


class _Switch:
    """Sets the mode on entry and restores the former mode on exit; also decorates functions.

    Each step of a decorated generator runs in the mode; the code between the steps does not.
    """

    target = True

    def __enter__(self) -> Any:
        # As in PyTorch, an object that is entered inside itself forgets the mode from before.
        self._before = _set(self.target)

    def __exit__(self, *exc: object) -> None:
        mode.enabled = self._before

    def __call__(self, function: F) -> F:
        if inspect.isgeneratorfunction(function):
            return cast(F, _switched_generator(function, self._again))

        @functools.wraps(function)
        def switched(*args: Any, **kwargs: Any) -> Any:
            with self._again():
                return function(*args, **kwargs)

        return cast(F, switched)

    def _again(self) -> "_Switch":
        return type(self)()


def _switched_generator(
    function: Callable[..., Generator[Any, Any, Any]], switch: Callable[[], _Switch]
) -> Callable[..., Generator[Any, Any, Any]]:
    @functools.wraps(function)
    def steps(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        with switch():
            generator = function(*args, **kwargs)
        resume: Callable[[Any], Any] = generator.send
        value: Any = None
        try:
            while True:
                with switch():
                    item = resume(value)
                try:
                    value = yield item
                    resume = generator.send
                except GeneratorExit:
                    raise
                except BaseException as error:
                    resume, value = generator.throw, error
        except StopIteration as stop:
            return stop.value
        finally:
            with switch():
                generator.close()

    return steps


class _Recording(_Switch):
    """A switch that also decorates without parentheses: ``@no_grad()`` or ``@no_grad``."""

    @overload
    def __new__(cls) -> Self: ...
    @overload
    def __new__(cls, function: F) -> F: ...  # type: ignore[misc]
    def __new__(cls, function: Any = None) -> Any:
        self = super().__new__(cls)
        return self if function is None else self(function)


class no_grad(_Recording):  # noqa: N801 - PyTorch's name
    """Context manager and decorator: operations inside are not recorded."""

    target = False


class enable_grad(_Recording):  # noqa: N801 - PyTorch's name
    """Context manager and decorator: operations inside are recorded, even inside `no_grad`."""


class set_grad_enabled(_Switch):  # noqa: N801 - PyTorch's name
    """Turn recording on or off at once; as a context manager, until the end of the block.

    Args:
        mode: whether operations are recorded from now on.

    Raises:
        TypeError: if ``mode`` is not a bool.
    """

    def __init__(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise TypeError(
                f"set_grad_enabled(): argument 'enabled' (position 1) must be bool, "
                f"not {type(mode).__name__}"
            )
        self.target = mode
        self._former = _set(mode)

    def __enter__(self) -> None:
        _set(self.target)

    def __exit__(self, *exc: object) -> None:
        # As in PyTorch, every exit restores the mode from before `__init__`, not from `__enter__`.
        mode.enabled = self._former

    def __call__(self, function: F) -> F:
        mode.enabled = self._former  # a decorator acts only on calls; undo `__init__`
        return super().__call__(function)

    def _again(self) -> "_Switch":
        return type(self)(self.target)


class inference_mode(_Switch):  # noqa: N801 - PyTorch's name
    """Context manager and decorator: operations inside are not recorded and make inference tensors.

    No recorded operation can save an inference tensor, and outside the mode nothing can write to
    one. Inside, `enable_grad` has no effect; ``inference_mode(False)`` leaves the mode, with
    recording on.

    Args:
        mode: whether to enter inference mode; False leaves it.
    """

    mode: bool

    @overload
    def __new__(cls, mode: bool = True) -> Self: ...
    @overload
    def __new__(cls, mode: F) -> F: ...  # type: ignore[misc]
    def __new__(cls, mode: Any = True) -> Any:
        self = super().__new__(cls)
        self.mode = mode if isinstance(mode, bool) else True
        return self if isinstance(mode, bool) else self(mode)

    def __enter__(self) -> None:
        self._before = _now()
        mode.enabled = None if self.mode else True

    def _again(self) -> "_Switch":
        return type(self)(self.mode)


# Inference tensors: tensors made in inference mode. Recorded operations must not save them.
#
# An inference tensor differs from others only in its version cell. A node that saves a tensor reads
# the tensor's version anyway: the cell refuses there, so ordinary tensors need no check.


SAVED = (
    "Inference tensors cannot be saved for backward. Please do not use Tensors created in "
    "inference mode in computation tracked by autograd. To work around this, you can make a clone "
    "to get a normal tensor and use it in autograd, or use `torch.no_grad()` instead of "
    "`torch.inference_mode()`."
)
# The missing spaces between the sentences are PyTorch's.
WRITTEN = (
    "Inplace update to inference tensor outside InferenceMode is not allowed."
    "You can make a clone to get a normal tensor before doing inplace update."
    "See https://github.com/pytorch/rfcs/pull/17 for more details."
)
REQUIRED = "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed."
UNTRACKED = "Inference tensors do not track version counter."


class InferenceCell(list[Any]):
    """The version cell of an inference tensor.

    Args:
        known: whether the cell counts versions. Then the tensor may be written to outside the
            mode, as may the result of a `detach` outside the mode.
    """

    def __init__(self, known: bool = False) -> None:
        super().__init__((0, None))
        self.known = known

    def __getitem__(self, index: SupportsIndex) -> int:  # type: ignore[override]
        if mode.enabled or (mode.enabled is not None and not self.known):
            raise RuntimeError(SAVED)
        return self.version

    @property
    def version(self) -> int:
        """The number of writes to the memory."""
        return int(super().__getitem__(0))


def new_cell(version: int = 0) -> list[Any]:
    """The version cell of a new tensor; in inference mode, an `InferenceCell`."""
    return InferenceCell() if mode.enabled is None else [version, None]


def is_inference(input: Any) -> bool:
    """Whether the tensor was made in inference mode."""
    return isinstance(input._cell, InferenceCell)


def of_inference(*tensors: Any) -> bool:
    """Whether all of the tensors are inference tensors; None is ignored."""
    return all(t is None or t._cell.__class__ is InferenceCell for t in tensors)


def refuse_write(cell: list[int]) -> None:
    """Refuse a write to an inference tensor outside inference mode."""
    if mode.enabled is not None and isinstance(cell, InferenceCell) and not cell.known:
        raise RuntimeError(WRITTEN)


# Inside a function that `torch.func` transforms, other ways to differentiate are errors.


BACKWARD = (
    "backward() called inside a functorch transform. This is not supported, please use "
    "functorch.grad or functorch.vjp instead or call backward() outside of functorch transforms."
)
_INSIDE = (
    "You are attempting to call Tensor.{0}() {1}inside of a function being transformed by a "
    "functorch transform. This is unsupported, please attempt to use the functorch transforms "
    "(e.g. grad, vjp, jacrev, jacfwd, hessian) or call {0}() outside of a function being "
    "transformed instead."
)
_PERHAPS = "(or perhaps using torch.autograd.functional.* APIs) "
REQUIRES_GRAD = _INSIDE.format("requires_grad_", _PERHAPS)
RETAIN_GRAD = _INSIDE.format("retain_grad", "")


def refuse_inside(text: str) -> None:
    """Refuse a call inside a function that `torch.func` transforms."""
    if mode.transforms:
        raise RuntimeError(text)
