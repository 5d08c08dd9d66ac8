"""The executor: decides on runs and records the decisions, exactly once despite crashes."""
