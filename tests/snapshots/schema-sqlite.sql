CREATE TABLE a2a_messages (
    run_id text NOT NULL,
    place integer NOT NULL, -- from 0, in the order in which they were said
    message text NOT NULL, -- JSON: a message of A2A 1.0
    PRIMARY KEY (run_id, place)
);

CREATE TABLE a2a_tasks (
    run_id text PRIMARY KEY,
    user_id text NOT NULL,
    context_id text NOT NULL,
    created_at double precision NOT NULL
);

CREATE INDEX a2a_tasks_of_context ON a2a_tasks (user_id, context_id, created_at);

CREATE TABLE accord_migrations (
    part text NOT NULL,
    number integer NOT NULL,
    name text NOT NULL,
    PRIMARY KEY (part, number)
);

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

CREATE TABLE approvals (
    run_id text NOT NULL REFERENCES runs (id),
    task text NOT NULL,
    step text NOT NULL,
    approvers text NOT NULL, -- JSON: names of people and roles
    deadline double precision,
    state text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'closed')),
    created_at double precision NOT NULL, shown text,
    PRIMARY KEY (run_id, task)
);

CREATE INDEX approvals_open ON approvals (created_at) WHERE state = 'open';

CREATE TABLE audit_pending (
    record_id text PRIMARY KEY
);

CREATE TRIGGER audit_records_no_delete BEFORE DELETE ON audit_records
BEGIN
    SELECT RAISE(ABORT, 'the audit trail is append-only');
END;

CREATE TRIGGER audit_records_no_update BEFORE UPDATE ON audit_records
BEGIN
    SELECT RAISE(ABORT, 'the audit trail is append-only');
END;

CREATE TRIGGER audit_records_pending AFTER INSERT ON audit_records
BEGIN
    INSERT INTO audit_pending (record_id) VALUES (NEW.id);
END;

CREATE TABLE audit_records (
    id text PRIMARY KEY,
    time text NOT NULL,
    actor_id text NOT NULL,
    actor text NOT NULL,
    via text NOT NULL,
    face text NOT NULL,
    token_id text NOT NULL,
    client text NOT NULL,
    address text NOT NULL,
    operation text NOT NULL,
    target text NOT NULL,
    change_id text NOT NULL,
    before_hash text NOT NULL,
    after_hash text NOT NULL,
    outcome text NOT NULL,
    error text NOT NULL,
    correlation_id text NOT NULL,
    mac text NOT NULL -- of all the others: nobody without the key can write a record
,
    states text NOT NULL DEFAULT '');

CREATE INDEX audit_records_by_change ON audit_records (change_id) WHERE change_id <> '';

CREATE INDEX audit_records_by_time ON audit_records (time, id);

CREATE TRIGGER audit_seals_no_delete BEFORE DELETE ON audit_seals
BEGIN
    SELECT RAISE(ABORT, 'the audit trail is append-only');
END;

CREATE TRIGGER audit_seals_no_update BEFORE UPDATE ON audit_seals
BEGIN
    SELECT RAISE(ABORT, 'the audit trail is append-only');
END;

CREATE TABLE audit_seals (
    sequence bigint PRIMARY KEY,
    record_id text NOT NULL UNIQUE,
    previous_hash text NOT NULL,
    hash text NOT NULL
);

CREATE TRIGGER audit_states_no_delete BEFORE DELETE ON audit_states
BEGIN
    SELECT RAISE(ABORT, 'the audit trail is append-only');
END;

CREATE TRIGGER audit_states_no_update BEFORE UPDATE ON audit_states
BEGIN
    SELECT RAISE(ABORT, 'the audit trail is append-only');
END;

CREATE TABLE audit_states (
    sequence bigint PRIMARY KEY,
    change_id text NOT NULL,
    place integer NOT NULL, -- of the effect among those of its change
    kind text NOT NULL,
    entity_id text NOT NULL,
    told text, -- JSON: what the effect told before and after, where no revision has it
    digests text, -- JSON: by column; NULL where the row is gone
    mac text NOT NULL -- of all the others
);

