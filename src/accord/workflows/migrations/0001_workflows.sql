-- Agents, workflows and their runs. Times are seconds since 1970 where machines compare them, else
-- UTC as text of one width; truth values are 0 and 1; ids are UUIDs; what is JSON is said to be.

CREATE TABLE agents (
    id text PRIMARY KEY,
    name text NOT NULL UNIQUE,
    description text NOT NULL DEFAULT '',
    url text NOT NULL,
    wire text NOT NULL CHECK (wire IN ('auto', 'a2a-0.3', 'a2a-1.0', 'plain')),
    auth text NOT NULL DEFAULT '{}', -- JSON: how, and where the secret is found, never the secret
    timeout double precision NOT NULL DEFAULT 30,
    retry text NOT NULL DEFAULT '{}', -- JSON
    max_concurrency integer NOT NULL DEFAULT 64,
    active integer NOT NULL DEFAULT 1,
    card text, -- JSON, as it was read last
    health text NOT NULL DEFAULT 'unknown' CHECK (health IN ('unknown', 'healthy', 'unhealthy')),
    health_detail text NOT NULL DEFAULT '',
    checked_at text,
    version integer NOT NULL DEFAULT 1,
    created_at text NOT NULL,
    updated_at text NOT NULL
);

CREATE TABLE workflows (
    name text NOT NULL,
    version integer NOT NULL,
    description text NOT NULL DEFAULT '',
    definition text NOT NULL, -- JSON, as it was read
    active integer NOT NULL DEFAULT 1, -- whether runs may be started
    created_by text NOT NULL, -- a user's id, empty for the machine itself
    created_at text NOT NULL,
    PRIMARY KEY (name, version)
);

CREATE TABLE runs (
    id text PRIMARY KEY,
    workflow text NOT NULL,
    version integer NOT NULL,
    shard integer NOT NULL,
    status text NOT NULL DEFAULT 'pending',
    user_id text NOT NULL DEFAULT '', -- who started it, and with what rights: steps act as them
    username text NOT NULL DEFAULT '',
    token_id text NOT NULL DEFAULT '',
    scopes text, -- of that token, separated by spaces; NULL where none was used
    origin text NOT NULL DEFAULT '', -- rest, mcp, cli, a2a, schedule, webhook, event, bus, workflow
    parent_run text,
    parent_task text,
    cause text NOT NULL DEFAULT '', -- the run whose writing started this one
    chain integer NOT NULL DEFAULT 0, -- how many such there are before it
    correlation_id text NOT NULL DEFAULT '',
    traceparent text NOT NULL DEFAULT '',
    snapshot text, -- JSON: its state after `snapshot_at` events of its history
    snapshot_at integer NOT NULL DEFAULT 0,
    next_timer double precision, -- nothing is due before
    created_at double precision NOT NULL,
    finished_at double precision,
    FOREIGN KEY (workflow, version) REFERENCES workflows (name, version)
);
CREATE INDEX runs_due ON runs (shard, next_timer) WHERE next_timer IS NOT NULL;
CREATE INDEX runs_by_time ON runs (created_at, id);
CREATE INDEX runs_by_workflow ON runs (workflow, created_at, id);
CREATE INDEX runs_by_status ON runs (status, created_at, id);
CREATE INDEX runs_of_parent ON runs (parent_run) WHERE parent_run IS NOT NULL;
CREATE INDEX runs_finished ON runs (finished_at) WHERE finished_at IS NOT NULL;

-- What happened, once and for all: each row has the events of one decision, the first of which is
-- number `sequence` of its run. A second decision-maker cannot write the same. Only who has read
-- the row of a run writes here: looking it up again would cost as much as the rest.
CREATE TABLE run_history (
    run_id text NOT NULL,
    sequence integer NOT NULL,
    count integer NOT NULL,
    events text NOT NULL, -- JSON: a list
    PRIMARY KEY (run_id, sequence)
);

-- What somebody outside is to do for a run. The row stays when it is done, so that it is never done
-- again: published (on its way), ready, running (somebody has it), asking (needs input), done.
CREATE TABLE tasks (
    id text PRIMARY KEY, -- RUN/TASK
    run_id text NOT NULL,
    task text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('agent', 'operation', 'tool', 'method')),
    target text NOT NULL, -- the name of the agent or operation, or an address
    command text NOT NULL, -- JSON
    state text NOT NULL CHECK (state IN ('published', 'ready', 'running', 'asking', 'done')),
    cancelled integer NOT NULL DEFAULT 0, -- nobody waits for it any more
    owner text, -- the member that has it
    fence integer NOT NULL DEFAULT 0, -- grows each time somebody takes it
    attempt integer NOT NULL DEFAULT 1,
    attempt_group integer NOT NULL DEFAULT 1,
    due double precision NOT NULL DEFAULT 0, -- not before
    remote_task text NOT NULL DEFAULT '',
    remote_context text NOT NULL DEFAULT '',
    continuation text, -- JSON: the input that it asked for
    continued integer NOT NULL DEFAULT 0, -- how often it got some
    outcome text, -- success, error, cancelled
    traceparent text NOT NULL DEFAULT '',
    correlation_id text NOT NULL DEFAULT '',
    created_at double precision NOT NULL,
    finished_at double precision
);
CREATE INDEX tasks_ready ON tasks (created_at) WHERE state = 'ready';
CREATE INDEX tasks_owned ON tasks (owner) WHERE state = 'running';
CREATE INDEX tasks_published ON tasks (created_at) WHERE state = 'published';
CREATE INDEX tasks_of_run ON tasks (run_id);

CREATE TABLE approvals (
    run_id text NOT NULL REFERENCES runs (id),
    task text NOT NULL,
    step text NOT NULL,
    approvers text NOT NULL, -- JSON: names of people and roles
    deadline double precision,
    state text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'closed')),
    created_at double precision NOT NULL,
    PRIMARY KEY (run_id, task)
);
CREATE INDEX approvals_open ON approvals (created_at) WHERE state = 'open';

CREATE TABLE dead_letters (
    id text PRIMARY KEY,
    kind text NOT NULL CHECK (kind IN ('task', 'message')), -- failed for good; could not be read
    topic text NOT NULL DEFAULT '',
    run_id text NOT NULL DEFAULT '',
    task text NOT NULL DEFAULT '',
    target text NOT NULL DEFAULT '',
    code text NOT NULL,
    message text NOT NULL,
    body text NOT NULL DEFAULT '', -- what it was about, cut and without secrets
    attempts integer NOT NULL DEFAULT 1,
    created_at double precision NOT NULL,
    replayed_at double precision,
    replayed_by text NOT NULL DEFAULT ''
);
CREATE INDEX dead_letters_by_time ON dead_letters (created_at, id);

-- The processes that work on runs and tasks, as long as they say that they live. Whose lease is
-- over may be robbed of what it has.
CREATE TABLE members (
    id text PRIMARY KEY,
    kind text NOT NULL CHECK (kind IN ('executor', 'bridge')),
    name text NOT NULL DEFAULT '', -- for people: machine and process
    since double precision NOT NULL,
    until double precision NOT NULL -- by the clock of the database
);

-- Runs are shared out by the hash of their id. Whoever has a shard decides its runs; `fence` grows
-- each time it gets another owner.
CREATE TABLE shards (
    shard integer PRIMARY KEY,
    owner text,
    fence integer NOT NULL DEFAULT 0
);

-- What one process at a time does for all. Whose lease is over may be replaced.
CREATE TABLE leases (
    name text PRIMARY KEY,
    owner text NOT NULL,
    until double precision NOT NULL -- by the clock of the database
);
