"""What the generated functions of operations call: promotion, saved values, and errors."""

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import (
    ABSENT,
    METHOD,
    lacking,
    place_of,
    refused,
    surplus,
    with_others,
)
from nanotorch._core.batch_rules import in_batch
from nanotorch._core.batched import NoValues, Shadow
from nanotorch._core.bytecode import EMPTY
from nanotorch._core.detached import DETACHED, is_since
from nanotorch._core.dtypes import Number
from nanotorch._core.former import SCALES, former_order
from nanotorch._core.grad_mode import mode
from nanotorch._core.graph import NO_EDGE, Folded, Node, modified_error, next_sequence
from nanotorch._core.heap import in_pytorchs_words
from nanotorch._core.inference import InferenceCell, of_inference, refuse_write
from nanotorch._core.origins import about_operands, ours
from nanotorch._core.out import CONVERTED
from nanotorch._core.overlap import refuse_overlap
from nanotorch._core.saving import observe, observers, opened
from nanotorch._core.sums import HALF, SINGLE
from nanotorch._core.tensor import Tensor, wrap
from nanotorch._core.views import (
    check_memory,
    edge_of,
    leaf_edge,
    make_view,
    rebase,
    refuse_history,
    refuse_rebase,
    write,
)

if TYPE_CHECKING:
    from nanotorch._core.op import Op

Array = np.ndarray


def constant(value: Number, kind: np.dtype) -> Tensor:
    """A Python number as a 0-d tensor of the dtype an operation computes in; cached."""
    key = (value or repr(value), kind)  # 0.0 == -0.0, but they divide differently
    found = CONSTANTS.get(key)
    if found is None:
        if len(CONSTANTS) > 1000:
            CONSTANTS.clear()
        found = CONSTANTS[key] = wrap(dtypes.array_of_number(value, kind))
        found._is_number = True
    return found


def number(value: Number, kind: np.dtype) -> Array:
    """A Python number for a kernel: with an array of 0-d, NumPy's functions take half the time."""
    return constant(value, kind)._array


CONSTANTS: dict[tuple[Number | str, np.dtype], Tensor] = {}


# The dtype of a result, by the dtypes of tensors, and whether those have no dimensions.
COMMON: dict[frozenset[tuple[np.dtype, bool]], np.dtype] = {}


def promote(
    o: "Op", operands: Sequence[Any], to_float: bool, inplace: bool
) -> tuple[list[Tensor], list[Array]]:
    """Operands as tensors, and their arrays in the dtype of the result.

    Raises:
        TypeError: for an operand that is neither a tensor nor a number.
    """
    arrays = [x._array for x in operands if isinstance(x, Tensor)]
    if len(arrays) == len(operands) and not o.refuse_bool:
        key = frozenset([(a.dtype, not a.ndim) for a in arrays])
        wanted = COMMON.get(key)
        if wanted is None:
            wanted = COMMON[key] = dtypes.result_type(arrays)._numpy
        if to_float and wanted.kind != "f":
            wanted = dtypes.default.numpy
        if wanted != HALF or not o.unrounded:
            return list(operands), [a if a.dtype == wanted else a.astype(wanted) for a in arrays]
    held: list[Any] = []
    for x in operands:
        if isinstance(x, Tensor):
            held.append(x._array)
        elif isinstance(x, np.generic):
            held.append(x.item())
        elif isinstance(x, (bool, int, float)):
            held.append(x)
        else:
            raise not_a_tensor(x)
    if o.refuse_bool:
        bools = [np.asarray(h).dtype.kind == "b" for h in held]
        if any(bools) and not all(bools):
            raise NotImplementedError(o.refuse_bool)
    kind = dtypes.result_type(held)
    if to_float and not kind.is_floating_point:
        kind = dtypes.default.dtype
    kinds = [kind._numpy] * len(held)
    if o.unrounded and kind._numpy == HALF:
        for k, (name, h) in enumerate(zip(o.inputs, held, strict=True)):
            # A tensor without dimensions, only if it comes last.
            if name in o.unrounded and (
                not isinstance(h, np.ndarray)
                or (not h.ndim and h.dtype != HALF and k == len(held) - 1)
            ):
                kinds[k] = SINGLE
    tensors = [
        x if isinstance(x, Tensor) else constant(h, one)
        for x, h, one in zip(operands, held, kinds, strict=True)
    ]
    return tensors, [
        t._array if t._array.dtype == one else t._array.astype(one)
        for t, one in zip(tensors, kinds, strict=True)
    ]


def not_a_tensor(value: Any, name: str = "") -> TypeError:
    """PyTorch's message for an argument that should be a tensor, by its name if that is known."""
    return refused(value, "Tensor", place_of(value, name))


