"""The source that takes arrays out of an operation's operands; see `op_source`."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nanotorch._core.op import Op


def call_arguments(o: "Op", inputs: str) -> list[str]:
    """Arguments of the kernel: inputs by the given pattern, statics by their names."""
    parts = []
    for name, a in o.arguments.items():
        value = inputs.format(name) if name in o.inputs else name
        parts.append(f"{name}={value}" if a.keyword_only else value)
    return parts


def bare_arrays(o: "Op", several: bool) -> list[str]:
    """The way for bare arrays, on which formulas call operations; a tensor passes one test."""
    first, *rest = o.inputs
    call = ", ".join(call_arguments(o, "{}"))
    plain = f"{first}.__class__ in BARE"
    plain += "".join(f" and not isinstance({n}, Tensor)" for n in rest)
    lines = [
        f"    if {first}.__class__ is not Tensor:",
        f"        if {plain}: return kernel({call})",
    ]
    if not several:
        tests = " and ".join(f"not isinstance({n}, Tensor)" for n in o.inputs)
        lines.append(f"        if {tests}: return bare(this_op, {call})")
    return lines


def tensors_only(o: "Op") -> list[str]:
    """Refuse Python numbers where PyTorch does."""
    if o.numbers or not o.cast:
        return []
    return [tensor_only(n) for n in o.inputs]


def tensor_only(name: str) -> str:
    """Refuse a Python number as this operand."""
    return f"if not isinstance({name}, (Tensor, ndarray)): raise not_a_tensor({name}, {name!r})"


def taken(o: "Op", inplace: bool) -> tuple[list[str], list[str]]:
    """Take the arrays out of the inputs and bring them to one dtype.

    Returns:
        what comes first, and what belongs into the `try` around the kernel.
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
            *(with_number(o) if len(inputs) == 2 and o.numbers else ()),
            *(no_tensors(o) if not inplace else ()),
            "else:",
            *("    " + line for line in first_tensor(o)),
            f"    ({names}), ({held}) = "
            f"promote(this_op, ({names}), {o.cast == 'float'}, {inplace})",
        ]
        if o.unrounded and not o.wide:
            lines = ["half = False", *lines, f"    half = a_{first}.dtype != a_{rest[0]}.dtype"]
        return lines, []
    take = [
        f"a_{n} = None if {n} is None else {n}._array" if n in o.optional else f"a_{n} = {n}._array"
        for n in inputs
    ]
    if o.cast == "float":
        n = inputs[0]
        take += [
            f"t_{n} = a_{n}.dtype",
            f"if t_{n} is not float32 and t_{n}.kind != 'f': a_{n} = a_{n}.astype(default.numpy)",
        ]
    return [], take


def first_tensor(o: "Op") -> list[str]:
    """Refuse a Python number in the first place, where only the second may be one."""
    return [tensor_only(o.inputs[0])] if o.numbers == "other" else []


def with_number(o: "Op") -> list[str]:
    """The short way for a tensor with a Python number that leaves its dtype as it is."""
    a, b = o.inputs
    fits = f"{a}._array.dtype" + (".char in 'fd'" if o.unrounded else ".kind == 'f'")
    if o.cast != "float":
        fits = f"({fits} or {b}.__class__ is int and {a}._array.dtype.kind == 'i')"
    return [
        f"elif ({b}.__class__ is float or {b}.__class__ is int) and isinstance({a}, Tensor) "
        f"and {fits}:",
        f"    a_{a} = {a}._array",
        f"    {b} = constant({b}, a_{a}.dtype)",
        f"    a_{b} = {b}._array",
    ]


def no_tensors(o: "Op") -> list[str]:
    """The way for bare arrays and numbers."""
    tests = " or ".join(f"isinstance({n}, Tensor)" for n in o.inputs)
    call = ", ".join(call_arguments(o, "{}"))
    return [f"elif not ({tests}): return bare(this_op, {call})"]
