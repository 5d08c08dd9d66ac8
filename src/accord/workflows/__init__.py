"""Workflows of agents. `core` decides, purely; whatever acts stands beside it."""
