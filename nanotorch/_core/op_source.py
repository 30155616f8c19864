"""The source of an operation's functions, generated from its declaration."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nanotorch._core.arguments import EMPTY, METHOD, argument_aliases, too_many
from nanotorch._core.call_site import warn_once
from nanotorch._core.dtypes import Number
from nanotorch._core.tensor import Tensor

Op = Any  # the class of the module `op`, which imports this one

# The options of a declaration, in addition to its formulas.


class Options:
    """The options of `op`, with their defaults.

    Attributes:
        node: the node's class name, if PyTorch's does not follow from the function's name.
        method, public: whether it is a method of Tensor, and exported by the package.
        inplace: whether there is an in-place form, the method `name_`.
        inplace_node: the class name of its node, if PyTorch has no derivative for this form.
        overlap: for the in-place form: whether another operand may share the tensor's memory. None
            allows it only if both tensors have exactly the same elements.
        expanded: for the in-place form, if several elements of the tensor share memory: None raises
            an error, a name warns in the name of that function, "" accepts it.
        in_order: the result is contiguous, whatever the strides of the input.
        c_names: for the in-place form: the error for a result of a wrong dtype uses the name of the
            tensor's dtype in C.
        numbers: whether an operand may be a Python number; "other": whether the second may.
        dunder: also the operator `__<dunder>__` and, with two inputs, its reflected form.
        view: the result shares the input's memory; with ``multi``, each of several results does.
        check: a function that checks the inputs before they are converted to one dtype.
        dims: a function of the argument `dim` and the number of dimensions. Its result, dimensions
            counted from the front, replaces `dim` for kernel and formulas.
        aux: names of the outputs after the first. They have no gradient.
        fields: names of the outputs. They are returned as a named tuple.
        results: names of the outputs, if several have a gradient. `g` is then a tuple of their
            gradients, None where none arrived.
        visible_outputs: the number of output gradients that a node's hooks get; 0 for one each. If
            this exceeds the number of outputs, the rest are None.
        joint: one formula, given for every input, returns the gradients of all inputs.
        cast: "promote" brings several inputs to their common dtype and accepts Python numbers;
            "float" also turns integers to the default floating-point dtype.
        wide: kernel and formulas get single precision for half; the result is rounded once.
        one_step: formulas do at most one operation, so they get half precision as it is.
        arithmetic: kernel and formulas use only operators: they get NumPy's numbers for 0-d arrays,
            which is faster.
        unrounded: names of operands that keep single precision next to half precision, if they are
            Python numbers or 0-d.
        refuse_bool: the error for a bool tensor with an operand of another dtype.
        unfold: for an operation that combines several of PyTorch's: turns its node into theirs when
            the node materializes. Their sequence numbers are less than one below the node's own.
            The formulas of such an operation get only arrays.
    """

    node: str | None = None
    method: bool = True
    public: bool = True
    inplace: bool = False
    inplace_node: str | None = None
    overlap: bool | None = None
    expanded: str | None = None
    in_order: bool = False
    c_names: bool = False
    numbers: bool | str = True
    dunder: str | None = None
    view: bool = False
    multi: bool = False
    check: "Callable[..., None] | None" = None
    dims: "Callable[[Any, int], Any] | None" = None
    aux: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    visible_outputs: int = 0
    joint: bool = False
    cast: str | None = None
    wide: bool = False
    one_step: bool = False
    arithmetic: bool = False
    unrounded: tuple[str, ...] = ()
    refuse_bool: str | None = None
    unfold: Callable[[Any], None] | None = None


OPTIONS = Options.__annotations__.keys()


# The order of arguments in PyTorch before 2020, for example ``x.add_(-lr, gradient)``.
#
# PyTorch still accepts this order: a number, or a 0-d tensor, precedes the tensor that it scales.


# The arguments that scale tensors, by function.
SCALES = {
    **dict.fromkeys(("add", "sub"), ("alpha",)),
    **dict.fromkeys(("addcdiv", "addcmul"), ("value",)),
    **dict.fromkeys(("addmm", "baddbmm"), ("beta", "alpha")),
}
NUMBERS = (bool, int, float, np.generic)
DEPRECATED = (
    "This overload of {0} is deprecated:\n\t{0}({1})\nConsider using "
    "one of the following signatures instead:\n\t{0}({2})"
)


def deprecated_order(
    name: str,
    tensors: Sequence[str],
    values: Sequence[Any],
    scaled: bool,
    *,
    method: bool,
    out: bool = False,
) -> dict[str, Any]:
    """The arguments, by name, of a call in the former order of arguments.

    Only the first such call in a process warns.

    Args:
        tensors: the names of the tensor arguments; the first is the ``self`` of a method.
        values: the positional arguments of the call.
        scaled: whether the call also has a number by name.
        out: whether the function has the argument ``out``.

    Raises:
        TypeError: "too many arguments", if the values do not fit the former order either.
    """
    scales = SCALES[name.removesuffix("_")][: len(values) - len(tensors)]
    first, *others = tensors
    order = [first, *scales, *others]
    if scales[0] == "beta" and not method:
        order = ["beta", first, *scales[1:], *others]
    found = dict(zip(order, values, strict=False))
    kinds: dict[str, tuple[type, ...]] = dict.fromkeys(scales, NUMBERS)
    if "other" in tensors:
        kinds |= dict.fromkeys(tensors, (Tensor, *NUMBERS))
    for key in scales:
        value = found.get(key)
        if isinstance(value, Tensor) and not value.ndim and not value.requires_grad:
            found[key] = value.item()
    if (
        scaled
        or len(values) > len(order)
        or not all(isinstance(value, kinds.get(key, Tensor)) for key, value in found.items())
    ):
        count = len(tensors) - method
        raise too_many(name, count, count, len(values) - method)
    named = [f"{'Number' if key in scales else 'Tensor'} {key}" for key in order]
    today = [f"Tensor {key}" for key in tensors]
    optional = [f"Number {key} = 1" for key in SCALES[name.removesuffix("_")]]
    last = ["Tensor out = None"] * out
    formerly = [*named[method:], *(["*"] * out), *last]
    told = [", ".join(part) for part in (formerly, [*today[method:], "*", *optional, *last])]
    warn_once(DEPRECATED.format(name, *told), "former order")
    return found


# The source of the functions that call an operation's formulas.


def unpack(o: Op, name: str, kind: str, *, graph: bool) -> list[str]:
    """The lines that check the version of a materialized node's saved value and unpack it."""
    if kind == "out":
        lines = [f"{name} = unpack_out({name}, node, {graph}, {o.number_of(name)})"]
    else:
        lines = [f"{name} = unpack_input({name}, node, {graph})"]
    lines += restore_form(o, name, kind, graph=graph)
    return [f"if {name} is not None:", *("    " + line for line in lines)]


