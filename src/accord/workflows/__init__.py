"""Workflows: their definitions, the execution of runs, and the API.

The packages, each of which imports only packages above it (checked by import-linter):

core              definitions, expressions, and the state machine of a run; without I/O
storage           all SQL of workflows, and the rows of its tables as structs
bus               carries tasks and results, through shared tables or Kafka
executor, bridge  the executor decides on runs; the bridge calls agents and tools
triggers          start runs on events, schedules and webhooks
operations        the API of workflows, runs and agents
agent             the same API for A2A clients, to which a run is a task
"""
