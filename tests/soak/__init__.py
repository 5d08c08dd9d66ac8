"""A soak: very many calls and connections, and a look at what they leave behind."""
