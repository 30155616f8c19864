"""Runs: their directories, results and pictures; predictions, sweeps and processes."""
