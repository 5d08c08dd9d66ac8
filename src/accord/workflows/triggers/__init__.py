"""Triggers, which start runs after changes in the hub, at scheduled times, and for webhooks."""
