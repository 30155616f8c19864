"""The source of an operation's functions, put together from its declaration.

For `mul` it reads, in short:

    def mul(input, other):
        if not isinstance(input, Tensor) and not isinstance(other, Tensor):
            return bare(this_op, input, other)
        (arrays of the inputs, in their common dtype)
        r = kernel(a_input, a_other)
        out = (a new Tensor of r)
        if recording and (some input requires grad):
            e_input, e_other = edge_of(input), edge_of(other)
            node = NewNode(); node._edges = (e_input, e_other)
            node._saved = (other and its version if e_input leads somewhere, input ...)
            out._edge = (node, 0)
        return out

    def apply_bare(node, g):  # the formulas on ndarrays
        k_other, k_input = node._saved
        ...
        return (grad_input(g, other), grad_other(g, input))
"""

from typing import TYPE_CHECKING

from nanotorch._core.arguments import METHOD, other_names
from nanotorch._core.bytecode import EMPTY
from nanotorch._core.former import SCALES
from nanotorch._core.formula_source import apply
from nanotorch._core.operand_source import bare_arrays, call_arguments, taken, tensors_only

if TYPE_CHECKING:
    from nanotorch._core.op import Op


def source(o: "Op", called: str) -> str:
    """One function of an op: the operation itself, or its in-place form, an operator, or one of
    the formulas' callers.

    Args:
        called: the name among the functions of the op.
    """
    name = called.removeprefix(METHOD)
    if name.startswith("apply_"):
        return apply(o, graph=name == "apply_recorded")
    if name.startswith("__"):
        return operator(o, name)
    inplace = name != o.name
    return accepting_more(o, called, guarded(o, function(o, inplace=inplace), inplace=inplace))


def accepting_more(o: "Op", called: str, source: str) -> str:
    """The operation with `out`, further names of its arguments, and their former order."""
    method = called.startswith(METHOD)
    out = o.out is not None and not method
    renamed = other_names(list(o.arguments)[method:]) if method or o.public or o.out else {}
    if not (renamed or out or o.name in SCALES):
        return source
    by_place: list[str] = []
    by_name: list[str] = []
    asked = ["named", "more"]
    optional = False  # all arguments after one that may come by another name
    for name, a in o.arguments.items():
        optional |= name in renamed.values()
        default = f"default_{name}"
        if optional and a.default is EMPTY and not a.keyword_only:
            default = "ABSENT"
            if name not in o.inputs:  # what is no tensor is refused anyway
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


def operator(o: "Op", name: str) -> str:
    """The operation as `a + b` calls it: with what is no operand Python may try other ways."""
    a, b = o.inputs
    lines = function(o, inplace=False)
    own, other = (b, a) if name == f"__r{o.dunder}__" else (a, b)
    statics = "".join(f", {n}=default_{n}" for n in o.statics)
    lines[0] = f"def {name}({own}, {other}{statics}):"
    promotion = lines.index("    else:")
    lines.insert(promotion, f"    elif not isinstance({other}, OPERANDS): return NotImplemented")
    return guarded(o, lines, inplace=False)


def guarded(o: "Op", lines: list[str], *, inplace: bool) -> str:
    """The function, done for all samples at once where `vmap` has it called for one."""
    head, *body = lines
    return "\n".join(
        [
            head,
            "    try:",
            *("    " + line for line in body),
            "    except NoValues: pass",
            f"    return in_batch(this_op, {inplace}, {', '.join(o.arguments)})\n",
        ]
    )


def function(o: "Op", *, inplace: bool) -> list[str]:
    """The operation as users call it, line by line."""
    lines = [f"def {o.name}{'_' if inplace else ''}({signature(o)}):"]
    if o.formulas:
        lines.append("    recording = mode.enabled")
    call = ", ".join(call_arguments(o, "{}"))
    several = len(o.inputs) > 1 and o.cast is not None
    if inplace:
        lines += ["    " + line for line in tensors_only(o)]
        if o.formulas:  # what has no gradient is not recorded, and may be written to leaves
            lines.append("    if recording: refuse_history(input)")
        lines.append(f"    check_memory(input{'' if o.expanded is None else f', {o.expanded!r}'})")
    elif o.variadic:
        lines += [
            f"    {o.variadic} = list({o.variadic})",
            f"    if not any(isinstance(t, Tensor) for t in {o.variadic}):",
            f"        return bare(this_op, {call})",
        ]
    else:
        lines += bare_arrays(o, several)
        lines += ["    " + line for line in tensors_only(o)]
    lines += ["    " + line for line in arrays(o, inplace)]
    if inplace:
        lines += [
            f"    write(input, r, {o.known_as + '_'!r})",
            "    out = input",
            "    r = input._array",
        ]
    else:
        lines += ["    " + line for line in outputs(o)]
    if o.formulas:
        lines += ["    " + line for line in record(o, inplace=inplace)]
    if not inplace and not o.view and not o.multi:
        test = "elif recording" if o.formulas else "if mode.enabled"
        names = [f"out[{k}]" for k in range(len(o.results))] or ["out", *(f"o_{n}" for n in o.aux)]
        new = "".join(f"{n}._cell = " for n in names)
        lines.append(f"    {test} is None: {new}InferenceCell()")
    lines.append(
        f"    return {'(out, ' + ', '.join('o_' + n for n in o.aux) + ')' if o.aux else 'out'}"
    )
    return lines


