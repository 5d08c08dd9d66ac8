-- The processes that serve the same clients. One that has not been seen for a while is gone.
CREATE TABLE mcp_workers (
    id integer PRIMARY KEY AUTOINCREMENT,
    seen double precision NOT NULL
);

-- What one process has to tell another, until that one has read it.
CREATE TABLE mcp_mail (
    id integer PRIMARY KEY AUTOINCREMENT,
    worker bigint NOT NULL,
    body bytea NOT NULL
);
CREATE INDEX mcp_mail_worker ON mcp_mail (worker, id);

-- What clients and servers have exchanged on streams, in the order in which it was said.
CREATE TABLE mcp_events (
    place integer PRIMARY KEY AUTOINCREMENT,
    session text NOT NULL,
    stream bigint NOT NULL,
    number bigint NOT NULL,
    data bytea NOT NULL
);
CREATE INDEX mcp_events_stream ON mcp_events (session, stream, number);
