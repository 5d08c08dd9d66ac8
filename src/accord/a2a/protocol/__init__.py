"""The A2A protocol: one model, two wire formats, and the rules for both formats.

These modules are pure: they do no I/O, read no clock and log nothing; time and ids are arguments.
"""
