"""What starts runs without anybody asking for one: events of the hub, schedules, webhooks."""
