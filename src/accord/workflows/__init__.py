"""Workflows of agents.

Layers, each of which imports only those above it; import-linter checks them:

core              decides, purely: definitions, expressions, the state machine of a run
storage           tables: SQL, and rows as values
bus               carries tasks and results, by the tables or by Kafka
executor, bridge  decide on runs; do their tasks
triggers          start runs by events, schedules and webhooks
operations        what people and programs can do with workflows, runs and agents
agent             the same as tasks of A2A
"""
