"""What workflows are measured with: a database, agents, an engine, and somebody who starts runs."""
