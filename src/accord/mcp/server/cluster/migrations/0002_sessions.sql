-- The sessions of the handshake era.
CREATE TABLE mcp_sessions (
    id text PRIMARY KEY,
    owner text,                       -- whose it is; nobody's where nobody had to say who they are
    version bigint NOT NULL,          -- how often its state has changed
    state bytea NOT NULL,             -- JSON, see session_state.py
    ready integer NOT NULL,           -- whether its handshake is complete
    listener bigint,                  -- the worker that its client listens to
    used double precision NOT NULL,   -- when it was last used, in seconds since 1970
    busy double precision NOT NULL    -- until when it is known to be in use
);
CREATE INDEX mcp_sessions_owner ON mcp_sessions (owner);
CREATE INDEX mcp_sessions_used ON mcp_sessions (used);

-- The streams of sessions.
CREATE TABLE mcp_streams (
    session text NOT NULL,
    number bigint NOT NULL,
    worker bigint NOT NULL,           -- who says something on it
    requests bytea NOT NULL,          -- the ids of the requests that are answered on it, as JSON
    is_over integer NOT NULL,
    PRIMARY KEY (session, number)
);

-- Calls that go on after their answer.
CREATE TABLE mcp_tasks (
    id text PRIMARY KEY,
    owner text NOT NULL,
    worker bigint NOT NULL,           -- who runs it
    created double precision NOT NULL,
    expires double precision NOT NULL,
    is_over integer NOT NULL,
    record bytea NOT NULL             -- JSON, see accord.mcp.server.tasks.record
);
CREATE INDEX mcp_tasks_owner ON mcp_tasks (owner, created);
CREATE INDEX mcp_tasks_expires ON mcp_tasks (expires);

-- What all workers need to know and nobody else may, such as the key that seals request state.
CREATE TABLE mcp_secrets (
    name text PRIMARY KEY,
    value bytea NOT NULL
);