def unpack_recorded(o: Op, name: str, kind: str, *, careful: bool) -> list[str]:
    """The lines of `unpack` for a `Recorded`, which saves a value and its version as two items."""
    if kind == "out":
        lines = [f"if c_{name}[0] != v_{name}: raise Unusual"]
    else:
        lines = [
            f"cell, {name} = {name}._writes, {name}._array",
            f"if cell is not None and cell[0] != v_{name}: raise Unusual",
        ]
    lines += restore_form(o, name, kind, graph=False, careful=careful)
    users = users_of(o, name)
    if len(users) == len(o.formulas) and name not in o.optional:
        return lines
    return [f"if {name} is not None:", *("    " + line for line in lines)]


def restore_form(o: Op, name: str, kind: str, *, graph: bool, careful: bool = True) -> list[str]:
    """The lines that bring a saved value to the form that the kernel got.

    Args:
        careful: whether to bring it also to the kernel's dtype.
    """
    lines = []
    if not graph and kind != "aux" and o.arithmetic:
        lines.append(f"if g.__class__ is not ndarray and not {name}.ndim: {name} = {name}[()]")
    if careful and kind != "aux" and has_careful(o):
        held, cast = (f"{name}._array", "_cast") if graph else (name, "astype")
        other = "g._array" if graph else "g"
        # An in-place form computes in a wider dtype, then rounds its result to the tensor's.
        lines += [
            f"if {held}.dtype is not {other}.dtype and "
            f"({held}.dtype.kind != 'f' or {held}.itemsize < {other}.itemsize):",
            f"    {name} = {name}.{cast}({other}.dtype)",
        ]
    return lines


def has_careful(o: Op) -> bool:
    """Whether the op also has `careful_back`, for different dtypes or half precision."""
    return o.cast is not None and len(o.inputs) > 1


def unpack_lines(o: Op, *, graph: bool, careful: bool = True, recorded: bool = False) -> list[str]:
    """The lines that unpack the saved values of a node.

    Args:
        recorded: whether the node is a `Recorded`.
    """
    lines = []
    if o.recipe and recorded:
        lines += [
            "if saved.__class__ is not tuple: raise Unusual",
            f"{', '.join(n for name, kind in o.recipe for n in saved_items(name, kind))}, = saved",
        ]
    elif o.recipe:
        lines += [
            "saved = node._saved",
            "if saved.__class__ is not tuple: saved = opened(node)",
            f"{', '.join(n for n, _ in o.recipe)}, = saved",
        ]
    for name, kind in o.recipe:
        if kind not in RECORDED_AS:
            continue
        if recorded:
            lines += unpack_recorded(o, name, kind, careful=careful)
        else:
            lines += unpack(o, name, kind, graph=graph)
    if recorded and (o.multi or o.results):
        lines.insert(0, f"g = {'filled' if o.multi else 'tuple'}(g[0::2]{', node' * o.multi})")
    if not (o.view or o.one_step) and (careful or not has_careful(o)):
        saved = [n for n, kind in o.recipe if kind in RECORDED_AS]
        grads, size = ("*g", "node._outputs[0][1]") if o.multi or o.results else ("g", "g")
        if graph and grads == "g":
            size = "g._array"
        lines.append(f"if {size}.itemsize == 2:")
        if grads == "*g":
            lines.append("    g = widened(*g)")
            grads = ""
        names = ", ".join([*saved, grads] if grads else saved)
        if names:
            lines.append(f"    {names}, = widened({names})")
    return lines


