"""The messages of MCP as values, and the rules about them. Pure.

Nothing here does I/O, reads a clock or logs; time and randomness come in as arguments.
"""
