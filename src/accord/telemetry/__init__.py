"""Metrics and traces of calls."""
