"""Objects in files: `save` and `load`, in the safetensors format, of which nothing is executed.

files   where bytes come from and go to, whole or not at all
memory   tensors that share memory, taken apart and put together
structure   everything around the tensors, as JSON
foreign   what a file is that is none of ours
allowed   the classes and functions that a file may name
archive   tensors, structure and checks as the bytes of one file
"""

from nanotorch.serialization.archive import add_safe_globals as add_safe_globals
from nanotorch.serialization.archive import clear_safe_globals as clear_safe_globals
from nanotorch.serialization.archive import get_safe_globals as get_safe_globals
from nanotorch.serialization.archive import load as load
from nanotorch.serialization.archive import safe_globals as safe_globals
from nanotorch.serialization.archive import save as save
