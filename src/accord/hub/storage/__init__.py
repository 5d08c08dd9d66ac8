"""How things are kept: statements, and rows as entities."""
