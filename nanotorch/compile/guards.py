"""The guards of a replay as source."""

import numpy as np

from nanotorch._core.copying import address
from nanotorch.compile.arguments import Arguments
from nanotorch.compile.checks import MISSING, Check
from nanotorch.compile.emit import Names
from nanotorch.compile.reach import VALUES


def argument_guards(arguments: Arguments, known: frozenset[int], names: Names) -> list[str]:
    """Tests that are true where the arguments are not those of the trace."""
    tests = []
    for path, kind, length in arguments.lengths:
        if path not in ("args", "kwargs"):
            tests.append(f"type({path}) is not {names.of(kind, 't')}")
        if kind is dict:
            if length or path != "kwargs":
                tests.append(f"tuple({path}) != {names.of(length)}")
            else:
                tests.append("kwargs")
        else:
            tests.append(f"len({path}) != {length}" if length else f"{path}")
    for path, value in arguments.fixed:
        if isinstance(value, VALUES) and not isinstance(value, (bool, type(None))):
            name = names.of(value)
            tests.append(
                f"{path} is not {name} and (type({path}) is not type({name}) or "
                f"repr({path}) != repr({name}))"
            )
        else:
            tests.append(f"{path} is not {names.of(value)}")
    for path, tensor in arguments.free:
        tests.append(f"type({path}) is not {names.of(type(tensor))}")
        tests.append(f"{path}.requires_grad or {path}._grad is not None")
    return tests + memory_guards(arguments, known, names)


def memory_guards(arguments: Arguments, known: frozenset[int], names: Names) -> list[str]:
    """Tests that are true where arguments share memory otherwise than in the trace."""
    tests = [f"{path} is not {former}" for path, former in arguments.same]
    shifts = {(i, j): shift for i, j, shift in arguments.shifts}
    inside = names.of(known, "m")
    for j, (path, _) in enumerate(arguments.free):
        read = f"(b{j} := (a{j} := {path}._array).base)"
        tests.append(f"id(a{j} if {read} is None else b{j}) in {inside}")
        for i in range(j):
            one, other = arguments.free[i][0], path
            shift = shifts.get((i, j))
            if shift is not None:
                between = f"{names.of(address)}(a{j}) - {names.of(address)}(a{i})"
                tests.append(f"{one} is {other} or {between} != {shift}")
            else:
                tests.append(
                    f"{one} is {other} or a{i} is a{j} or (b{i} is not None or "
                    f"b{j} is not None) and {names.of(np.may_share_memory)}(a{i}, a{j})"
                )
    return tests


def check_guards(checks: list[Check], names: Names) -> list[str]:
    """Tests that are true where something in reach has changed."""
    tests: list[str] = []
    for check in checks:
        test = source(check, names)
        if test is not None and test not in tests:
            tests.append(test)
    return tests


def source(check: Check, names: Names) -> str | None:
    """One check; None if there is nothing to see."""
    container, value = check.container, check.value
    if check.kind == "group":
        return None
    if check.kind == "len":
        return f"len({names.of(container, 'd')}) != {value}"
    if check.kind == "grad":
        return f"{names.of(container, 'd')}['_grad'] is {'not ' if value else ''}None"
    if check.kind == "empty":
        return f"{names.of(container, 'd')}[{check.key!r}]"
    if check.kind == "keys":
        return f"(*{names.of(container, 'd')},) != {names.of(value)}"
    if check.kind == "absent":
        return f"not {names.of(container.keys(), 'k')}.isdisjoint({names.of(value)})"
    if check.kind == "set":
        return f"{names.of(container, 'd')} != {names.of(value)}"
    name = "None" if value is None else names.of(value)
    if check.kind == "cell":
        if value is MISSING:
            return None
        return f"{names.of(container, 'c')}.cell_contents is not {name}"
    if check.kind == "state":
        owner, key = check.key
        state = f"{names.of(container, 'd')}[{names.of(owner)}]"
        return f"{state}[{key!r}] is not {name}"
    if check.kind == "item":
        key = check.key
        place = repr(key) if isinstance(key, (str, int)) else names.of(key)
        return f"{names.of(container, 'd')}[{place}] is not {name}"
    return f"{names.of(container)}.{check.key} is not {name}"
