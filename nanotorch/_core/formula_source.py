"""The source of the functions that call an operation's formulas; see `op_source`."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nanotorch._core.op import Op


def unpack(o: "Op", name: str, kind: str, *, graph: bool) -> list[str]:
    """Open one saved value, if its memory is at the version that was saved."""
    if kind == "out" and graph:
        lines = [f"{name} = unpack_out({name}, node, True, {o.number_of(name)})"]
    elif kind == "out":
        lines = [
            f"_array, _cell, _version = {name}",
            f"{name} = _array if _cell[0] == _version else "
            f"unpack_out({name}, node, False, {o.number_of(name)})",
        ]
    else:
        opened = "_tensor" if graph else "_tensor._array"
        lines = [
            f"_tensor, _version = {name}",
            f"{name} = {opened} if _tensor._cell[0] == _version else "
            f"unpack_input({name}, node, {graph})",
        ]
    if not graph and kind != "aux" and o.arithmetic:
        lines.append(f"if g.__class__ is not ndarray and not {name}.ndim: {name} = {name}[()]")
    if kind != "aux" and o.cast and len(o.inputs) > 1:  # as the kernel saw it
        held, cast = (f"{name}._array", "_cast") if graph else (name, "astype")
        other = "g._array" if graph else "g"
        # A write in place may have rounded what was computed with more digits.
        lines += [
            f"if {held}.dtype is not {other}.dtype and "
            f"({held}.dtype.kind != 'f' or {held}.itemsize < {other}.itemsize):",
            f"    {name} = {name}.{cast}({other}.dtype)",
        ]
    return [f"if {name} is not None:", *("    " + line for line in lines)]


def apply(o: "Op", *, graph: bool) -> str:
    """Call the formulas of the inputs that need a gradient with what they name."""
    lines = [f"def apply_{'recorded' if graph else 'bare'}(node, g):"]
    if o.recipe:
        lines += [
            "    saved = node._saved",
            "    if saved.__class__ is not tuple: saved = opened(node)",
            f"    {', '.join(n for n, _ in o.recipe)}, = saved",
        ]
    for name, kind in o.recipe:
        if kind in ("input", "aux", "out"):
            lines += ["    " + line for line in unpack(o, name, kind, graph=graph)]
    if not (o.view or o.one_step):
        kept = [n for n, kind in o.recipe if kind in ("input", "aux", "out")]
        grads, size = ("*g", "node._outputs[0][1]") if o.multi or o.results else ("g", "g")
        if graph and grads == "g":
            size = "g._array"
        lines.append(f"    if {size}.itemsize == 2:")
        if grads == "*g":
            lines.append("        g = widened(*g)")
            grads = ""
        names = ", ".join([*kept, grads] if grads else kept)
        if names:
            lines.append(f"        {names}, = widened({names})")
    if o.variadic or o.joint:
        first, needs = next(iter(o.needs.items()))
        lines.append(f"    return grad_{first}({', '.join(needs)})")
        return "\n".join(lines) + "\n"
    calls = [f"grad_{n}({', '.join(needs)})" for n, needs in o.needs.items()]
    if len(calls) == 1:
        lines.append(f"    return ({calls[0]},)")
    else:
        lines.append("    edges = node._edges")
        parts = [f"{c} if edges[{i}][0] is not None else None" for i, c in enumerate(calls)]
        lines.append(f"    return ({', '.join(parts)})")
    return "\n".join(lines) + "\n"