CREATE TRIGGER baseline_entries_no_delete BEFORE DELETE ON baseline_entries
BEGIN
    SELECT RAISE(ABORT, 'a baseline never changes');
END;

CREATE TRIGGER baseline_entries_no_update BEFORE UPDATE ON baseline_entries
BEGIN
    SELECT RAISE(ABORT, 'a baseline never changes');
END;

CREATE TABLE baseline_entries (
    baseline_id text NOT NULL REFERENCES baselines (id),
    place bigint NOT NULL, -- by kind and number
    entity_id text NOT NULL,
    kind text NOT NULL,
    reference_id text NOT NULL,
    version integer NOT NULL,
    content text NOT NULL, -- JSON: what it said
    PRIMARY KEY (baseline_id, place)
);

CREATE INDEX baseline_entries_of ON baseline_entries (entity_id, baseline_id);

CREATE TRIGGER baselines_no_delete BEFORE DELETE ON baselines
BEGIN
    SELECT RAISE(ABORT, 'a baseline never changes');
END;

CREATE TRIGGER baselines_no_update BEFORE UPDATE ON baselines
BEGIN
    SELECT RAISE(ABORT, 'a baseline never changes');
END;

CREATE TABLE baselines (
    id text PRIMARY KEY,
    name text NOT NULL,
    name_key text NOT NULL UNIQUE,
    description text NOT NULL DEFAULT '',
    author_id text NOT NULL REFERENCES users (id),
    epic_id text, -- what it is about; everything where there is none
    created_at text NOT NULL
);

CREATE TABLE changes (
    id text PRIMARY KEY,
    sequence bigint NOT NULL UNIQUE, -- the order in which they were made
    time text NOT NULL,
    actor_id text NOT NULL,
    actor text NOT NULL,
    operation text NOT NULL,
    face text NOT NULL,
    client text NOT NULL,
    token_id text NOT NULL,
    reason text NOT NULL DEFAULT '',
    undoes text REFERENCES changes (id),
    proposal_id text REFERENCES proposals (id) -- what it carries out
);

CREATE INDEX changes_by_actor ON changes (actor_id, sequence);

CREATE UNIQUE INDEX changes_of_proposal ON changes (proposal_id) WHERE proposal_id IS NOT NULL;

CREATE UNIQUE INDEX changes_undone_once ON changes (undoes) WHERE undoes IS NOT NULL;

CREATE TABLE comments (
    id text PRIMARY KEY,
    target_id text NOT NULL REFERENCES items (id),
    reply_to text REFERENCES comments (id),
    author_id text NOT NULL REFERENCES users (id),
    text text NOT NULL,
    quote text NOT NULL DEFAULT '',
    quote_position integer,
    resolved integer NOT NULL DEFAULT 0,
    resolved_by text REFERENCES users (id),
    version integer NOT NULL DEFAULT 1,
    created_at text NOT NULL,
    updated_at text NOT NULL
);

CREATE INDEX comments_on ON comments (target_id, created_at);

CREATE INDEX comments_open ON comments (created_at, id) WHERE resolved = 0;

CREATE TABLE counters (
    kind text PRIMARY KEY,
    last bigint NOT NULL -- the number that was given last
);

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

CREATE TABLE idempotency (
    user_id text NOT NULL,
    key text NOT NULL,
    request_hash text NOT NULL,
    change_id text NOT NULL,
    result text NOT NULL,
    created_at text NOT NULL,
    PRIMARY KEY (user_id, key)
);

CREATE INDEX idempotency_by_age ON idempotency (created_at);

CREATE TABLE installation (
    id text PRIMARY KEY
);

CREATE TABLE item_labels (
    item_id text NOT NULL REFERENCES items (id),
    label_id text NOT NULL REFERENCES labels (id),
    PRIMARY KEY (item_id, label_id)
);

