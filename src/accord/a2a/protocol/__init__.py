"""The A2A protocol: one model, two wire formats, and rules for both. Pure.

Nothing here does I/O, reads a clock or logs; time and ids are arguments.
"""
