"""The executor, which computes and records the next events of runs.

The events that it computes at once for a run are a decision. Each decision is recorded exactly
once, even after a crash.
"""