CREATE INDEX item_labels_of ON item_labels (label_id);

CREATE TABLE item_sources (
    item_id text PRIMARY KEY REFERENCES items (id),
    source text NOT NULL, -- a repository, a specification, another hub, or what the caller named
    foreign_id text NOT NULL, -- what the source calls the item
    created_at text NOT NULL,
    UNIQUE (source, foreign_id)
);

CREATE TABLE items (
    id text PRIMARY KEY,
    kind text NOT NULL,
    number bigint NOT NULL,
    reference_id text NOT NULL UNIQUE,
    parent_id text REFERENCES items (id), -- an epic's stories, a story's criteria and requirements
    criteria_id text REFERENCES items (id), -- of a requirement: the acceptance criteria it belongs to
    position double precision NOT NULL DEFAULT 0, -- among siblings
    title text NOT NULL DEFAULT '',
    description text NOT NULL DEFAULT '',
    status text NOT NULL DEFAULT '',
    priority integer NOT NULL DEFAULT 0,
    type text REFERENCES requirement_types (name) ON UPDATE CASCADE,
    creator_id text NOT NULL REFERENCES users (id),
    assignee_id text REFERENCES users (id),
    name text, -- of a prompt: unique
    content text NOT NULL DEFAULT '', -- of a prompt
    role text NOT NULL DEFAULT '', -- of a prompt: user or assistant
    active integer NOT NULL DEFAULT 0, -- of a prompt
    version integer NOT NULL DEFAULT 1, -- of the content: comments, labels and places do not count
    said_version integer NOT NULL DEFAULT 1, -- the version at which it last said something else
    created_at text NOT NULL,
    updated_at text NOT NULL,
    UNIQUE (kind, number)
);

CREATE UNIQUE INDEX items_active_prompt ON items (active) WHERE active = 1;

CREATE INDEX items_by_assignee ON items (assignee_id, kind);

CREATE INDEX items_by_status ON items (kind, status, number);

CREATE INDEX items_by_update ON items (kind, updated_at, number);

CREATE INDEX items_children ON items (parent_id, kind, position);

CREATE INDEX items_of_criteria ON items (criteria_id);

CREATE UNIQUE INDEX items_prompt_name ON items (lower(name)) WHERE name IS NOT NULL;

CREATE INDEX items_that_said_more ON items (said_version, id) WHERE said_version > 1;

CREATE TABLE labels (
    id text PRIMARY KEY,
    name text NOT NULL,
    name_key text NOT NULL UNIQUE,
    colour text NOT NULL,
    created_at text NOT NULL
);

CREATE TABLE leases (
    name text PRIMARY KEY,
    owner text NOT NULL,
    until double precision NOT NULL -- by the clock of the database
);

CREATE TABLE lint_suppressions (
    item_id text NOT NULL REFERENCES items (id),
    rule text NOT NULL,
    reason text NOT NULL,
    author_id text NOT NULL REFERENCES users (id),
    created_at text NOT NULL,
    PRIMARY KEY (item_id, rule)
);

CREATE TABLE login_sessions (
    hash text PRIMARY KEY,
    user_id text NOT NULL REFERENCES users (id),
    client text NOT NULL DEFAULT '',
    address text NOT NULL DEFAULT '',
    created_at text NOT NULL,
    seen_at text NOT NULL,
    expires_at text NOT NULL
);

CREATE INDEX login_sessions_of ON login_sessions (user_id);

CREATE TABLE mcp_events (
    place integer PRIMARY KEY AUTOINCREMENT,
    session text NOT NULL,
    stream bigint NOT NULL,
    number bigint NOT NULL,
    data bytea NOT NULL
);

CREATE INDEX mcp_events_stream ON mcp_events (session, stream, number);

CREATE TABLE mcp_mail (
    id integer PRIMARY KEY AUTOINCREMENT,
    worker bigint NOT NULL,
    body bytea NOT NULL
);

CREATE INDEX mcp_mail_worker ON mcp_mail (worker, id);

