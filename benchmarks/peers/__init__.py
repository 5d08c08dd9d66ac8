"""What others make of the same work. Each module runs in an environment of its own."""
