"""Objects in files: `save` and `load`, in the safetensors format, of which nothing is executed.

files   where bytes come from and go to, whole or not at all
memory   tensors that share memory, taken apart and put together
structure   everything around the tensors, as JSON
foreign   what a file is that is none of ours
archive   tensors, structure and checks as the bytes of one file
"""

from nanotorch.serialization.saving import load as load
from nanotorch.serialization.saving import save as save
