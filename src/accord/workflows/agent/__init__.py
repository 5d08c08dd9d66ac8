"""Workflows as an A2A agent: clients start runs, follow them, and answer their questions."""
