"""A soak of the whole system: very many callers of a hub, and a look at what they leave behind."""
