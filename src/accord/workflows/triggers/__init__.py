"""Triggers, which start runs: events of the hub, schedules, webhooks."""
