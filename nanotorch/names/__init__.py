"""Names of PyTorch's that are looked up when they are asked for, or that nanotorch lacks.

scope   what is out of scope, why, and what to use instead
inert   what libraries import of it all the same, and what becomes of that
lookup   a module's names that are imported when used; errors for those that are missing
"""
