"""Workflows: their definitions, the execution of runs, and the API.

The packages, each of which imports only packages above it (checked by import-linter):

- core: has definitions, expressions, and the state machine of a run; does no I/O.
- storage: has all SQL of workflows, and the rows of its tables as structs.
- bus: carries tasks and results, through shared tables or Kafka.
- executor: decides on runs.
- bridge: calls agents and tools.
- triggers: starts runs on events, schedules and webhooks.
- operations: offers the API of workflows, runs and agents.
- agent: offers runs to A2A clients, each run as one task.
"""
