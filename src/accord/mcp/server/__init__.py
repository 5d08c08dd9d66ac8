"""Servers: tools, resources and prompts that assistants use."""
