"""Decides what happens next in runs, and keeps it: once, whoever is killed when."""
