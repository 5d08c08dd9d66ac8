"""Clusters: several processes that serve the same clients, with shared state in a store.

cluster   `Cluster`: all of it for one endpoint, with tasks and changes
worker    one process: its number, its mailbox, its messages, and which workers are alive
sessions  sessions that all workers find
events    events of streams that all workers can send again
"""
