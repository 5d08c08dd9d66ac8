"""Tasks: calls that continue after their answer, in both forms of the protocol."""
