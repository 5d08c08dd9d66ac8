"""Calling agents over HTTP, in either wire format."""
