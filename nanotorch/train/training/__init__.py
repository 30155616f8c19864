"""Experiments, their loop and metrics, and `fit`."""
