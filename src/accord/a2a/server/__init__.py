"""Being an agent: written in a few lines, or any backend, served in both wire formats."""
