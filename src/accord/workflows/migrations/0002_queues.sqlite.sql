-- What arrived for runs and was not decided on yet; and what is to be published.

CREATE TABLE run_inbox (
    id integer PRIMARY KEY AUTOINCREMENT,
    message_id text NOT NULL UNIQUE,
    run_id text NOT NULL,
    shard integer NOT NULL,
    arrival text NOT NULL, -- JSON: an event
    tries integer NOT NULL DEFAULT 0,
    due double precision NOT NULL DEFAULT 0
);

-- A row goes when the broker has its message; that of a result stays until a run has it.
CREATE TABLE outbox (
    id integer PRIMARY KEY AUTOINCREMENT,
    topic text NOT NULL,
    run_id text NOT NULL,
    message_id text NOT NULL,
    message text NOT NULL, -- JSON: an envelope
    published_at double precision, -- by the clock of the database
    swept integer NOT NULL DEFAULT 0 -- how often it was published again
);
CREATE INDEX outbox_unpublished ON outbox (id) WHERE published_at IS NULL;

WITH RECURSIVE numbers (shard) AS (SELECT 0 UNION ALL SELECT shard + 1 FROM numbers WHERE shard < 31)
INSERT INTO shards (shard) SELECT shard FROM numbers;