# The items that a `Recorded` saves for a value `x`, as prefixes of names, by the value's kind: the
# value, for a result its version cell `c_x`, and the version `v_x`.
RECORDED_AS = {"input": ("", "v_"), "aux": ("", "v_"), "out": ("", "c_", "v_")}


def saved_items(name: str, kind: str) -> list[str]:
    """The names of the items that a `Recorded` saves for one value."""
    return [prefix + name for prefix in RECORDED_AS.get(kind, ("",))]


def users_of(o: Op, name: str) -> list[str]:
    """The names of the inputs whose formulas need a value."""
    return [n for n, needs in o.needs.items() if name in needs]


def formula_calls(o: Op) -> dict[str, str]:
    """The calls of an operation's formulas, by input."""
    return {n: f"grad_{n}({', '.join(needs)})" for n, needs in o.needs.items()}


def apply(o: Op, *, graph: bool) -> str:
    """The source of `apply_bare` or `apply_recorded`: the gradients of all inputs."""
    lines, call = unpack_lines(o, graph=graph), list(formula_calls(o).values())
    if o.variadic or o.joint:
        lines.append(f"return {call[0]}")
    elif len(call) == 1:
        lines.append(f"return ({call[0]},)")
    else:
        parts = [f"{c} if edges[{k}][0] is not None else None" for k, c in enumerate(call)]
        lines += ["edges = node._edges", f"return ({', '.join(parts)})"]
    return function_of(f"apply_{'recorded' if graph else 'bare'}(node, g)", lines)


def back(o: Op, called: str) -> str:
    """The source of `Recorded._back`, which runs the formulas and sends gradients along edges.

    The function adds the gradients up in `waiting`. It pushes the nodes that they reach onto the
    heap `todo`, except one, which it returns: this saves a push and a pop. It appends nodes and
    leaves that need `Sweep` to `watched`. See `quick_sweep`.
    """
    call, several = formula_calls(o), len(o.formulas) > 1
    edges = "edges" if o.variadic else f"{', '.join('e_' + n for n in call)},"
    lines = [
        "follow = None",
        f"saved = node._saved; {edges} = node._edges",
        # This check must follow the two reads. Another thread may materialize the node, which
        # changes `_back` first: if `_back` is still the same, both reads were of the old values.
        f"if node._back is not {called}: raise Unusual",
    ]
    lines += unpack_lines(o, graph=False, careful=called == "careful_back", recorded=True)
    if o.variadic:
        lines.append(f"grads = {call.pop(o.variadic)}")
    elif o.joint:
        lines.append(f"{', '.join('x_' + n for n in call)}, = {next(iter(call.values()))}")
    else:
        given = " if e_{} is not None else None" * several  # `cut_back` runs where one is `CUT_OFF`
        lines += [f"x_{n} = {c}" + given.format(n) for n, c in call.items()]
    if o.keeps_values:
        lines.append("if freed is not None and node.keeps_values: node._saved = freed")
    for k, n in enumerate(call):
        e, x = f"e_{n}", f"x_{n}"
        lines += [
            f"if {x} is None:",
            # `Sweep` decides whether the target runs without a gradient.
            f"    if e_{n} is not None: watched.append(node)",
            f"elif {e}.__class__ is Recorded:",
            f"    if {x}.shape != {e}._shape or {x}.dtype is not {e}._dtype:",
            f"        {x} = fit({x}, node, {k}, {e}._shape, {e}._dtype)",
            f"    if {e} in waiting: waiting[{e}] = waiting[{e}] + {x}",
            "    else:",
            f"        waiting[{e}] = {x}",
            f"        if follow is None: follow = {e}",
            f"        else: heappush(todo, (-{e}._sequence, {e}))",
            f"elif isinstance({e}, Tensor) and {e}._history is LEAF:",
            f"    a = {e}._array",
            f"    if {x}.shape != a.shape or {x}.dtype is not a.dtype:",
            f"        {x} = fit({x}, node, {k}, a.shape, a.dtype)",
            f"    leaves[{e}] = leaves[{e}] + {x} if {e} in leaves else {x}",
            f"else: send({x}, node, {k}, {e}, waiting, todo, leaves, watched)",
        ]
    if o.variadic:
        lines.append("send_all(grads, node, waiting, todo, leaves, watched)")
    head = f"{called}(node, g, waiting, todo, leaves, watched, freed)"
    return function_of(head, [*lines, "return follow"])


