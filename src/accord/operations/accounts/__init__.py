"""Who calls: people, their tokens and their login sessions."""
