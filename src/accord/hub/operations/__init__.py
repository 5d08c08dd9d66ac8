"""What can be done with things, each written once."""
