"""More ways to put dimensions in another order: by other names, by moves, as properties."""

from typing import Any

from nanotorch._core.arguments import as_ints
from nanotorch._core.layout import normal_dim
from nanotorch._core.op import method
from nanotorch._core.tensor import Tensor
from nanotorch._core.warned import warn, warn_once
from nanotorch.ops.memory import alias
from nanotorch.ops.shape import permute_to, transpose


@method
def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """`transpose` by NumPy's name."""
    return transpose(input, axis0, axis1)


@method
def swapdims(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """`transpose` by another name."""
    return transpose(input, dim0, dim1)


@method
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """With the dimensions ``source`` moved to ``destination``; the others keep their order.

    Raises:
        RuntimeError: if a dimension is named twice, or not both lists are equally long.
    """
    source, destination = (list(as_ints(d)) for d in (source, destination))
    if len(source) != len(destination):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({source} dims) should contain "
            f"the same number of dims as destination ({destination} dims)"
        )
    moves = {}
    for name, given in (("source", source), ("destination", destination)):
        moves[name] = [normal_dim(d, input.ndim) for d in given]
        if len(set(moves[name])) < len(given):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({given})")
    if not input.ndim:
        return alias(input)
    places = dict(zip(moves["destination"], moves["source"], strict=True))
    others = iter([d for d in range(input.ndim) if d not in moves["source"]])
    return permute_to(
        input, tuple([places[d] if d in places else next(others) for d in range(input.ndim)])
    )


@method
def moveaxis(input: Tensor, source: Any, destination: Any) -> Tensor:
    """`movedim` by NumPy's name."""
    return movedim(input, source, destination)


# Properties


def reversed_dims(self: Tensor) -> Tensor:
    """The transpose of a matrix.

    Warns:
        UserWarning: for any other number of dimensions, all of which it reverses.
    """
    ndim = self.ndim
    if ndim == 0:
        warn_once(
            "Tensor.T is deprecated on 0-D tensors. This function is the identity in these cases."
        )
    elif ndim != 2:
        warn_once(
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is "
            "deprecated and it will throw an error in a future release. Consider `x.mT` to "
            "transpose batches of matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` to "
            "reverse the dimensions of a tensor."
        )
    return permute_to(self, tuple(range(ndim - 1, -1, -1)))


def matrix_transpose(name: str) -> Any:
    """A property: the transpose of a matrix, or (mT, mH) of each matrix of a batch."""
    batches = name != "H"
    kind = "matrices or batches of matrices" if batches else "matrices (2-D tensors)"
    instead = "This function is the identity in these cases." if name == "mT" else (
        "Consider using x.conj()."
    )  # fmt: skip

    def transposed(self: Tensor) -> Tensor:
        ndim = self.ndim
        if ndim == 0:
            warn_once(f"Tensor.{name} is deprecated on 0-D tensors. {instead}")
            return self
        if ndim == 1 or (ndim > 2 and not batches):
            hint = " For batches of matrices, consider using tensor.mH" if ndim > 2 else ""
            raise RuntimeError(
                f"tensor.{name} is only supported on {kind}. Got {ndim}-D tensor.{hint}"
            )
        return transpose(self, -2, -1)

    return property(transposed, doc=f"With the last two dimensions swapped, for {kind}.")


_property: Any = property(reversed_dims, doc=reversed_dims.__doc__)
method(_property, name="T", public=False)
for _name in ("mT", "H", "mH"):
    method(matrix_transpose(_name), name=_name, public=False)


@method
def adjoint(input: Tensor) -> Tensor:
    """The transpose of the last two dimensions, as for complex tensors.

    Raises:
        RuntimeError: for a tensor of one dimension.

    Warns:
        UserWarning: for a tensor without dimensions, which is returned.
    """
    if input.ndim == 0:
        warn("adjoint() is deprecated on 0-D tensors. Consider using x.conj().")
        return input
    if input.ndim == 1:
        raise RuntimeError(
            "tensor.adjoint() is only supported on matrices or batches of matrices. Got 1-D tensor."
        )
    return transpose(input, -2, -1)
