"""How executors and bridges reach each other: by the tables they share, or by Kafka."""
