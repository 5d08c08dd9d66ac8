"""Graphs that flow from left to right: definitions, runs and relationships look alike. Pure."""
