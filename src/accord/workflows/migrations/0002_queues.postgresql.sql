-- What arrived for runs and was not decided on yet; and what is to be published.

CREATE TABLE run_inbox (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    message_id text NOT NULL UNIQUE,
    run_id text NOT NULL,
    shard integer NOT NULL,
    arrival text NOT NULL, -- JSON: an event
    tries integer NOT NULL DEFAULT 0,
    due double precision NOT NULL DEFAULT 0
);

-- A row goes when the broker has its message; that of a result stays until a run has it.
CREATE TABLE outbox (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    topic text NOT NULL,
    run_id text NOT NULL,
    message_id text NOT NULL,
    message text NOT NULL, -- JSON: an envelope
    published_at double precision, -- by the clock of the database
    swept integer NOT NULL DEFAULT 0 -- how often it was published again
);
CREATE INDEX outbox_unpublished ON outbox (id) WHERE published_at IS NULL;

INSERT INTO shards (shard) SELECT generate_series(0, 31);

-- Rows come and change all the time: what is dead must go, and the planner know, before it is much.
ALTER TABLE tasks SET (
    autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
    autovacuum_analyze_scale_factor = 0.02, autovacuum_analyze_threshold = 500
);
ALTER TABLE run_inbox SET (
    autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
    autovacuum_analyze_scale_factor = 0.02, autovacuum_analyze_threshold = 500
);
