"""The hub with 50,000 requirements, beside the same as others would build it."""
