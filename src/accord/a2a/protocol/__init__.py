"""What A2A says, as values: one model, two wire formats, and the rules about both. Pure.

Nothing here does I/O, reads a clock or logs; time and ids come in as arguments.
"""
