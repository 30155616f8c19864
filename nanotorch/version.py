"""The version of PyTorch whose behaviour nanotorch has, and what that was built with: nothing."""

__version__ = "2.15.0"
debug = False
cuda = None
git_version = "Unknown"
hip = None
rocm = None
xpu = None