def by_name(o: Op) -> str:
    """The source of `by_name`, which groups a `Recorded`'s saved items: one tuple for each name."""
    recorded = [saved_items(name, kind) for name, kind in o.recipe]
    values = [
        f"None if {names[0]} is None else ({', '.join(names)})" if len(names) > 1 else names[0]
        for names in recorded
    ]
    if not recorded:
        return function_of("by_name(saved)", ["return ()"])
    names = f"{', '.join(n for names in recorded for n in names)}, = saved"
    return function_of("by_name(saved)", [names, f"return ({', '.join(values)},)"])


def function_of(head: str, lines: Sequence[str]) -> str:
    """The source of a function."""
    return f"def {head}:\n" + "".join(f"    {line}\n" for line in lines)


# The source that reads the arrays of an operation's operands.


def call_arguments(o: Op, inputs: str) -> list[str]:
    """The arguments of a kernel's call: inputs by the pattern ``inputs``, statics by name."""
    parts = []
    for name, a in o.arguments.items():
        value = inputs.format(name) if name in o.inputs else name
        parts.append(f"{name}={value}" if a.keyword_only else value)
    return parts


def bare_arrays(o: Op, several: bool) -> list[str]:
    """The lines of the first branch, for bare arrays; a call with tensors costs one comparison."""
    first, *rest = o.inputs
    call = in_kernel = ", ".join(call_arguments(o, "{}"))
    if o.dims:
        in_kernel = re.sub(r"\bdim\b", f"own_dims(dim, {first}.ndim)", call)
    plain = f"{first}.__class__ in BARE"
    plain += "".join(f" and not isinstance({n}, Tensor)" for n in rest)
    lines = [
        f"    if {first}.__class__ is not Tensor:",
        f"        if {plain}: return kernel({in_kernel})",
    ]
    if not several:
        tests = " and ".join(f"not isinstance({n}, Tensor)" for n in o.inputs)
        lines.append(f"        if {tests}: return bare(this_op, {call})")
    return lines


def tensors_only(o: Op) -> list[str]:
    """The lines that refuse Python numbers as operands, if PyTorch does."""
    if o.numbers or not o.cast:
        return []
    return [tensor_only(n) for n in o.inputs]


def tensor_only(name: str) -> str:
    """The line that refuses a Python number as this operand."""
    return f"if not isinstance({name}, (Tensor, ndarray)): raise not_a_tensor({name}, {name!r})"


def take_arrays(o: Op, inplace: bool) -> tuple[list[str], list[str]]:
    """The lines that read the arrays of the inputs and bring them to one dtype.

    Returns:
        The lines before the `try` around the kernel, and the lines inside it.
    """
    inputs = o.inputs
    if o.variadic:
        name = o.variadic
        take = [f"{name}, a_{name} = promote(this_op, {name}, {o.cast == 'float'}, {inplace})"]
        return [], take
    if o.cast and len(inputs) > 1:
        names, held = ", ".join(inputs), ", ".join("a_" + n for n in inputs)
        same = " and ".join(f"isinstance({n}, Tensor)" for n in inputs)
        first, *rest = inputs
        same += "".join(f" and {first}._array.dtype is {n}._array.dtype" for n in rest)
        if o.cast == "float":
            same += f" and {first}._array.dtype.kind == 'f'"
        lines = [
            f"if {same}:",
            *(f"    a_{n} = {n}._array" for n in inputs),
            *([f"    alike = a_{first}.itemsize != 2"] if o.formulas else []),
        ]
        if len(inputs) == 2 and o.numbers:  # a tensor and a number that does not change its dtype
            a, b = inputs
            fits = f"{a}._array.dtype" + (".char in 'fd'" if o.unrounded else ".kind == 'f'")
            if o.cast != "float":
                fits = f"({fits} or {b}.__class__ is int and {a}._array.dtype.kind == 'i')"
            lines += [
                f"elif ({b}.__class__ is float or {b}.__class__ is int) "
                f"and isinstance({a}, Tensor) and {fits}:",
                f"    a_{a} = {a}._array",
                f"    {b} = constant({b}, a_{a}.dtype)",
                f"    a_{b} = {b}._array",
                *([f"    alike = a_{a}.itemsize != 2"] if o.formulas else []),
            ]
        if not inplace:
            tests = " or ".join(f"isinstance({n}, Tensor)" for n in inputs)
            call = ", ".join(call_arguments(o, "{}"))
            lines.append(f"elif not ({tests}): return bare(this_op, {call})")
        lines += [
            "else:",
            *([f"    {tensor_only(first)}"] if o.numbers == "other" else []),
            f"    ({names}), ({held}) = "
            f"promote(this_op, ({names}), {o.cast == 'float'}, {inplace})",
            *(["    alike = False"] if o.formulas else []),
        ]
        if o.unrounded and not o.wide:
            lines = ["half = False", *lines, f"    half = a_{first}.dtype != a_{rest[0]}.dtype"]
        return lines, []
    take = [f"a_{n} = {if_given(o, n, 'None')}{n}._array" for n in inputs]
    if o.cast == "float":
        n = inputs[0]
        take += [
            f"t_{n} = a_{n}.dtype",
            f"if t_{n} is not float32 and t_{n}.kind != 'f': a_{n} = a_{n}.astype(default.numpy)",
        ]
    return [], take


