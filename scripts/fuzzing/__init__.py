"""A differential fuzzer: the same random programs in PyTorch and nanotorch."""
