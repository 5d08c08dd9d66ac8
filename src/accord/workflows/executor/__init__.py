"""The executor: decides on runs, and records each decision exactly once despite crashes."""
