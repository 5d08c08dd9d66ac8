"""The bus between executors and bridges: the tables they share, or Kafka."""
