"""Agents as servers: a few lines of code or any backend, served in both wire formats."""
