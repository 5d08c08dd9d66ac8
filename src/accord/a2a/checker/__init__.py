"""A checker of agents: rules of the wire formats, requests that test them, and a report."""
