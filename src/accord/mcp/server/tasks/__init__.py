"""Tasks: calls that go on after their answer, in both forms of the protocol."""