def signature(o: "Op") -> str:
    """The kernel's parameters, with their defaults by name."""
    parts = []
    keyword = False
    for name, a in o.arguments.items():
        if a.keyword_only and not keyword:
            parts.append("*")
            keyword = True
        parts.append(name if a.default is EMPTY else f"{name}=default_{name}")
    return ", ".join(parts)


def arrays(o: "Op", inplace: bool) -> list[str]:
    """Take the arrays out of the inputs, bring them to one dtype, call the kernel."""
    lines, take = taken(o, inplace)
    kernel = [f"r = kernel({', '.join(call_arguments(o, 'a_{}'))})"]
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
        kernel = [
            *widen,
            *kernel,
            "if half: r = in_half(r)",
        ]
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


def outputs(o: "Op") -> list[str]:
    """Wrap what the kernel returned."""
    if o.results:
        return ["out = tuple([wrap(part) for part in r])"]
    if o.multi:
        statics = "".join(f"{n}, " for n in o.statics)
        return [
            "out = tuple([wrap(part) for part in r])",
            "for number, part in enumerate(out):",
            f"    make_view(part, input, (this_function, ({statics}), number))",
        ]
    lines = ["out = new(Tensor); out._array = r" + ("" if o.view else "; out._cell = [0, None]")]
    if o.view:
        statics = "".join(f"{n}, " for n in o.statics)
        lines.append(f"make_view(out, input, (this_function, ({statics}), None))")
    lines += [f"o_{n} = wrap(asarray(x_{n}))" for n in o.aux]
    return lines


def before_write(o: "Op") -> list[str]:
    """Before an in-place write: the former history, and copies of what is saved and overwritten."""
    lines = []
    if o.formulas:
        lines += ["if recording:", *(f"    e_{n} = edge_of({n})" for n in o.formulas)]
    users = [n for n, needs in o.needs.items() if "input" in needs]
    if users:
        wanted = " or ".join(f"e_{n}[0] is not None" for n in users)
        lines.append(f"    before = stand_in(input) if {wanted} else None")
    leads = " or ".join(f"e_{n}[0] is not None" for n in o.formulas)
    if o.formulas:
        recorded = " or ".join(f"e_{n} is not NO_EDGE" for n in o.formulas)
        lines.append(f"    if input._view is not None and ({recorded}): refuse_rebase(input)")
    # The version of an operand that shares the memory to be written to is the one before.
    lines += [
        f"    v_{n} = {n}._cell[0] if {leads} else 0"
        for n, kind in o.recipe
        if kind == "input" and n != "input"
    ]
    return lines + [
        f"if {n}._cell is input._cell: refuse_overlap(input, {n}, {o.overlap is False})"
        for n in o.inputs[1:]
        if n not in o.optional
        and not o.overlap
        and n != "value"  # one number, read before anything is written
    ]


# Where the user's call stands; see `origins`. Of a call from C nothing is known.
SITE = (
    "        if recording is True:",
    "            try:",
    "                frame = getframe(1); code = frame.f_code",
    "                while ours[code.co_filename]: frame = frame.f_back; code = frame.f_code",
    "                recording = (code, frame.f_lasti)",
    "            except (ValueError, AttributeError): recording = None",
    "        node._site = recording",
)


# The result has the dtype of what a source is written into.
KEPT_DTYPE = (
    "        if r.dtype.kind != 'f':",
    "            raise RuntimeError('Autograd not support dtype: ' + out.dtype.char)",
)


COPIES = ("clone", "to_copy")  # also those of inference tensors have a history


