"""Whether an agent keeps the rules of the wire format: what is asked, and how it is judged."""
