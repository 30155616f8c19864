"""Whether other objects hold an array: if none does, its memory may be taken over or moved.

CPython's reference counts answer the question. Each count contains the references of the question
itself, which depend on where the asked object is named.
"""

import sys
from typing import Any

references = sys.getrefcount

# The count of an object that only a variable holds: before Python 3.14, a call holds it, too.
IN_VARIABLE = (lambda variable: references(variable))(object())
# The count of an object that only an attribute holds: the call holds it, too.
IN_ATTRIBUTE = 2


def is_alone(tensor: Any) -> bool:
    """Whether nothing but the tensor holds its array, and the tensor is no view."""
    return tensor._view is None and references(tensor._array) == IN_ATTRIBUTE


def can_take(g: Any, array: Any) -> bool:
    """Whether only ``g`` refers to its memory, and ``g`` has the strides of ``array``."""
    if g.__class__ is not array.__class__ or g.strides != array.strides or g.shape != array.shape:
        return False
    whole = g.base
    # One more reference if only `g` holds `whole`.
    return whole is None or (references(whole) == IN_VARIABLE + 1 and whole.nbytes == g.nbytes)
