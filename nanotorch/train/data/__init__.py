"""Data of experiments: files, tables, and the sets made from them."""
