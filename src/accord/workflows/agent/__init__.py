"""Workflows as an agent: who speaks A2A starts runs, follows them, answers what they ask."""
