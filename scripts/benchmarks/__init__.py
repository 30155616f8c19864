"""What `scripts/bench.py` measures and how.

`problems` says what is computed, `libraries` does it in nanotorch and PyTorch, `numpy_by_hand` and
`numpy_network` in bare NumPy, `rivals` in other libraries; `workloads` puts them side by side,
`measuring` compares their losses and times them, `fresh` runs what needs a process of its own, one
of them `memory`, `anatomy` takes one step of nanotorch apart, `table` and `targets` report.
"""
