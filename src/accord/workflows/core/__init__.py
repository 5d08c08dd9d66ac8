"""The pure core of workflows: definitions, expressions, and the state machine of runs."""
