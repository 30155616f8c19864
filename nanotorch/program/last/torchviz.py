"""`torchviz`, if the real one is not installed: nanotorch's own drawing of graphs."""

from nanotorch.autograd import make_dot as make_dot
