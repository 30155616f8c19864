"""What the functions that `torch.func` transforms must not do: differentiate in other ways."""

from nanotorch._core.grad_mode import mode

BACKWARD = (
    "backward() called inside a functorch transform. This is not supported, please use "
    "functorch.grad or functorch.vjp instead or call backward() outside of functorch transforms."
)
REQUIRES_GRAD = (
    "You are attempting to call Tensor.requires_grad_() (or perhaps using "
    "torch.autograd.functional.* APIs) inside of a function being transformed by a functorch "
    "transform. This is unsupported, please attempt to use the functorch transforms (e.g. grad, "
    "vjp, jacrev, jacfwd, hessian) or call requires_grad_() outside of a function being "
    "transformed instead."
)
RETAIN_GRAD = (
    "You are attempting to call Tensor.retain_grad() inside of a function being transformed by a "
    "functorch transform. This is unsupported, please attempt to use the functorch transforms "
    "(e.g. grad, vjp, jacrev, jacfwd, hessian) or call retain_grad() outside of a function being "
    "transformed instead."
)


def refuse_inside(text: str) -> None:
    """Refuse a call inside of such a function.

    Raises:
        RuntimeError: with this text.
    """
    if mode.transforms:
        raise RuntimeError(text)
