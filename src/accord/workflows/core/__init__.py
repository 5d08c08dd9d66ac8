"""What a workflow is, and what happens next in a run. Pure: no I/O, no clock, no randomness."""
