"""PyTorch's names: those that are imported on first use, and those that nanotorch lacks.

lookup   names of a module that are imported on first use; errors for missing names
scope   names that are out of scope, with reasons and alternatives; stand-ins that libraries import
"""
