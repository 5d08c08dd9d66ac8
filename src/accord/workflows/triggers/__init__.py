"""Triggers, which start runs: changes of the hub, schedules, and webhooks."""
