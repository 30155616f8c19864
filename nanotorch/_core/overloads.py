"""Functions such as `pow` and `sum` that choose among operations by their arguments.

    @overloads(
        {"Tensor input, Tensor other": fmod_tensor, "Tensor input, Number other": fmod_number},
        inplace=True,
    )
    def fmod(input: Any, other: Any) -> Any:
        '''``input - trunc(input / other) * other``.'''

The function below the declaration has no body: its signature, with the defaults, and what it says
of itself are those of all forms together. A form is written as PyTorch's messages list it. Its
operation is called with the arguments that its kernel names. A form is chosen if

- each argument of the kind ``Tensor`` or ``Number`` is one, or None where that is its default,
- each other argument without a default was given,
- and no argument was given that is not among its own.

From it come the function, the method, with ``inplace`` the method `name_` of those forms whose
operations have one, and the error that lists the forms. Their source is put together as that of
operations is, in `op_source`; so they know further names of arguments and ``out=``.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from nanotorch._core.arguments import ABSENT, METHOD, form_error, missing_args
from nanotorch._core.op import GLOBALS, OPS, PUBLIC, Declared, Op, lazy_function
from nanotorch._core.op_source import call_arguments, signature, with_more_arguments
from nanotorch._core.tensor import Tensor

NUMBERS = (float, int, bool)
# How an argument of a kind is told, in a function and in place. Formulas call functions with arrays
# and NumPy scalars; a user who gives such a scalar means a number.
KINDS = {
    "Tensor": (
        "(isinstance({0}, ARRAYS) or isinstance({0}, generic) and not isinstance({1}, Tensor))",
        "isinstance({0}, Tensor)",
    ),
    "Number": (
        "({0}.__class__ in PLAIN or isinstance({0}, SCALARS) "
        "and (isinstance({1}, Tensor) or not isinstance({0}, generic)))",
        "isinstance({0}, SCALARS)",
    ),
}
NAMESPACE: dict[str, Any] = {
    "PLAIN": frozenset(NUMBERS),
    "SCALARS": (*NUMBERS, np.generic),
    "ARRAYS": (Tensor, np.ndarray),
    "generic": np.generic,
}
OVERLOADS: dict[str, "Overloads"] = {}  # every such function, by its name


class Form(NamedTuple):
    """One way to call a function."""

    text: str
    op: Op
    kinds: dict[str, str]  # of its arguments
    defaults: dict[str, str]


class Overloads(Declared):
    """A function of several forms."""

    public = True
    statics = ()

    def __init__(self, stub: Callable[..., Any], forms: Mapping[str, Any]) -> None:
        super().__init__(stub)
        self.inputs = list(self.arguments)
        self.forms = [self.form(text, OPS[f.__name__]) for text, f in forms.items()]
        # A tensor with a number comes first, as it does most often.
        self.tried = sorted(
            self.forms,
            key=lambda f: (f.kinds[self.inputs[0]] != "Tensor", "Number" not in f.kinds.values()),
        )
        self.by_kind = any("Number" in form.kinds.values() for form in self.forms)
        self.namespace = {**GLOBALS, **NAMESPACE, "this_op": self, "__name__": stub.__module__}
        self.namespace |= {f"default_{n}": a.default for n, a in self.arguments.items()}

    def form(self, text: str, op: Op) -> Form:
        """A form by its text, in which the first argument may have another name."""
        kinds: dict[str, str] = {}
        defaults = {}
        for part in text.replace("*, ", "").split(", "):
            declared, _, default = part.partition(" = ")
            kind, _, name = declared.rpartition(" ")
            name = name if kinds else self.inputs[0]
            kinds[name] = kind
            if default:
                defaults[name] = default
        return Form(text, op, kinds, defaults)

    def source(self, called: str) -> str:
        name = called.removeprefix(METHOD)
        lines = [f"def {name}({signature(self)}):"]
        inplace = name != self.name
        for form in self.tried:
            function, own = form.op.name, form.op.name
            if inplace:
                function, own = f"{own}_", f"{METHOD}{own}_"
            if own in form.op.functions:
                self.namespace[function] = form.op.functions[own]
                test = " and ".join(self.tests(form, inplace))
                given = ", ".join(call_arguments(form.op, "{}"))
                lines.append(f"    if {test}: return {function}({given})")
        lines.append(f"    return with_numbers(this_op, {called!r}, {', '.join(self.arguments)})")
        return with_more_arguments(self, called, "\n".join(lines) + "\n")

    def tests(self, form: Form, inplace: bool) -> Iterator[str]:
        """The conditions under which a call means this form."""
        for n in self.arguments:
            kind, default = form.kinds.get(n), form.defaults.get(n)
            if kind is None:
                yield f"{n} is default_{n}"
            elif kind == "bool" and not default:
                yield f"({n} is None or {n}.__class__ is bool)"
            elif kind not in KINDS and not default:
                yield f"{n} is not default_{n}"
            elif kind in KINDS and self.by_kind and default in (None, "None"):
                test = KINDS[kind][inplace].format(n, self.inputs[0])
                yield f"({n} is None or {test})" if default else test


def with_numbers(o: Overloads, called: str, *values: Any) -> Any:
    """Call again with Python numbers for 0-d tensors, where a form takes numbers.

    Raises:
        TypeError: if there is no such tensor, so that the arguments fit no form.
    """
    given = dict(zip(o.arguments, values, strict=True))
    numbers = {n for form in o.forms for n, kind in form.kinds.items() if kind == "Number"}
    found = {
        n: value.item()
        for n, value in given.items()
        if n in numbers and isinstance(value, Tensor) and not (value.ndim or value.requires_grad)
    }
    if not found:
        raise mismatch(o, called, *values)
    return o.functions[called](**(given | found))


def mismatch(o: Overloads, called: str, *values: Any) -> TypeError:
    """The error for arguments that fit no form, or that lack some of the only form they fit."""
    name, method = called.removeprefix(METHOD), called.startswith(METHOD)
    given = {
        n: value
        for (n, a), value in zip(o.arguments.items(), values, strict=True)
        if value is not ABSENT and value is not a.default
    }
    forms = [f for f in o.forms if name[-1] != "_" or f"{METHOD}{f.op.name}_" in f.op.functions]
    holding = [f for f in forms if given.keys() <= f.kinds.keys()]
    if len(holding) == 1:
        needed = holding[0].kinds.keys() - holding[0].defaults.keys()
        if missing := [n for n in o.arguments if n in needed and n not in given]:
            return missing_args(name, *missing)
    texts = [f.text for f in forms]
    if method:
        texts = [rest for first, _, rest in (t.partition(", ") for t in texts) if first[0] == "T"]
    elif o.out:
        texts = [f"{text}, {'' if '*' in text else '*, '}Tensor out = None" for text in texts]
    places = list(o.arguments)[method:]
    by_place = [given[n] for k, n in enumerate(places) if given.keys() >= {*places[: k + 1]}]
    by_name = {n: given[n] for n in places[len(by_place) :] if n in given}
    return form_error(name, by_place, texts, **by_name)


NAMESPACE["with_numbers"] = with_numbers


def overloads(
    forms: Mapping[str, Any], *, method: bool = True, inplace: bool = False
) -> Callable[[Callable[..., Any]], Any]:
    """Declare the forms of the function below.

    Args:
        forms: the operation of each.
        method: whether it is a method of `Tensor`, too.
        inplace: also provide the method `name_`.
    """

    def declare(stub: Callable[..., Any]) -> Any:
        o = OVERLOADS[stub.__name__] = Overloads(stub, forms)
        PUBLIC[o.name] = lazy_function(o, o.name)
        for name in (o.name,) * method + (f"{o.name}_",) * inplace:
            setattr(Tensor, name, lazy_function(o, METHOD + name))
        return PUBLIC[o.name]

    return declare
