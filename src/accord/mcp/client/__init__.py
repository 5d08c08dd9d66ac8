"""Clients: use any server, whatever its version and transport."""
