"""All SQL of the hub: statements and rows. Knows the tables, not the rules."""
