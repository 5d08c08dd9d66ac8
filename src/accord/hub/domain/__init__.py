"""What things are, and which rules hold. Pure: no database, no clock."""
