"""The A2A protocol as values: one model, two wire formats, and the rules about both. Pure.

Nothing here does I/O, reads a clock or logs; time and ids are arguments.
"""
