"""The benchmarks of `scripts/bench.py`.

`problems` defines the computations. `libraries` does them in nanotorch and PyTorch, `numpy_by_hand`
and `numpy_network` in bare NumPy, `rivals` in other libraries. `workloads` lists the candidates of
each workload. `measuring` compares their losses and times them. `fresh` runs measurements in new
processes, one of them `memory`. `anatomy` splits the time of one step of nanotorch. `table` and
`targets` report.
"""
