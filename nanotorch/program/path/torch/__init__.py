"""What `import torch` finds in a process that `multiprocessing` starts: it inherits the path."""

import nanotorch

nanotorch.as_torch()
