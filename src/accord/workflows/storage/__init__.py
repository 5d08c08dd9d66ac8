"""Tables of workflows: SQL, and what a row is. All SQL of workflows is here; other packages decide
what it means."""