def record(o: "Op", *, inplace: bool) -> list[str]:
    """Make the node, if some input requires grad."""
    names = list(o.formulas)
    if o.variadic:
        return record_variadic(o)
    asks = " or ".join(f"{n}._requires_grad or {n}._view" for n in names if n not in o.optional)
    asks += "".join(
        f" or {n} is not None and ({n}._requires_grad or {n}._view)"
        for n in names
        if n in o.optional
    )
    if inplace:
        # An integer that a float was written to has no gradient.
        lines = ["if recording and r.dtype.kind == 'f':"]
    else:
        lines = [f"if recording and ({asks}):"]
        for n in names:
            if n in o.optional:
                lines.append(f"    e_{n} = NO_EDGE if {n} is None else edge_of({n})")
            else:
                lines += [
                    f"    e_{n} = {n}._edge",
                    f"    if {n}._view is not None: e_{n} = edge_of({n})",
                    f"    elif e_{n} is None:",
                    f"        if not {n}._requires_grad or {alone(o, n)}: e_{n} = NO_EDGE",
                    f"        else: e_{n} = leaf_edge({n})",
                ]
    lines += [
        f"    if {' or '.join(f'e_{n} is not NO_EDGE' for n in names)}:",
        *(KEPT_DTYPE if "src" in names and not inplace else ()),
        f"        node = {'NewNodeInPlace' if inplace else 'NewNode'}()",
        # The number left out is that of a node that `unfold` makes.
        *(["        next_sequence()"] if o.unfold else []),
        "        node._sequence = next_sequence()",
        *SITE,
        f"        node._edges = ({', '.join('e_' + n for n in names)},)",
        f"        node._outputs = {out_metadata(o)}",
    ]
    if o.recipe:
        lines.append(f"        node._saved = ({', '.join(saved(o, inplace=inplace))},)")
        keepers = keeping(o)
        # Those of a product are kept one for the other; and views that were cut off lead nowhere.
        needed = [n for needs in o.needs.values() for n in needs if n != "g"]
        apart = len(names) > 1 and len(set(needed)) == len(needed)
        if keepers and (apart or len(keepers) < len(names)):
            none = " and ".join(f"e_{n}[0] is None" for n in keepers)
            lines.append(f"        if {none}: node.keeps_values = False")
    lines += ["        " + line for line in attach(o, inplace=inplace)]
    lines.append("        if observers: observe(node, out)")
    return lines


def alone(o: "Op", name: str) -> str:
    """Whether an input is an inference tensor, and so are the others, of which none is recorded."""
    if o.name in COPIES:
        return "False"
    others = ", ".join([n for n in o.inputs if n != name])
    return f"{name}._cell.__class__ is InferenceCell" + (others and f" and of_inference({others})")


def keeping(o: "Op") -> list[str]:
    """The inputs whose formulas need values that a backward pass frees."""
    kinds = dict(o.recipe)
    return [n for n, needs in o.needs.items() if any(o.is_freed(m, kinds.get(m)) for m in needs)]


def record_variadic(o: "Op") -> list[str]:
    """As `record`, for one input that is a sequence of tensors."""
    n = o.variadic
    return [
        f"if recording and any([t._requires_grad or t._view for t in {n}]) "
        f"and not of_inference(*{n}):",
        f"    edges = tuple([edge_of(t) for t in {n}])",
        "    if any([edge is not NO_EDGE for edge in edges]):",
        "        node = NewNode()",
        "        node._sequence = next_sequence()",
        *SITE,
        "        node._edges = edges",
        f"        node._outputs = {out_metadata(o)}",
        f"        node._saved = ({', '.join(saved(o, inplace=False))},)",
        *("        " + line for line in attach(o, inplace=False)),
        "        if observers: observe(node, out)",
    ]


def out_metadata(o: "Op") -> str:
    if o.multi or o.results:
        return "tuple([(part.shape, part.dtype) for part in r])"
    return "((r.shape, r.dtype),)"


def attach(o: "Op", *, inplace: bool) -> list[str]:
    """Give the outputs their history."""
    if inplace:
        return ["rebase(input, node)"]
    if o.multi or o.results:
        return [
            "for number, part in enumerate(out):",
            "    part._requires_grad = True; part._edge = (node, number)",
        ]
    return ["out._requires_grad = True", "out._edge = (node, 0)"]


def saved(o: "Op", *, inplace: bool) -> list[str]:
    """What the node keeps; None for what only formulas of inputs that need no gradient ask for."""
    values = []
    for name, kind in o.recipe:
        if kind == "static":
            value = name
        elif kind == "shape":
            n = name.removesuffix("_shape")
            value = f"tuple([a.shape for a in a_{n}])" if n == o.variadic else f"a_{n}.shape"
        elif kind == "strides":
            value = f"a_{name.removesuffix('_strides')}.strides"
        elif kind == "out":
            part = f"[{o.number_of(name)}]" if o.results else ""
            version = f"out{part}._cell[0]" if inplace or o.view else "0"
            value = f"(r{part}, out{part}._cell, {version})"
        elif kind == "aux":
            value = f"(o_{name}, 0)"
        elif inplace and name == "input":
            value = "(before, 0)"
        else:
            value = f"({name}, {f'v_{name}' if inplace else f'{name}._cell[0]'})"
            if name in o.optional:
                value = f"(None if {name} is None else {value})"
        if kind in ("input", "out", "aux") and not o.variadic:
            users = [n for n, needs in o.needs.items() if name in needs]
            if len(users) < len(o.formulas) or (inplace and name == "input"):
                wanted = " or ".join(f"e_{n}[0] is not None" for n in users)
                value = f"{value} if {wanted} else None"
        values.append(value)
    return values
