"""Configurations: files, their keys and values, and what is built from them."""