# What PyTorch computes for two numbers as well, as if the first were a tensor.
OF_NUMBERS = ("add", "floor_divide", "mul", "sub", "true_divide")


def of_numbers(a: Number, b: Number) -> np.dtype:
    """The dtype in which the first of two Python numbers is a tensor beside the second.

    Raises:
        OverflowError: for an integer that no type holds.
        RuntimeError: for one that only an unsigned type holds, unless the other is a float.
    """
    if not (a >= 2**63 or b >= 2**63):
        return dtypes.of_number(a)._numpy
    for value in (a, b):
        dtypes.refuse_beyond(value)
    large = [isinstance(value, int) and value >= 2**63 for value in (a, b)]
    if any(large) and not isinstance(a, float) and not isinstance(b, float):
        raise dtypes.unpromoted(
            *(
                "UInt64" if unsigned else dtypes.of_number(value).char
                for value, unsigned in zip((a, b), large, strict=True)
            )
        )
    return dtypes.of_number(b if large[0] else a)._numpy


def bare(o: "Op", *arguments: Any, **named: Any) -> Any:
    """The kernel on bare arrays, as formulas call it outside a recorded pass."""
    within = arguments[0] if o.variadic else arguments
    for x in within:
        if isinstance(x, (np.ndarray, np.generic)):
            break
    else:
        if any(isinstance(x, Shadow) for x in within):
            raise NoValues
        if o.name in OF_NUMBERS and all(isinstance(x, (bool, int, float)) for x in within[:2]):
            first = dtypes.array_of_number(within[0], of_numbers(*within[:2]))
            return o.functions[o.name](wrap(first), *within[1:], **named)
        if len(within):
            raise not_a_tensor(arguments[0])
    return o.namespace["kernel"](*arguments, **named)


def again(
    o: "Op",
    called: str,
    more: Sequence[Any],
    others: Mapping[str, str],
    named: Mapping[str, Any],
    out: Any,
    **given: Any,
) -> Any:
    """Call a function of an operation that was given ``out``, arguments by names that are not its
    own or in their former order, too few or too many.

    Args:
        called: which of its functions.
        more: further arguments by place.
        others: the further names of its arguments.
        named: arguments by names that are not its own.
        given: its own arguments, `ABSENT` where a required one is.
    """
    name, method = called.removeprefix(METHOD), called.startswith(METHOD)
    found = {key: value for key, value in given.items() if value is not ABSENT}
    if more:
        places = [key for key, argument in o.arguments.items() if not argument.keyword_only]
        values = [*(given[key] for key in places), *more]
        if o.name not in SCALES:
            least = [o.arguments[key].default for key in places].count(EMPTY)
            raise surplus(name, least - method, len(places) - method, len(values) - method)
        scaled = any(given[key] is not o.arguments[key].default for key in o.statics)
        out_too = not method and o.out is not None
        found |= former_order(name, places, values, scaled, method=method, out=out_too)
    if named:
        defaults = {key: argument.default for key, argument in o.arguments.items()}
        found = with_others(name, others, named, found, defaults)
    if missing := [key for key in given if key not in found and o.arguments[key].default is EMPTY]:
        raise lacking(name, *missing)
    function = o.functions[called]
    if o.out is None or out is None:
        return function(**found)
    return o.out.fill(function, out, (), found)


def explain(o: "Op", operands: Sequence[Any], error: Exception, inplace: bool) -> Exception:
    """An error of a kernel in PyTorch's words, with the origins of tensors that do not fit."""
    if isinstance(error.__cause__, NoValues):  # NumPy tells it as what it was about to do
        return error.__cause__
    told = in_words(o, operands, in_pytorchs_words(error), inplace)
    named = list(zip(o.inputs, operands, strict=False))
    if o.variadic:
        named = [(f"{o.variadic}[{k}]", x) for k, x in enumerate(operands[0])]
    tensors = {n: x for n, x in named if isinstance(x, Tensor)}
    if isinstance(told, RuntimeError) and len(tensors) > 1:
        told.args = (str(told) + about_operands(tensors),)
    return told


def in_words(o: "Op", operands: Sequence[Any], error: Exception, inplace: bool) -> Exception:
    """An error of a kernel in PyTorch's words, where they differ from NumPy's."""
    if inplace and isinstance(error, NotImplementedError) and o.cast and not o.variadic:
        into = operands[0].dtype
        kind = dtypes.result_type([x._array if isinstance(x, Tensor) else x for x in operands])
        if not dtypes.can_cast(kind, into):  # which PyTorch looks at first
            return RuntimeError(CONVERTED.format(result=kind.char, out=into.char))
    for name, x in zip(o.inputs, operands, strict=True):
        absent = name == o.variadic or (x is None and name in o.optional)
        if not absent and not isinstance(x, Tensor):
            return not_a_tensor(x, name)
    if isinstance(error, ValueError) and o.cast and not o.variadic:
        shapes = [x._array.shape for x in operands]
        for i in range(1, max(map(len, shapes)) + 1):
            sizes = [(s[-i] if i <= len(s) else 1) for s in shapes]
            known = [s for s in sizes if s != 1]
            if len(set(known)) > 1:
                a, b = known[0], next(s for s in known if s != known[0])
                return RuntimeError(
                    f"The size of tensor a ({a}) must match the size of tensor b ({b}) at "
                    f"non-singleton dimension {max(map(len, shapes)) - i}"
                )
    return error


