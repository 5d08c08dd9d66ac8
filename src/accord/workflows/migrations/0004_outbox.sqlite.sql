-- Messages that are handed over together are one row, with no topic: `message` is a list of them.
ALTER TABLE outbox ADD COLUMN count integer NOT NULL DEFAULT 1; -- of messages
