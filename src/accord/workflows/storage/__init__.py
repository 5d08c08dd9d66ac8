"""Tables of workflows: SQL, and what a row is. What it means is decided elsewhere."""