def unpack_input(kept: tuple[Tensor, int], node: Node, graph: bool) -> Any:
    """A saved input, if nothing has written to it since, or cut it off from its history."""
    tensor, version = kept
    if node.folded:
        raise Folded
    now = tensor._cell[0]
    if is_since(now, version) and hasattr(node, "op"):  # users' functions may go on
        raise RuntimeError(DETACHED)
    if int(now) != int(version):
        edge = tensor._edge if tensor._view is None else edge_of(tensor)
        name = name_of(kept, node)
        raise modified_error(tensor._array, edge or NO_EDGE, tensor._cell, version, node, name)
    return tensor if graph else tensor._array


def name_of(kept: Any, node: Node) -> str:
    """Under which name a node keeps a value."""
    recipe = getattr(getattr(type(node), "op", None), "recipe", ())
    saved = node._saved if isinstance(node._saved, tuple) else ()
    names = [name for (name, _), value in zip(recipe, saved, strict=False) if value is kept]
    return f"`{names[0]}`" if names else "a value"


def unpack_out(kept: tuple[Array, list[int], int], node: Node, graph: bool, number: int = 0) -> Any:
    """A saved output, which holds no reference to its tensor lest there be a cycle."""
    array, cell, version = kept
    if cell[0] != version:
        of_view = None if node._view_node is None else node._view_node()
        origin = (of_view or node, number)
        raise modified_error(array, origin, cell, version, node, "its result")
    if not graph:
        return array
    out = wrap(array)
    out._cell, out._edge, out._requires_grad = cell, (node, number), True
    return out


def stand_in(tensor: Tensor) -> Tensor:
    """A copy of a tensor that is about to be overwritten, with its history, to be saved."""
    out = wrap(tensor._array.copy())
    out._edge, out._requires_grad = edge_of(tensor), tensor.requires_grad
    return out


# Numbers of half precision are computed in single, and the result is rounded once.


def widened(*values: Any) -> tuple[Any, ...]:
    """Arrays or tensors, those of half precision in single."""
    return tuple([wide(value) for value in values])


def wide(value: Any) -> Any:
    """An array or a tensor, in single precision if it is in half."""
    kind = getattr(value._array if isinstance(value, Tensor) else value, "dtype", None)
    if kind != HALF:
        return value
    return value._cast(SINGLE) if isinstance(value, Tensor) else value.astype(SINGLE)


def in_single(*arrays: Array | None) -> tuple[Any, ...]:
    """Whether all numbers are of half precision, and the arrays, then in single."""
    kinds = {a.dtype for a in arrays if a is not None and a.dtype.kind == "f"}
    return (True, *widened(*arrays)) if kinds == {HALF} else (False, *arrays)


def in_half(result: Any) -> Any:
    """The result of a kernel; what of it is in single precision is rounded to half."""
    if isinstance(result, tuple | list):
        return tuple([in_half(part) for part in result])
    return result.astype(HALF) if getattr(result, "dtype", None) == SINGLE else result


RUNTIME: dict[str, Any] = {
    "ABSENT": ABSENT,
    "ndarray": np.ndarray,
    # Arrays, and gradients without dimensions.
    "BARE": frozenset((np.ndarray, np.float16, np.float32, np.float64)),
    "asarray": np.asarray,
    "float32": SINGLE,
    "Tensor": Tensor,
    "new": object.__new__,
    "mode": mode,
    "default": dtypes.default,
    "NO_EDGE": NO_EDGE,
    "next_sequence": next_sequence,
    "observers": observers,
    "ours": ours,
    "getframe": sys._getframe,
    **{
        f.__name__: f
        for f in (
            bare,
            NoValues,
            in_batch,
            constant,
            explain,
            in_half,
            in_single,
            widened,
            again,
            promote,
            not_a_tensor,
            unpack_input,
            unpack_out,
            stand_in,
            InferenceCell,
            observe,
            opened,
            edge_of,
            leaf_edge,
            of_inference,
            make_view,
            check_memory,
            refuse_history,
            refuse_write,
            write,
            rebase,
            refuse_overlap,
            refuse_rebase,
            wrap,
        )
    },
}