# The source of an operation's functions, generated from its declaration.
#
# The source of `mul`, in short:
#
#     def mul(input, other):
#         if not isinstance(input, Tensor) and not isinstance(other, Tensor):
#             return bare(this_op, input, other)
#         (arrays of the inputs, in their common dtype)
#         r = kernel(a_input, a_other)
#         out = (a new Tensor of r)
#         e_input, e_other = input._history, other._history
#         if recording and (e_input is not None or e_other is not None):
#             (brought up to date; the history of a leaf is itself)
#             node = new(Recorded); node._edges = (e_input, e_other); node._back = plain_back
#             node._saved = (other and its version if e_input leads somewhere, input ...)
#             out._history = node
#         return out
#
#     def plain_back(node, g, waiting, ...):  # in an ordinary pass, on ndarrays
#         e_input, e_other = node._edges
#         other, v_other, input, v_input = node._saved
#         (their arrays, if nothing has written to them)
#         x_input = grad_input(g, other)
#         waiting[e_input] = x_input
#         ...
#
# `apply_bare` and `apply_recorded` only compute the gradients: `Sweep` itself sends them on.


def source(o: Op, called: str) -> str:
    """The source of one function of an op: the operation itself, its in-place form, an operator,
    or a caller of its formulas.

    Args:
        called: the name among the functions of the op.
    """
    name = called.removeprefix(METHOD)
    if name in ("plain_back", "careful_back"):
        return back(o, name)
    if name == "by_name":
        return by_name(o)
    if name.startswith("apply_"):
        return apply(o, graph=name == "apply_recorded")
    if name.startswith("__"):
        return operator(o, name)
    inplace = name != o.name
    return with_more_arguments(o, called, guarded(o, function(o, inplace=inplace), inplace=inplace))


def with_more_arguments(o: Any, called: str, source: str) -> str:
    """The source with `out`, further names of arguments, and their former order, if it has them."""
    method = called.startswith(METHOD)
    out = o.out is not None and not method
    renamed = argument_aliases(list(o.arguments)[method:]) if method or o.public or o.out else {}
    if not (renamed or out or o.name in SCALES):
        return source
    by_place: list[str] = []
    by_name: list[str] = []
    asked = ["named", "more"]
    optional = False  # an argument with further names gets a default, and so must all after it
    for name, a in o.arguments.items():
        optional |= name in renamed.values()
        default = f"default_{name}"
        if optional and a.default is EMPTY and not a.keyword_only:
            default = "ABSENT"
            if name not in o.inputs:  # for an input, `ABSENT` is refused as any other non-tensor
                asked.append(f"{name} is ABSENT")
        part = name if default != "ABSENT" and a.default is EMPTY else f"{name}={default}"
        (by_name if a.keyword_only else by_place).append(part)
    if out:
        by_name.append("out=None")
        asked.append("out is not None")
    given = "".join([f", {n}={n}" for n in o.arguments])
    held = f"more, {renamed}, named, {'out' if out else None}"
    head, _, body = source.partition("(")
    return (
        f"{head}({', '.join([*by_place, '*more', *by_name])}, **named):\n"
        f"    if {' or '.join(asked)}:\n"
        f"        return again(this_op, {called!r}, {held}{given})\n"
        f"{body.partition('):' + chr(10))[2]}"
    )


def operator(o: Op, name: str) -> str:
    """The source of the operator form, for `a + b`; other objects give `NotImplemented`."""
    a, b = o.inputs
    lines = function(o, inplace=False)
    own, other = (b, a) if name == f"__r{o.dunder}__" else (a, b)
    statics = "".join(f", {n}=default_{n}" for n in o.statics)
    lines[0] = f"def {name}({own}, {other}{statics}):"
    promotion = lines.index("    else:")
    lines.insert(promotion, f"    elif not isinstance({other}, OPERANDS): return NotImplemented")
    return guarded(o, lines, inplace=False)


def guarded(o: Op, lines: list[str], *, inplace: bool) -> str:
    """The source of the function, with a fallback for operands without values, as under `vmap`:
    there the body raises `NoValues`, and `run_without_values` asks who can run the operation."""
    head, *body = lines
    return "\n".join(
        [
            head,
            "    try:",
            *("    " + line for line in body),
            "    except NoValues: pass",
            f"    return {'named_result' * bool(o.fields)}"
            f"(run_without_values(this_op, {inplace}, {', '.join(o.arguments)}))\n",
        ]
    )