CREATE TABLE mcp_secrets (
    name text PRIMARY KEY,
    value bytea NOT NULL
);

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

CREATE TABLE mcp_streams (
    session text NOT NULL,
    number bigint NOT NULL,
    worker bigint NOT NULL,           -- who says something on it
    requests bytea NOT NULL,          -- the ids of the requests that are answered on it, as JSON
    is_over integer NOT NULL,
    PRIMARY KEY (session, number)
);

CREATE TABLE mcp_tasks (
    id text PRIMARY KEY,
    owner text NOT NULL,
    worker bigint NOT NULL,           -- who runs it
    created double precision NOT NULL,
    expires double precision NOT NULL,
    is_over integer NOT NULL,
    record bytea NOT NULL             -- JSON, see accord.mcp.server.tasks.record
);

CREATE INDEX mcp_tasks_expires ON mcp_tasks (expires);

CREATE INDEX mcp_tasks_owner ON mcp_tasks (owner, created);

CREATE TABLE mcp_workers (
    id integer PRIMARY KEY AUTOINCREMENT,
    seen double precision NOT NULL
);

CREATE TABLE members (
    id text PRIMARY KEY,
    kind text NOT NULL CHECK (kind IN ('executor', 'bridge')),
    name text NOT NULL DEFAULT '', -- for people: machine and process
    since double precision NOT NULL,
    until double precision NOT NULL -- by the clock of the database
);

CREATE TABLE outbox (
    id integer PRIMARY KEY AUTOINCREMENT,
    topic text NOT NULL,
    run_id text NOT NULL,
    message_id text NOT NULL,
    message text NOT NULL, -- JSON: an envelope
    published_at double precision, -- by the clock of the database
    swept integer NOT NULL DEFAULT 0 -- how often it was published again
,
    count integer NOT NULL DEFAULT 1);

CREATE INDEX outbox_unpublished ON outbox (id) WHERE published_at IS NULL;

CREATE TABLE proposals (
    id text PRIMARY KEY,
    author_id text NOT NULL REFERENCES users (id),
    reason text NOT NULL,
    steps text NOT NULL, -- JSON: [{operation, arguments}]
    preview text NOT NULL, -- JSON: what they would have done when it was made
    state text NOT NULL DEFAULT 'open', -- open, accepted, rejected
    decided_by text REFERENCES users (id),
    decided_at text,
    decision_reason text NOT NULL DEFAULT '',
    created_at text NOT NULL
,
    via text NOT NULL DEFAULT '',
    face text NOT NULL DEFAULT '',
    client text NOT NULL DEFAULT '',
    token_id text NOT NULL DEFAULT '',
    run_id text NOT NULL DEFAULT '');

CREATE INDEX proposals_by_state ON proposals (state, created_at);

CREATE TABLE rate_buckets (
    key text PRIMARY KEY,
    full_at double precision NOT NULL
) WITHOUT ROWID;

CREATE INDEX rate_buckets_by_time ON rate_buckets (full_at);

CREATE TABLE relationship_types (
    name text PRIMARY KEY,
    inverse text NOT NULL,
    is_symmetric integer NOT NULL,
    is_acyclic integer NOT NULL
);

CREATE TABLE relationships (
    id text PRIMARY KEY,
    source_id text NOT NULL REFERENCES items (id),
    target_id text NOT NULL REFERENCES items (id),
    type text NOT NULL REFERENCES relationship_types (name),
    creator_id text NOT NULL REFERENCES users (id),
    created_at text NOT NULL,
    source_version integer NOT NULL, -- those of both ends when it was made or confirmed;
    target_version integer NOT NULL, -- where an end said something else since, it is suspect
    confirmed_by text REFERENCES users (id),
    confirmed_at text,
    confirmed_reason text NOT NULL DEFAULT '',
    UNIQUE (source_id, target_id, type)
);

CREATE INDEX relationships_by_age ON relationships (created_at, id);

