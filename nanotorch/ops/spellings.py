"""Further names by which functions know their arguments, such as NumPy's ``axis``."""

from inspect import CO_VARKEYWORDS
from types import FunctionType

from nanotorch._core.arguments import exported, other_names
from nanotorch._core.op import OPS, PUBLIC
from nanotorch._core.tensor import Tensor

# PyTorch has them in Python as well, by one name each. Of methods `unflatten` is another.
PLAIN = ("norm", "split", "unique", "unique_consecutive")


def provide() -> None:
    """Give functions and methods the names, once all are declared and have ``out=``.

    Those of operations have them in their source.
    """
    generated = {function for o in OPS.values() for function in o.functions.values()}
    for name, function in PUBLIC.items():
        plain = isinstance(function, FunctionType) and function not in generated
        if plain and name not in PLAIN:
            PUBLIC[name] = exported("nanotorch", name, function)
    for name, function in list(vars(Tensor).items()):
        if isinstance(function, FunctionType) and function not in generated:
            code = function.__code__
            further = other_names(code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount])
            itself = code.co_flags & CO_VARKEYWORDS or name in (*PLAIN, "unflatten")
            if further and name[:2] != "__" and not itself:
                setattr(Tensor, name, exported(Tensor.__module__, f"Tensor.{name}", function))
