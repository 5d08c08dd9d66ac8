-- Messages that are handed over together are one row, with no topic: `message` is a list of them. To
-- make it smaller would cost more than to keep it for the moments until it is published.
ALTER TABLE outbox ADD COLUMN count integer NOT NULL DEFAULT 1; -- of messages
ALTER TABLE outbox ALTER COLUMN message SET STORAGE EXTERNAL;
