"""Structured logs in which no secret stands.

redaction   what is secret in a text or a value, and what stands in its place
context     what is known about the call that is being served, for every line logged meanwhile
formats     a record as a line of JSON, or as text for people
setup       `configure_logging`
"""
