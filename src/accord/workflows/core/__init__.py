"""The core of workflows, without I/O: definitions, expressions, and the state machine of runs."""
