"""Workflows of agents.

Layers, each of which imports only those above it; import-linter checks this:

core              definitions, expressions, and the state machine of a run; pure
storage           tables: SQL, and rows as values
bus               carries tasks and results, by the tables or by Kafka
executor, bridge  decide on runs; do their tasks
triggers          start runs on events, schedules and webhooks
operations        the API of workflows, runs and agents
agent             the same as A2A tasks
"""
