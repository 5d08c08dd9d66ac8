"""Expressions: a subset of the Common Expression Language (CEL), and templates with `${…}`."""
