"""Clusters: several processes that serve the same clients, with shared state in a store.

cluster   `Cluster`: the shared state of one endpoint, with tasks and changes
worker    one process: its number, its mailbox, its messages, and which workers are alive
sessions  sessions in the store, where any worker can find them
events    stored events of streams, so that any worker can resume a stream
"""
