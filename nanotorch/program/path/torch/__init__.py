"""The package `torch` for processes that `multiprocessing` starts: they inherit `sys.path`."""

import nanotorch

nanotorch.as_torch()
