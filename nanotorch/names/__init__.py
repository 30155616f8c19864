"""Names of PyTorch's that are looked up when they are asked for, or that nanotorch lacks.

lookup   a module's names that are imported when used; errors for those that are missing
scope   what is out of scope, why, and what to use instead; what libraries import of it all the same
"""