def function(o: Op, *, inplace: bool) -> list[str]:
    """The lines of the operation as users call it."""
    lines = [f"def {o.name}{'_' if inplace else ''}({signature(o)}):"]
    read_mode = ["    recording = mode.enabled"] if o.formulas else []
    call = ", ".join(call_arguments(o, "{}"))
    several = len(o.inputs) > 1 and o.cast is not None
    if inplace:
        lines += read_mode
        lines += ["    " + line for line in tensors_only(o)]
        if o.formulas:  # an operation without derivative is not recorded, so it may change leaves
            known = "input._view is not None or input._history is not None"
            lines.append(f"    if recording and ({known}): refuse_history(input)")
        shared = "" if o.expanded == "" else " or 0 in input._array.strides"
        lines += [
            f"    if input._writes.__class__ is InferenceCell{shared}:",
            f"        check_memory(input{'' if o.expanded is None else f', {o.expanded!r}'})",
        ]
    elif o.variadic:
        lines += [
            f"    {o.variadic} = list({o.variadic})",
            f"    if not any(isinstance(t, Tensor) for t in {o.variadic}):",
            f"        return bare(this_op, {call})",
            *read_mode,
        ]
    else:
        if not o.unfold:  # such an operation is never called with bare arrays
            lines += bare_arrays(o, several)
        lines += [*("    " + line for line in tensors_only(o)), *read_mode]
    lines += ["    " + line for n in o.statics for line in read_static(o, n)]
    if o.check:
        lines.append(f"    check({', '.join(o.inputs)})")
    if o.dims:
        lines.append(f"    dim = own_dims(dim, {o.inputs[0]}.ndim)")
    lines += ["    " + line for line in call_kernel(o, inplace)]
    if inplace:
        lines += [
            f"    write(input, r, {o.known_as + '_'!r}{', True' if o.c_names else ''})",
            "    out = input",
            "    r = input._array",
        ]
    else:
        lines += ["    " + line for line in wrap_outputs(o)]
    if o.formulas:
        lines += ["    " + line for line in record(o, inplace=inplace)]
    if not inplace and not o.view and not o.multi:
        test = "elif recording" if o.formulas else "if mode.enabled"
        names = [f"out[{k}]" for k in range(len(o.results))] or ["out", *(f"o_{n}" for n in o.aux)]
        new = "".join(f"{n}._writes = " for n in names)
        lines.append(f"    {test} is None: {new}InferenceCell()")
    result = f"(out, {', '.join('o_' + n for n in o.aux)})" if o.aux else "out"
    lines.append(f"    return {'named_result' * bool(o.fields)}({result})")
    return lines


# The annotations of numbers, with the name of the type in messages.
NUMBER_KINDS: dict[Any, str] = {
    Number: "Number", Number | None: "Number", float: "float", float | None: "float",
}  # fmt: skip


def read_static(o: Op, name: str) -> list[str]:
    """The line that refuses what is no flag or number, where this argument must be one.

    A 0-d tensor as a number becomes a Python number, so kernels and nodes never hold the tensor.
    """
    kind, default, _ = o.arguments[name]
    if kind is bool:
        return [f"if {name}.__class__ not in FLAGS: require_bool({name}, {name!r})"]
    wanted = NUMBER_KINDS.get(kind)
    if wanted is None:
        return []
    usual = "None" if kind in (Number | None, float | None) else f"default_{name}"
    given = "" if default is EMPTY and usual != "None" else f"{name} is not {usual} and "
    read = f"{name} = as_number({name}, {name!r}, {wanted!r})"
    return [f"if {given}{name}.__class__ not in NUMBERS: {read}"]


def signature(o: Any) -> str:
    """The source of the kernel's parameters, with the names of their defaults."""
    parts = []
    keyword = False
    for name, a in o.arguments.items():
        if a.keyword_only and not keyword:
            parts.append("*")
            keyword = True
        parts.append(name if a.default is EMPTY else f"{name}=default_{name}")
    return ", ".join(parts)