CREATE INDEX relationships_to ON relationships (target_id, type);

CREATE TABLE requirement_types (
    name text PRIMARY KEY,
    name_key text NOT NULL UNIQUE, -- folded
    description text NOT NULL DEFAULT '',
    created_at text NOT NULL
);

CREATE TABLE revisions (
    change_id text NOT NULL REFERENCES changes (id),
    place integer NOT NULL, -- among the revisions of its change
    entity_id text NOT NULL,
    kind text NOT NULL,
    reference_id text NOT NULL,
    version integer NOT NULL,
    action text NOT NULL,
    before text, -- JSON: the fields that differ, or all of what was deleted
    after text, item_id text, other_item_id text, -- JSON: the fields that differ, or all of what was created
    PRIMARY KEY (change_id, place)
);

CREATE INDEX revisions_about ON revisions (item_id) WHERE item_id IS NOT NULL;

CREATE INDEX revisions_about_other ON revisions (other_item_id) WHERE other_item_id IS NOT NULL;

CREATE INDEX revisions_by_reference ON revisions (reference_id);

CREATE INDEX revisions_of ON revisions (entity_id, version);

CREATE TABLE run_history (
    run_id text NOT NULL,
    sequence integer NOT NULL,
    count integer NOT NULL,
    events text NOT NULL, -- JSON: a list
    PRIMARY KEY (run_id, sequence)
);

CREATE TABLE run_inbox (
    id integer PRIMARY KEY AUTOINCREMENT,
    message_id text NOT NULL UNIQUE,
    run_id text NOT NULL,
    shard integer NOT NULL,
    arrival text NOT NULL, -- JSON: an event
    tries integer NOT NULL DEFAULT 0,
    due double precision NOT NULL DEFAULT 0
,
    problem text);

CREATE INDEX run_inbox_postponed ON run_inbox (run_id) WHERE tries > 0;

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
    finished_at double precision, problem text,
    FOREIGN KEY (workflow, version) REFERENCES workflows (name, version)
);

CREATE INDEX runs_by_status ON runs (status, created_at, id);

CREATE INDEX runs_by_time ON runs (created_at, id);

CREATE INDEX runs_by_workflow ON runs (workflow, created_at, id);

CREATE INDEX runs_due ON runs (shard, next_timer) WHERE next_timer IS NOT NULL;

CREATE INDEX runs_finished ON runs (finished_at) WHERE finished_at IS NOT NULL;

CREATE INDEX runs_of_parent ON runs (parent_run) WHERE parent_run IS NOT NULL;

CREATE TABLE saved_views (
    id text PRIMARY KEY,
    owner_id text NOT NULL REFERENCES users (id),
    name text NOT NULL,
    filter text NOT NULL, -- JSON
    sort text NOT NULL DEFAULT '',
    shared integer NOT NULL DEFAULT 0,
    created_at text NOT NULL,
    updated_at text NOT NULL,
    UNIQUE (owner_id, name)
);

CREATE TABLE search_entries (
    sequence integer PRIMARY KEY AUTOINCREMENT,
    entity_id text NOT NULL UNIQUE, -- an item's or a comment's
    item_id text NOT NULL, -- the item's itself, or of what the comment is on
    title text NOT NULL,
    facets text NOT NULL,
    body text NOT NULL
);

CREATE INDEX search_entries_of ON search_entries (item_id);

CREATE TABLE search_spellings (
    key text NOT NULL,
    word text NOT NULL,
    PRIMARY KEY (key, word)
) WITHOUT ROWID;

CREATE VIRTUAL TABLE search_texts USING fts5 (
    title, body, facets,
    content = 'search_entries', content_rowid = 'sequence',
    tokenize = "ascii tokenchars '='", -- splits at spaces only: words are made before
    prefix = '2 3',
    detail = 'column' -- which words are where does not matter, only in which column
);

CREATE VIRTUAL TABLE search_vocabulary USING fts5vocab (search_texts, 'instance');

