"""Accord measured against others: `python -m benchmarks`."""
