"""Snapshots of everything that outsiders see: one text file for each part of the interface.

`make snapshots` writes them into `tests/snapshots`, a test there compares them. Files have one item
per line; items are sorted unless their order means something, so that a diff shows what changed.
"""
