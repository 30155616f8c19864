"""`torchviz` where it is not installed: the drawing of graphs that nanotorch has itself."""

from nanotorch.autograd import make_dot as make_dot