CREATE TABLE search_words (word text PRIMARY KEY) WITHOUT ROWID;

CREATE TABLE settings (
    name text PRIMARY KEY,
    value text NOT NULL
);

CREATE TABLE shards (
    shard integer PRIMARY KEY,
    owner text,
    fence integer NOT NULL DEFAULT 0
);

CREATE TABLE sign_in_failures (
    key text PRIMARY KEY,
    count integer NOT NULL,
    last double precision NOT NULL
);

CREATE INDEX sign_in_failures_by_time ON sign_in_failures (last);

CREATE TABLE steering_links (
    steering_id text NOT NULL REFERENCES items (id),
    epic_id text NOT NULL REFERENCES items (id),
    PRIMARY KEY (steering_id, epic_id)
);

CREATE INDEX steering_links_of_epic ON steering_links (epic_id);

CREATE TABLE "tasks" (
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

CREATE INDEX tasks_of_run ON tasks (run_id);

CREATE INDEX tasks_owned ON tasks (owner) WHERE state = 'running';

CREATE INDEX tasks_published ON tasks (created_at) WHERE state = 'published';

CREATE INDEX tasks_ready ON tasks (created_at) WHERE state = 'ready';

CREATE TABLE tokens (
    id text PRIMARY KEY,
    user_id text NOT NULL REFERENCES users (id),
    name text NOT NULL,
    prefix text NOT NULL,
    last_four text NOT NULL,
    hash text NOT NULL UNIQUE,
    scopes text NOT NULL, -- separated by spaces
    created_at text NOT NULL,
    expires_at text NOT NULL,
    last_used_at text,
    revoked_at text
);

CREATE UNIQUE INDEX tokens_by_name ON tokens (user_id, name) WHERE revoked_at IS NULL;

CREATE INDEX tokens_of ON tokens (user_id, created_at);

CREATE TABLE triggers (
    id text PRIMARY KEY, -- the same for the same trigger of the next version
    workflow text NOT NULL,
    version integer NOT NULL,
    kind text NOT NULL CHECK (kind IN ('event', 'schedule', 'webhook')),
    name text NOT NULL, -- of the event or webhook; of a schedule its text
    spec text NOT NULL, -- JSON: the trigger as it was read
    input text NOT NULL, -- JSON: the schema of the workflow's input, or null
    user_id text NOT NULL, -- who saved it; empty for the machine itself
    username text NOT NULL,
    scopes text, -- of the token it was saved with, separated by spaces; NULL where none was used
    next_at double precision, -- of a schedule
    FOREIGN KEY (workflow, version) REFERENCES workflows (name, version)
);

CREATE INDEX triggers_by_name ON triggers (kind, name);

CREATE INDEX triggers_due ON triggers (next_at) WHERE next_at IS NOT NULL;

CREATE INDEX triggers_of_workflow ON triggers (workflow);

CREATE UNIQUE INDEX triggers_webhooks ON triggers (name) WHERE kind = 'webhook';

CREATE TABLE users (
    id text PRIMARY KEY,
    username text NOT NULL,
    username_key text NOT NULL UNIQUE, -- folded: two names that look alike are one
    email text NOT NULL DEFAULT '',
    role text NOT NULL CHECK (role IN ('Administrator', 'User', 'Commenter')),
    password_hash text NOT NULL DEFAULT '', -- empty: nobody can sign in with a password
    temporary_password integer NOT NULL DEFAULT 0, -- 1: somebody else chose it
    active integer NOT NULL DEFAULT 1,
    version integer NOT NULL DEFAULT 1,
    created_at text NOT NULL,
    updated_at text NOT NULL
);

CREATE TABLE webhook_deliveries (
    trigger_id text NOT NULL,
    key text NOT NULL,
    run_id text NOT NULL,
    created_at double precision NOT NULL,
    PRIMARY KEY (trigger_id, key)
);

CREATE INDEX webhook_deliveries_by_time ON webhook_deliveries (created_at);

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