def call_kernel(o: Op, inplace: bool) -> list[str]:
    """The lines that read the arrays of the inputs, bring them to one dtype and call the kernel."""
    lines, take = take_arrays(o, inplace)
    kernel = [f"r = kernel({', '.join(call_arguments(o, 'a_{}'))})"]
    if o.arithmetic:
        numbers = ", ".join(call_arguments(o, "a_{}[()]"))
        dimensions = " or ".join(f"a_{n}.ndim" for n in o.inputs)
        kernel = [f"if {dimensions}: {kernel[0]}", f"else: r = kernel({numbers})"]
    if o.wide:
        first, held = next(iter(o.formulas), o.inputs[0]), ", ".join("a_" + n for n in o.inputs)
        if o.unrounded:
            half = " or ".join(f"a_{n}.itemsize == 2" for n in o.inputs)
            widen = [f"half = {half}", f"if half: {held} = widened({held})"]
        else:
            widen = [
                f"half = a_{first}.itemsize == 2",
                f"if half: half, {held} = in_single({held})",
            ]
        kernel = [*widen, *kernel, "if half: r = in_half(r)"]
    elif o.unrounded:
        kernel.append("if half: r = in_half(r)")
    if o.aux:
        kernel.append(f"r, {', '.join('x_' + n for n in o.aux)} = r")
    operands = f"({', '.join(o.inputs)},)" if not o.variadic else f"({o.variadic},)"
    ahead = before_write(o) if inplace else []
    lines += ["try:", *("    " + line for line in take + ahead + kernel)]
    lines += [
        "except (ValueError, AttributeError, IndexError, RuntimeError, MemoryError) as error:",
        f"    raise explain(this_op, {operands}, error, {inplace}) from None",
    ]
    if o.results:
        lines.append("r = tuple([asarray(part) for part in r])")
    elif not o.multi:
        lines.append("if r.__class__ is not ndarray: r = asarray(r)")
        if o.in_order:
            lines.append("elif r.ndim > 1 and not r.flags.c_contiguous: r = r.copy()")
    return lines


def wrap_outputs(o: Op) -> list[str]:
    """The lines that wrap the kernel's results."""
    if o.results:
        return ["out = tuple([wrap(part) for part in r])"]
    if o.multi:
        statics = "".join(f"{n}, " for n in o.statics)
        return [
            "out = tuple([wrap(part) for part in r])",
            "for number, part in enumerate(out):",
            f"    make_view(part, input, (this_function, ({statics}), number), recording)",
        ]
    lines = [
        "out = new(Tensor); out._array = r",
        "out._history = out._view = out._writes = out._grad = None",
    ]
    if o.view:
        statics = "".join(f"{n}, " for n in o.statics)
        lines.append(f"view = make_view(out, input, (this_function, ({statics}), None), recording)")
    lines += [f"o_{n} = wrap(asarray(x_{n}))" for n in o.aux]
    return lines


def if_given(o: Op, name: str, otherwise: str) -> str:
    """The beginning of an expression of an input: a test for None, if it may be None."""
    return f"{otherwise} if {name} is None else " if name in o.optional else ""


def before_write(o: Op) -> list[str]:
    """The lines before an in-place write, which keep the former history and copy saved inputs."""
    lines = []
    if o.formulas:
        lines.append("if recording:")
        lines += [
            f"    e_{n} = {if_given(o, n, 'None')}{n}._history and kept_history({n})"
            for n in o.formulas
        ]
    users = users_of(o, "input")
    if users:
        wanted = " or ".join(map(leads_somewhere, users))
        lines.append(f"    before = stand_in(input) if {wanted} else None")
    leads = " or ".join(map(leads_somewhere, o.formulas))
    if o.formulas:
        recorded = " or ".join(f"e_{n} is not None" for n in o.formulas)
        lines.append(f"    if input._view is not None and ({recorded}): refuse_rebase(input)")
    # Read the other operands' versions before the write: they may share the tensor's memory.
    lines += [
        f"    v_{n} = {if_given(o, n, '0')}version_of({n}) if {leads} else 0"
        for n, kind in o.recipe
        if kind == "input" and n != "input"
    ]
    return lines + [
        f"if {if_given(o, n, 'False')}{n}._writes is input._writes and {n}._cell is input._cell: "
        f"refuse_overlap(input, {n}, {o.overlap is False})"
        for n in o.inputs[1:]
        if not o.overlap and n != "value"  # `value` is one number, read before the write
    ]


# Store the site of the user's call in the node; see `call_site`. A call from C has no frame.
SITE = (
    "        if recording is True:",
    "            try:",
    "                frame = getframe(1); code = frame.f_code",
    "                while ours[code.co_filename]: frame = frame.f_back; code = frame.f_code",
    "                node._site = code; node._offset = frame.f_lasti",
    "            except (ValueError, AttributeError): node._site = None",
    "        else: node._site = recording",
)


# For operations that write a `src` into a tensor: the result has the dtype of that tensor.
KEPT_DTYPE = (
    "        if r.dtype.kind != 'f':",
    "            raise RuntimeError('Autograd not support dtype: ' + out.dtype.char)",
)


COPIES = ("clone", "to_copy")  # operations that are recorded even for inference tensors


