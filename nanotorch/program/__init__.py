"""Programs written for PyTorch, run with nanotorch in its place.

alias   `import torch` gives nanotorch
running   `python -m nanotorch script.py`: as `python script.py` in all other ways
path   what processes find under the name `torch` that the program starts
last   what is found of packages that draw PyTorch's graphs if they are not installed
"""

from nanotorch.program.alias import as_torch as as_torch
