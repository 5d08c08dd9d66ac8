-- Tasks may be done by plugins. SQLite cannot change what a column takes, so the table is made anew.
CREATE TABLE tasks_anew (
    id text PRIMARY KEY,
    run_id text NOT NULL,
    task text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('agent', 'operation', 'tool', 'method', 'plugin')),
    target text NOT NULL,
    command text NOT NULL,
    state text NOT NULL CHECK (state IN ('published', 'ready', 'running', 'asking', 'done')),
    cancelled integer NOT NULL DEFAULT 0,
    owner text,
    fence integer NOT NULL DEFAULT 0,
    attempt integer NOT NULL DEFAULT 1,
    attempt_group integer NOT NULL DEFAULT 1,
    due double precision NOT NULL DEFAULT 0,
    remote_task text NOT NULL DEFAULT '',
    remote_context text NOT NULL DEFAULT '',
    continuation text,
    continued integer NOT NULL DEFAULT 0,
    outcome text,
    traceparent text NOT NULL DEFAULT '',
    correlation_id text NOT NULL DEFAULT '',
    created_at double precision NOT NULL,
    finished_at double precision
);
INSERT INTO tasks_anew SELECT * FROM tasks;
DROP TABLE tasks;
ALTER TABLE tasks_anew RENAME TO tasks;
CREATE INDEX tasks_ready ON tasks (created_at) WHERE state = 'ready';
CREATE INDEX tasks_owned ON tasks (owner) WHERE state = 'running';
CREATE INDEX tasks_published ON tasks (created_at) WHERE state = 'published';
CREATE INDEX tasks_of_run ON tasks (run_id);