def record(o: Op, *, inplace: bool) -> list[str]:
    """The lines that make the node if an input requires grad."""
    names = list(o.formulas)
    back = "plain_back if alike else careful_back" if has_careful(o) else "plain_back"
    if inplace:
        lines = ["if recording and r.dtype.kind == 'f':"]  # integers have no gradient
        cut = " or ".join(f"e_{n} is CUT_OFF" for n in names)
        back = "refused_back" if o.inplace_node else f"cut_back if {cut} else {back}"
        lines.append(f"    back = {back}")
    elif o.variadic:
        n = o.variadic
        lines = [
            f"if recording and any([t._history is not None for t in {n}]) "
            f"and not of_inference(*{n}):",
            f"    edges = tuple([kept_history(t) for t in {n}])",
            f"    back = {back}",
        ]
    else:
        lines = [f"e_{n} = {if_given(o, n, 'None')}{n}._history" for n in names]
        lines.append(f"if recording and ({' or '.join(f'e_{n} is not None' for n in names)}):")
        lines.append(f"    back = {back}")
        for n in names:
            others = "".join(f", {m}" for m in o.inputs if m != n)
            lines += [
                f"    if e_{n} is LEAF: e_{n} = {n}",
                f"    elif e_{n} is ASK:",
                f"        e_{n} = history_of({n}{others}"
                f"{', copies=True' if o.name in COPIES else ''})",
                f"        if e_{n} is CUT_OFF: back = cut_back",
            ]
    some = " or ".join(f"e_{n} is not None" for n in names)
    edges = "edges" if o.variadic else f"({', '.join('e_' + n for n in names)},)"
    lines += [
        f"    if {'any([e is not None for e in edges])' if o.variadic else some}:",
        *(KEPT_DTYPE if "src" in names and not inplace else ()),
        "        node = new(Recorded)",
        # Skip one number: `_sequence_nr` rounds down to it for the nodes that `unfold` adds.
        *(["        next_sequence()"] if o.unfold else []),
        "        node._sequence = next_sequence()",
        *SITE,
        f"        node._edges = {edges}",
        "        node._back = back",
    ]
    if o.multi or o.results:
        outputs = "tuple([(part.shape, part.dtype) for part in r])"
        lines.append(f"        node.multi = True; node._outputs = {outputs}")
    else:
        lines.append("        node._shape = r.shape; node._dtype = r.dtype")
    if o.recipe:
        lines += ["        " + line for line in save(o, inplace=inplace)]
        # Whether the node saved any value depends on the inputs that need a gradient. A product
        # saves each operand for the gradient of the other one.
        kinds = dict(o.recipe)
        users = [n for n in names if any(o.is_freed(m, kinds.get(m)) for m in o.needs[n])]
        needed = [n for needs in o.needs.values() for n in needs if n != "g"]
        apart = len(names) > 1 and len(set(needed)) == len(needed)
        if users and (apart or len(users) < len(names)):
            some = " or ".join(map(leads_somewhere, users))
            lines.append(f"        if not ({some}): node.keeps_values = False")
    lines += ["        " + line for line in attach(o, inplace=inplace)]
    lines.append(f"        if observers: observe(node, out, ({', '.join(o.arguments)},))")
    return lines


def leads_somewhere(name: str) -> str:
    """The source of a test whether the history of an input leads somewhere."""
    return f"(e_{name} is not None and e_{name} is not CUT_OFF)"


def attach(o: Op, *, inplace: bool) -> list[str]:
    """The lines that give the outputs their history."""
    if inplace:
        return ["rebase(input, node)"]
    if o.multi or o.results:
        return ["for number, part in enumerate(out): part._come_from((node, number))"]
    if o.view:
        return ["if view is None: out._history = node", "else: view.history = node"]
    return ["out._history = node"]


def save(o: Op, *, inplace: bool) -> list[str]:
    """The lines that save the values for formulas; None for a value whose formulas will not run."""
    lines, saved = [], []
    for name, kind in o.recipe:
        if kind == "static":
            saved.append(name)
            continue
        if kind not in RECORDED_AS:  # the shape or strides of an array
            n = name.removesuffix(f"_{kind}")
            several = f"tuple([a.{kind} for a in a_{n}])"
            saved.append(several if n == o.variadic else f"a_{n}.{kind}")
            continue
        own = [f"k_{name}", *saved_items(name, kind)[1:]]
        saved += own
        users = users_of(o, name)
        wanted = [] if len(users) == len(o.formulas) else [" or ".join(map(leads_somewhere, users))]
        if kind == "out":
            part = f"[{o.number_of(name)}]" if o.results else ""
            shared = o.view or inplace
            cell = f"out{part}._cell" if shared else f"out{part}._writes = cell = [0, None]"
            lines.append(f"cell = {cell}" if shared else cell)
            values = f"r{part}, cell, {'cell[0]' if shared else 0}"
        elif kind == "aux":
            values = f"o_{name}, 0"
        elif inplace and name == "input":
            values = "before, 0"
            wanted = [" or ".join(map(leads_somewhere, users))]
        elif inplace:
            values = f"{name}, v_{name}"
        else:
            values = f"{name}, 0 if (cell := {name}._writes) is None else cell[0]"
        if name in o.optional:
            wanted.append(f"{name} is not None")
        found = f"{', '.join(own)} = {values}"
        if wanted:
            lines += [
                f"if {' and '.join(f'({test})' for test in wanted)}: {found}",
                f"else: {' = '.join(own)} = None",
            ]
        else:
            lines.append(found)
    return [*lines, f"node._saved = ({', '.join(saved)},)"]
