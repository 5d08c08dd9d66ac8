"""Peers and dispatchers, which run the protocol with tasks, timers and threads."""
