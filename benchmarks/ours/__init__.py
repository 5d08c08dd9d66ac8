"""What Accord makes of the same work. Each module is a process that the benchmark starts."""
