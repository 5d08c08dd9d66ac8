PRAGMA foreign_keys = OFF;
BEGIN;
CREATE TABLE accord_migrations (
    part text NOT NULL,
    number integer NOT NULL,
    name text NOT NULL,
    PRIMARY KEY (part, number)
);
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
CREATE TABLE login_sessions (
    hash text PRIMARY KEY,
    user_id text NOT NULL REFERENCES users (id),
    client text NOT NULL DEFAULT '',
    address text NOT NULL DEFAULT '',
    created_at text NOT NULL,
    seen_at text NOT NULL,
    expires_at text NOT NULL
);
CREATE TABLE settings (
    name text PRIMARY KEY,
    value text NOT NULL
);
CREATE TABLE idempotency (
    user_id text NOT NULL,
    key text NOT NULL,
    request_hash text NOT NULL,
    change_id text NOT NULL,
    result text NOT NULL,
    created_at text NOT NULL,
    PRIMARY KEY (user_id, key)
);
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
);
CREATE TABLE audit_seals (
    sequence bigint PRIMARY KEY,
    record_id text NOT NULL UNIQUE,
    previous_hash text NOT NULL,
    hash text NOT NULL
);
CREATE TABLE audit_pending (
    record_id text PRIMARY KEY
);
CREATE TABLE rate_buckets (
    key text PRIMARY KEY,
    full_at double precision NOT NULL
) WITHOUT ROWID;
CREATE TABLE counters (
    kind text PRIMARY KEY,
    last bigint NOT NULL -- the number that was given last
);
CREATE TABLE requirement_types (
    name text PRIMARY KEY,
    name_key text NOT NULL UNIQUE, -- folded
    description text NOT NULL DEFAULT '',
    created_at text NOT NULL
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
CREATE TABLE steering_links (
    steering_id text NOT NULL REFERENCES items (id),
    epic_id text NOT NULL REFERENCES items (id),
    PRIMARY KEY (steering_id, epic_id)
);
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
CREATE TABLE labels (
    id text PRIMARY KEY,
    name text NOT NULL,
    name_key text NOT NULL UNIQUE,
    colour text NOT NULL,
    created_at text NOT NULL
);
CREATE TABLE item_labels (
    item_id text NOT NULL REFERENCES items (id),
    label_id text NOT NULL REFERENCES labels (id),
    PRIMARY KEY (item_id, label_id)
);
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
CREATE TABLE revisions (
    change_id text NOT NULL REFERENCES changes (id),
    place integer NOT NULL, -- among the revisions of its change
    entity_id text NOT NULL,
    kind text NOT NULL,
    reference_id text NOT NULL,
    version integer NOT NULL,
    action text NOT NULL,
    before text, -- JSON: the fields that differ, or all of what was deleted
    after text, -- JSON: the fields that differ, or all of what was created
    PRIMARY KEY (change_id, place)
);
CREATE TABLE baselines (
    id text PRIMARY KEY,
    name text NOT NULL,
    name_key text NOT NULL UNIQUE,
    description text NOT NULL DEFAULT '',
    author_id text NOT NULL REFERENCES users (id),
    epic_id text, -- what it is about; everything where there is none
    created_at text NOT NULL
);
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
CREATE TABLE lint_suppressions (
    item_id text NOT NULL REFERENCES items (id),
    rule text NOT NULL,
    reason text NOT NULL,
    author_id text NOT NULL REFERENCES users (id),
    created_at text NOT NULL,
    PRIMARY KEY (item_id, rule)
);
CREATE TABLE search_entries (
    sequence integer PRIMARY KEY AUTOINCREMENT,
    entity_id text NOT NULL UNIQUE, -- an item's or a comment's
    item_id text NOT NULL, -- the item's itself, or of what the comment is on
    title text NOT NULL,
    facets text NOT NULL,
    body text NOT NULL
);
CREATE VIRTUAL TABLE search_texts USING fts5 (
    title, body, facets,
    content = 'search_entries', content_rowid = 'sequence',
    tokenize = "ascii tokenchars '='", -- splits at spaces only: words are made before
    prefix = '2 3',
    detail = 'column' -- which words are where does not matter, only in which column
);
CREATE VIRTUAL TABLE search_vocabulary USING fts5vocab (search_texts, 'instance');
CREATE TABLE search_words (word text PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE search_spellings (
    key text NOT NULL,
    word text NOT NULL,
    PRIMARY KEY (key, word)
) WITHOUT ROWID;
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
CREATE TABLE run_history (
    run_id text NOT NULL,
    sequence integer NOT NULL,
    count integer NOT NULL,
    events text NOT NULL, -- JSON: a list
    PRIMARY KEY (run_id, sequence)
);
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
CREATE TABLE members (
    id text PRIMARY KEY,
    kind text NOT NULL CHECK (kind IN ('executor', 'bridge')),
    name text NOT NULL DEFAULT '', -- for people: machine and process
    since double precision NOT NULL,
    until double precision NOT NULL -- by the clock of the database
);
CREATE TABLE shards (
    shard integer PRIMARY KEY,
    owner text,
    fence integer NOT NULL DEFAULT 0
);
CREATE TABLE leases (
    name text PRIMARY KEY,
    owner text NOT NULL,
    until double precision NOT NULL -- by the clock of the database
);
CREATE TABLE run_inbox (
    id integer PRIMARY KEY AUTOINCREMENT,
    message_id text NOT NULL UNIQUE,
    run_id text NOT NULL,
    shard integer NOT NULL,
    arrival text NOT NULL, -- JSON: an event
    tries integer NOT NULL DEFAULT 0,
    due double precision NOT NULL DEFAULT 0
);
CREATE TABLE outbox (
    id integer PRIMARY KEY AUTOINCREMENT,
    topic text NOT NULL,
    run_id text NOT NULL,
    message_id text NOT NULL,
    message text NOT NULL, -- JSON: an envelope
    published_at double precision, -- by the clock of the database
    swept integer NOT NULL DEFAULT 0 -- how often it was published again
);
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
CREATE TABLE webhook_deliveries (
    trigger_id text NOT NULL,
    key text NOT NULL,
    run_id text NOT NULL,
    created_at double precision NOT NULL,
    PRIMARY KEY (trigger_id, key)
);
INSERT INTO accord_migrations (part, number, name) VALUES ('operations',1,'operations');
INSERT INTO accord_migrations (part, number, name) VALUES ('operations',2,'guards');
INSERT INTO accord_migrations (part, number, name) VALUES ('hub',1,'hub');
INSERT INTO accord_migrations (part, number, name) VALUES ('hub',2,'search');
INSERT INTO accord_migrations (part, number, name) VALUES ('hub',3,'baselines');
INSERT INTO accord_migrations (part, number, name) VALUES ('workflows',1,'workflows');
INSERT INTO accord_migrations (part, number, name) VALUES ('workflows',2,'queues');
INSERT INTO accord_migrations (part, number, name) VALUES ('workflows',3,'triggers');
INSERT INTO users (id, username, username_key, email, role, password_hash, temporary_password, active, version, created_at, updated_at) VALUES ('01a1e20d-e5ee-7707-9bde-cfa88a227441','admin','admin','','Administrator','$argon2id$v=19$m=19456,t=2,p=1$VKDEXzfK3cGvymeSJJ0U/Q$dXAdC8EmHf/uk0J9GY/Tl+ZhRH5Bq26m6rz2jroZGaQ',1,1,1,'2026-11-16T01:52:04.078367Z','2026-11-16T01:52:04.078367Z');
INSERT INTO users (id, username, username_key, email, role, password_hash, temporary_password, active, version, created_at, updated_at) VALUES ('01a1e20e-0c7e-71bd-b3e0-7cea400e48ff','nina','nina','','User','',0,1,1,'2026-11-16T01:52:13.950008Z','2026-11-16T01:52:13.950008Z');
INSERT INTO tokens (id, user_id, name, prefix, last_four, hash, scopes, created_at, expires_at, last_used_at, revoked_at) VALUES ('01a1e20d-e5ee-78e7-8e7c-d0c80f15a126','01a1e20d-e5ee-7707-9bde-cfa88a227441','first run','accord_pat_O0po','807k','9215b91c1438a956aaeff7ee8760658374cd7cbdf4fa29c130f7c39ed4e3a08d','read comment write propose run admin','2026-11-16T01:52:04.078367Z','2999-01-01T00:00:00.000000Z','2026-11-16T01:52:10.159081Z',NULL);
INSERT INTO tokens (id, user_id, name, prefix, last_four, hash, scopes, created_at, expires_at, last_used_at, revoked_at) VALUES ('01a1e20e-1ec5-7d68-b86c-ad2247338e86','01a1e20e-0c7e-71bd-b3e0-7cea400e48ff','laptop','accord_pat_oN29','5PKI','cbf1c8336ac0e36c579940b8d5f410d2b4b1e5bc8d8af3f4d38205626f148b12','read comment write propose run','2026-11-16T01:52:18.629623Z','2999-01-01T00:00:00.000000Z',NULL,NULL);
INSERT INTO settings (name, value) VALUES ('server_key_fingerprint','a587c1f7c141e071');
INSERT INTO settings (name, value) VALUES ('audit_head','{"sequence":31,"hash":"e622e245cede2096ecb3efbf75c12bdd8e14e115008eca3f4093963403d8903e","mac":"2b029f6a46473afc207ea54a29854dbd74d5de1d095cdd0f3c05619b1a8ae369"}');
INSERT INTO settings (name, value) VALUES ('first_run','2026-11-16T01:52:04.078367Z');
INSERT INTO idempotency (user_id, key, request_hash, change_id, result, created_at) VALUES ('01a1e20d-e5ee-7707-9bde-cfa88a227441','42d5b0f3aec34505238a18bac58a869deda97d61dc47a22fc11b49a905d67dd8','2f1804b14405a890c2241ee8c71233580a94e44ce1c6f5c0be44f9a78a09993f','01a1e20e-00ab-745c-a450-10cf48654ffb','{"change_id":"01a1e20e-00ab-745c-a450-10cf48654ffb","id":"01a1e20e-00ab-7236-b2bc-a7b668880bfd","reference_id":"EP-003","version":1,"created_at":"2026-11-16T01:52:10.922960Z","updated_at":"2026-11-16T01:52:10.922960Z","title":"Written by a run","description":"","status":"Backlog","priority":3,"creator":"admin","assignee":"admin","labels":[]}','2026-11-16T01:52:10.922960Z');
INSERT INTO audit_records (id, time, actor_id, actor, via, face, token_id, client, address, operation, target, change_id, before_hash, after_hash, outcome, error, correlation_id, mac) VALUES ('01a1e20d-e5f0-7694-85fa-2efb30000146','2026-11-16T01:52:04.080423Z','','accord','system','system','','','','first_run','admin','','','','done','','','3404c9e4fe69c3fd7ed2e545a7d91b9ba819bcb2f143481a1d441a0f9421564a');
INSERT INTO audit_records (id, time, actor_id, actor, via, face, token_id, client, address, operation, target, change_id, before_hash, after_hash, outcome, error, correlation_id, mac) VALUES ('01a1e20d-fdbd-7862-9900-f7a031f6c11d','2026-11-16T01:52:10.173539Z','01a1e20d-e5ee-7707-9bde-cfa88a227441','admin','token','rest','01a1e20d-e5ee-78e7-8e7c-d0c80f15a126','python-httpx/0.28.1','127.0.0.1','create_epic','EP-001','01a1e20d-fdb4-7040-95f0-d8ccdc0677b7','','5c2fb4efc0d70d6fc709a1157fdb40914be78ccd5b5be81858fc632362404991','done','','455ab8e8db6344ad49f3c7acaa7b4852','41c38beb7d7721ae9a55907bf38c251c84139d5d1d54b8b9f2ad3fb0cc568ec1');
INSERT INTO audit_records (id, time, actor_id, actor, via, face, token_id, client, address, operation, target, change_id, before_hash, after_hash, outcome, error, correlation_id, mac) VALUES ('01a1e20d-fdf1-74fb-ab12-ca4e8bc4fa89','2026-11-16T01:52:10.225322Z','01a1e20d-e5ee-7707-9bde-cfa88a227441','admin','token','rest','01a1e20d-e5ee-78e7-8e7c-d0c80f15a126','python-httpx/0.28.1','127.0.0.1','create_user_story','US-001','01a1e20d-fde9-7c7b-9d5f-21bd86c0db15','','4e165258cff20271a70a95dcb0eba8f201773c8137ca07f9a445becb373440ab','done','','445dfd9b36e63d4d1b0c75def3564ad3','54b3a81fe527dd8e47aa61a60551c8ec563ed373f5a6baf746c95ff83eacbc87');
INSERT INTO audit_records (id, time, actor_id, actor, via, face, token_id, client, address, operation, target, change_id, before_hash, after_hash, outcome, error, correlation_id, mac) VALUES ('01a1e20d-fe16-70ac-8e7f-cd419684cd65','2026-11-16T01:52:10.262049Z','01a1e20d-e5ee-7707-9bde-cfa88a227441','admin','token','rest','01a1e20d-e5ee-78e7-8e7c-d0c80f15a126','python-httpx/0.28.1','127.0.0.1','create_acceptance_criteria','AC-001','01a1e20d-fe15-7505-8774-3edb5978e682','','fb7781572005a65f2d60626b63721d6b867be791514a44ef58384a8ae183a628','done','','83755f7e6cd46dfa04a1063902d65db0','b029b986a112f645eff37ea699e9628f2df58b11deb8edc990af8c4327419c3f');
INSERT INTO audit_records (id, time, actor_id, actor, via, face, token_id, client, address, operation, target, change_id, before_hash, after_hash, outcome, error, correlation_id, mac) VALUES ('01a1e20d-fe3f-7f07-9955-2b4c669a7dba','2026-11-16T01:52:10.303946Z','01a1e20d-e5ee-7707-9bde-cfa88a227441','admin','token','rest','01a1e20d-e5ee-78e7-8e7c-d0c80f15a126','python-httpx/0.28.1','127.0.0.1','create_requirement','REQ-001','01a1e20d-fe3f-74fb-97b0-c1774617ebad','','4eceba03606e13b9e7198dc146294f19cef7bae309af1b560c5038b25321a7df','done','','c6a392b69803cda1caea787b7620689f','15d84e00da08bdd6ace20422b1adf4b16541b0bb1a3f9ead4f6b5b685ce15556');
INSERT INTO audit_records (id, time, actor_id, actor, via, face, token_id, client, address, operation, target, change_id, before_hash, after_hash, outcome, error, correlation_id, mac) VALUES ('01a1e20d-fe52-760b-9c05-4a5be056f37a','2026-11-16T01:52:10.322385Z','01a1e20d-e5ee-7707-9bde-cfa88a227441','admin','token','rest','01a1e20d-e5ee-78e7-8e7c-d0c80f15a126','python-httpx/0.28.1','127.0.0.1','create_requirement','REQ-002','01a1e20d-fe50-78a8-9c22-30fab8471c68','','1ab1d9244ae4788f0adf8e8d8f6d98abb76411db96bc8c4927e65d35dfde4c19','done','','8a0bf295b8f72eb3f9f1e782966bbaf2','35556e008fe48c9487c2552946354763e7b52c4771b32e779082b1acf0bc0ea0');
INSERT INTO audit_records (id, time, actor_id, actor, via, face, token_id, client, address, operation, target, change_id, before_hash, after_hash, outcome, error, correlation_id, mac) VALUES ('01a1e20d-fe67-7db5-9eff-6eb7121416ab','2026-11-16T01:52:10.343862Z','01a1e20d-e5ee-7707-9bde-cfa88a227441','admin','token','rest','01a1e20d-e5ee-78e7-8e7c-d0c80f15a126','python-httpx/0.28.1','127.0.0.1','create_relationship','REQ-001 blocks REQ-002','01a1e20d-fe67-7b00-97ef-f3f71e2ad30e','','c4c60fd30c2d721ff88d5af6beb1cc9743e2ec27c3a5017a3afe98798f36ea96','done','','08070a1b53e9852a9d6f1aecf4719562','e36381ff941404b2d3e0067df21019331d32d3c0bdac6f54d2a4483936b3fcaa');
INSERT INTO audit_records (id, time, actor_id, actor, via, face, token_id, client, address, operation, target, change_id, before_hash, after_hash, outcome, error, correlation_id, mac) VALUES ('01a1e20d-fe7d-7aff-8b4a-54648c3daebd','2026-11-16T01:52:10.365693Z','01a1e20d-e5ee-7707-9bde-cfa88a227441','admin','token','rest','01a1e20d-e5ee-78e7-8e7c-d0c80f15a126','python-httpx/0.28.1','127.0.0.1','create_label','payments','01a1e20d-fe7d-781a-84bb-5538dbdbf1ce','','1bc898e3d4df647b3667d1fd253615697fb6ea6128dd356915d38ed0dfa9cb6a','done','','628a8723ca5c96ab95bd216e83d1f949','51e0bc736dbf2fd1d5c022d13053eb1fe0138f1ef6c24c6608268d005cb374b4');
INSERT INTO audit_records (id, time, actor_id, actor, via, face, token_id, client, address, operation, target, change_id, before_hash, after_hash, outcome, error, correlation_id, mac) VALUES ('01a1e20d-fe95-7d80-a10f-a8feb0ecfa96','2026-11-16T01:52:10.389851Z','01a1e20d-e5ee-7707-9bde-cfa88a227441','admin','token','rest','01a1e20d-e5ee-78e7-8e7c-d0c80f15a126','python-httpx/0.28.1','127.0.0.1','label_item','REQ-001 payments','01a1e20d-fe95-73ee-92aa-2ce0b8e823ef','','6e58e798605e117341ef430f70c9e5e478803f8878c2356815edd088affe9628','done','','c16b089db23e41b55afdf2284f479c6f','d77942d316ed12b7ebade49c89e365bd061a93eaaa3e24d12f4ce85876f74b8b');
INSERT INTO audit_records (id, time, actor_id, actor, via, face, token_id, client, address, operation, target, change_id, before_hash, after_hash, outcome, error, correlation_id, mac) VALUES ('01a1e20d-feaa-758b-9640-16e25abb6997','2026-11-16T01:52:10.410354Z','01a1e20d-e5ee-7707-9bde-cfa88a227441','admin','token','rest','01a1e20d-e5ee-78e7-8e7c-d0c80f15a126','python-httpx/0.28.1','127.0.0.1','add_comment','REQ-001','01a1e20d-fea7-7482-9520-fdcd5bf2dd4c','','26a4050a785dbfa24c80190cbb32df55cdd0fbe9f512c8ba5fe2121d243dc4b4','done','','a888168a832f3057d3679121bc2e09e5','2a83d7b7f8d7b670d536639831336f1d0e1a89e113f44ca56f1e041b96d815ad');
INSERT INTO audit_records (id, time, actor_id, actor, via, face, token_id, client, address, operation, target, change_id, before_hash, after_hash, outcome, error, correlation_id, mac) VALUES ('01a1e20d-febe-7911-89e5-bf96c670c4fd','2026-11-16T01:52:10.430573Z','01a1e20d-e5ee-7707-9bde-cfa88a227441','admin','token','rest','01a1e20d-e5ee-78e7-8e7c-d0c80f15a126','python-httpx/0.28.1','127.0.0.1','create_steering_document','STD-001','01a1e20d-febe-7019-9f1f-1f424f94dfd9','','98a49e9e26cfe685a3a6edf3087c55687f3ae16d88f68a3d930116fa83db927f','done','','b369b3aa300b3e0b560832e585a45ebb','bbe5539c0d3910b4273a78cfd12c9bdd168ee25ec07f79541afccc9881754d75');
INSERT INTO audit_records (id, time, actor_id, actor, via, face, token_id, client, address, operation, target, change_id, before_hash, after_hash, outcome, error, correlation_id, mac) VALUES ('01a1e20d-ff02-70a9-8cab-1ed9b892a45b','2026-11-16T01:52:10.498051Z','01a1e20d-e5ee-7707-9bde-cfa88a227441','admin','token','rest','01a1e20d-e5ee-78e7-8e7c-d0c80f15a126','python-httpx/0.28.1','127.0.0.1','create_view','Mine','01a1e20d-fefb-7d2c-9b6f-12e378f84385','','3c7c19d76e610ea142bdc295fdb038c70e1ff3e981f07d3122de1cdaa44632b9','done','','369a4ecda66b878b34abc23f2cdf7fb0','8c070fc54da3067b34fb94e106f470f9e27fbf289a04ea71d51640e316c3e424');
INSERT INTO audit_records (id, time, actor_id, actor, via, face, token_id, client, address, operation, target, change_id, before_hash, after_hash, outcome, error, correlation_id, mac) VALUES ('01a1e20d-ff1d-729d-b6c5-a7a7f51ae8e5','2026-11-16T01:52:10.525169Z','01a1e20d-e5ee-7707-9bde-cfa88a227441','admin','token','rest','01a1e20d-e5ee-78e7-8e7c-d0c80f15a126','python-httpx/0.28.1','127.0.0.1','create_baseline','First review','01a1e20d-ff1c-7ee5-b913-65d204d7fd7d','','29d7f23feeeb4483bf7d6b66429f17dd57c6e0128da4fed373aedd5a1aaaef7b','done','','904ee5e21d8342c9c7d9608e0e4d969d','5e0a8c976bec327f1a35f19e524c101fcca2e963670adeb7c74b13c9ec258e85');
INSERT INTO audit_records (id, time, actor_id, actor, via, face, token_id, client, address, operation, target, change_id, before_hash, after_hash, outcome, error, correlation_id, mac) VALUES ('01a1e20d-ff36-7601-ab34-7be94a4b0c23','2026-11-16T01:52:10.550381Z','01a1e20d-e5ee-7707-9bde-cfa88a227441','admin','token','rest','01a1e20d-e5ee-78e7-8e7c-d0c80f15a126','python-httpx/0.28.1','127.0.0.1','propose_changes','01a1e20d-ff35-7f45-a9c7-e5e25f864c47','01a1e20d-ff36-7205-8617-652ff9d139d6','','22341a2471bff5930ea09c19034c5718ea82e13bfd5b3780647125ff98b74207','done','','789d8fcaa32b67abe39eacf4abb0368b','3e8411a2292808d7f6c09612039e9367f00067fc198343a3f15282d764558979');
INSERT INTO audit_records (id, time, actor_id, actor, via, face, token_id, client, address, operation, target, change_id, before_hash, after_hash, outcome, error, correlation_id, mac) VALUES ('01a1e20d-ff51-7d9d-82f9-8ef5dc83d8f2','2026-11-16T01:52:10.577858Z','01a1e20d-e5ee-7707-9bde-cfa88a227441','admin','token','rest','01a1e20d-e5ee-78e7-8e7c-d0c80f15a126','python-httpx/0.28.1','127.0.0.1','update_requirement','REQ-001','01a1e20d-ff50-7bcb-a8c7-e145ded7e452','4eceba03606e13b9e7198dc146294f19cef7bae309af1b560c5038b25321a7df','49b6717329fe73ba60cac682e136147df5c349832d2ae9a20167c7b24712ee04','done','','2242cc99032e668d9b8358572fe06870','f98bed48c191ef02ed5aa3c952faa780dd1f8da12558522bbfbb3610842c9b9f');
INSERT INTO audit_records (id, time, actor_id, actor, via, face, token_id, client, address, operation, target, change_id, before_hash, after_hash, outcome, error, correlation_id, mac) VALUES ('01a1e20d-ff6e-7561-85c2-58a97cf843e8','2026-11-16T01:52:10.606343Z','01a1e20d-e5ee-7707-9bde-cfa88a227441','admin','token','rest','01a1e20d-e5ee-78e7-8e7c-d0c80f15a126','python-httpx/0.28.1','127.0.0.1','create_epic','EP-002','01a1e20d-ff6d-7d17-8a7c-dbdc6ce79f95','','9aee16463ab103b932e17a3efcfaa3fa699e18c923071fa42fbe4135591b00d3','done','','58b65d6f0191412d5fa3181c0d8d5c83','a79ba03102e3d9c349793bc56daca1b19ec6c7c0df7c7403f208cc43e611dfcd');
INSERT INTO audit_records (id, time, actor_id, actor, via, face, token_id, client, address, operation, target, change_id, before_hash, after_hash, outcome, error, correlation_id, mac) VALUES ('01a1e20d-ff90-7853-ae20-89bf13a3479d','2026-11-16T01:52:10.640528Z','01a1e20d-e5ee-7707-9bde-cfa88a227441','admin','token','rest','01a1e20d-e5ee-78e7-8e7c-d0c80f15a126','python-httpx/0.28.1','127.0.0.1','delete_epic','EP-002','01a1e20d-ff8f-7f1e-b4b2-2f76bd9003e6','9aee16463ab103b932e17a3efcfaa3fa699e18c923071fa42fbe4135591b00d3','','done','','676c3303556352f38a51a3588ffeaf14','316bfcd03242e46f0e609b68b3bb2200b5e7d58a1d3a4e18cbed389616c69048');
INSERT INTO audit_records (id, time, actor_id, actor, via, face, token_id, client, address, operation, target, change_id, before_hash, after_hash, outcome, error, correlation_id, mac) VALUES ('01a1e20d-ffb8-7652-962b-5506f59b95ca','2026-11-16T01:52:10.680399Z','01a1e20d-e5ee-7707-9bde-cfa88a227441','admin','token','rest','01a1e20d-e5ee-78e7-8e7c-d0c80f15a126','python-httpx/0.28.1','127.0.0.1','create_agent','reviewer','01a1e20d-ffb8-7529-b0a3-f35402e4b2e4','','a2538098b6d263e774c8114b960ef7be1ed3e47ba55e85b1fede4ae46c7fac5f','done','','526f9dd5d38b877fe0dbaa30a74a83b2','75e664e04de21eb7e5e49ed7cb5ca4f2ae6a7d93593b9002d064698b5ce0144b');
INSERT INTO audit_records (id, time, actor_id, actor, via, face, token_id, client, address, operation, target, change_id, before_hash, after_hash, outcome, error, correlation_id, mac) VALUES ('01a1e20e-0033-7d50-9144-4d783d6fdebd','2026-11-16T01:52:10.803837Z','01a1e20d-e5ee-7707-9bde-cfa88a227441','admin','token','rest','01a1e20d-e5ee-78e7-8e7c-d0c80f15a126','python-httpx/0.28.1','127.0.0.1','create_workflow','note@1','01a1e20e-0033-7bd0-b3f9-5b37cde17632','','63158fac132efa8ee477227ad51a2f7c90003d3d46b4c6d7aebd808e5ddd68a7','done','','bbbe0e467fbee2f9cd8b93106df0f62b','91f0d2b54ed213fdee95f22eada72f1ffe1a24636796a3f869cccdd92b8820c9');
INSERT INTO audit_records (id, time, actor_id, actor, via, face, token_id, client, address, operation, target, change_id, before_hash, after_hash, outcome, error, correlation_id, mac) VALUES ('01a1e20e-0052-7006-8bd3-085b51631f32','2026-11-16T01:52:10.834006Z','01a1e20d-e5ee-7707-9bde-cfa88a227441','admin','token','rest','01a1e20d-e5ee-78e7-8e7c-d0c80f15a126','python-httpx/0.28.1','127.0.0.1','create_workflow','nap@1','01a1e20e-0051-7eeb-ab76-88b88bb8b79a','','450889bfd64313aa7704a81a0aca3da836560991c0070b34d59e923917d3a9fd','done','','a5bc13ede0bb6b69f3de63781b4a09e6','460f7ff9d50a2e2dc10fa56e39b8400913589780c32e54b51de5497681f357b5');
INSERT INTO audit_records (id, time, actor_id, actor, via, face, token_id, client, address, operation, target, change_id, before_hash, after_hash, outcome, error, correlation_id, mac) VALUES ('01a1e20e-006b-7165-a223-62d71bb0b519','2026-11-16T01:52:10.859091Z','01a1e20d-e5ee-7707-9bde-cfa88a227441','admin','token','rest','01a1e20d-e5ee-78e7-8e7c-d0c80f15a126','python-httpx/0.28.1','127.0.0.1','create_workflow','decide@1','01a1e20e-006b-7076-9984-59f940f40e1a','','d7ddbe26d56e8b253dbd6f9e64d43bea80292ce577488fed6f08fc95c1169d33','done','','2d5d65758abe5b12ca98bb0f18fd2b2f','41f999ac0fdf47d33161829237376cd880c6b906544ad30dfccdea7d5f6b7000');
INSERT INTO audit_records (id, time, actor_id, actor, via, face, token_id, client, address, operation, target, change_id, before_hash, after_hash, outcome, error, correlation_id, mac) VALUES ('01a1e20e-0088-72ae-8447-0bf9c95f4c15','2026-11-16T01:52:10.888171Z','01a1e20d-e5ee-7707-9bde-cfa88a227441','admin','token','rest','01a1e20d-e5ee-78e7-8e7c-d0c80f15a126','python-httpx/0.28.1','127.0.0.1','run_workflow','01a1e20e-0087-77c9-b247-3fd9ca7474df','01a1e20e-0088-71a4-b468-6fbe507e90cd','','d79a68744a5c47ea62949229e5b9cc2be2f458f41d3ccc2e2e3dfe1d1c6a4d2d','done','','ab224d4da40746c3892eb439a1536ce4','9a86414b3e1b602f103bb122ff392efa6d317e189b0a25305d58857015aa8cfe');
INSERT INTO audit_records (id, time, actor_id, actor, via, face, token_id, client, address, operation, target, change_id, before_hash, after_hash, outcome, error, correlation_id, mac) VALUES ('01a1e20e-00ab-7d51-9e4f-a199f13beccb','2026-11-16T01:52:10.923839Z','01a1e20d-e5ee-7707-9bde-cfa88a227441','admin','token','system','01a1e20d-e5ee-78e7-8e7c-d0c80f15a126','workflow note@1','','create_epic','EP-003','01a1e20e-00ab-745c-a450-10cf48654ffb','','d1448c85e1efa52e33a21caa6d979bab7d3cd12bceace77cde953a7042f0f299','done','','ab224d4da40746c3892eb439a1536ce4','fd0fd499228820591ef9c6fd6158042159c1144492c45246127949677b4daa79');
INSERT INTO audit_records (id, time, actor_id, actor, via, face, token_id, client, address, operation, target, change_id, before_hash, after_hash, outcome, error, correlation_id, mac) VALUES ('01a1e20e-0112-7fa0-9bb0-e44f2f89630f','2026-11-16T01:52:11.026980Z','01a1e20d-e5ee-7707-9bde-cfa88a227441','admin','token','rest','01a1e20d-e5ee-78e7-8e7c-d0c80f15a126','python-httpx/0.28.1','127.0.0.1','run_workflow','01a1e20e-0112-77aa-b746-70bdebdf9503','01a1e20e-0112-7e99-92b7-b95ecadcd960','','58778ae3cb06e7a547c2e38b7f50cad96b5e8149940208cde02980514d24ed46','done','','699afd4a38c78c3268df00d8d57933e7','fbe1aa297f29769737406e3c6e1acd9de19402098c9a1fb8c947d7aa35cba3d8');
INSERT INTO audit_records (id, time, actor_id, actor, via, face, token_id, client, address, operation, target, change_id, before_hash, after_hash, outcome, error, correlation_id, mac) VALUES ('01a1e20e-00a7-7ad8-b2a1-689e4704cbfd','2026-11-16T01:52:10.919686Z','01a1e20d-e5ee-7707-9bde-cfa88a227441','admin','token','rest','01a1e20d-e5ee-78e7-8e7c-d0c80f15a126','python-httpx/0.28.1','127.0.0.1','get_run','','','','','done','','447c7fcb615b0dc122acc9975871523a','baa9158649e583728881dba0d69ee36b56cdd78fb9af46e87164eb1cd934a2ea');
INSERT INTO audit_records (id, time, actor_id, actor, via, face, token_id, client, address, operation, target, change_id, before_hash, after_hash, outcome, error, correlation_id, mac) VALUES ('01a1e20e-0103-7d0e-b080-dfda1e099895','2026-11-16T01:52:11.011828Z','01a1e20d-e5ee-7707-9bde-cfa88a227441','admin','token','rest','01a1e20d-e5ee-78e7-8e7c-d0c80f15a126','python-httpx/0.28.1','127.0.0.1','get_run','','','','','done','','b3e6b5713d1fd36022f080def18b2b31','2e0f2c423c7f06189b1aa99fec0945b6128773999c85cf536b88d224a32d3e50');
INSERT INTO audit_records (id, time, actor_id, actor, via, face, token_id, client, address, operation, target, change_id, before_hash, after_hash, outcome, error, correlation_id, mac) VALUES ('01a1e20e-0139-7c01-b4bb-93c4554520e0','2026-11-16T01:52:11.065755Z','01a1e20d-e5ee-7707-9bde-cfa88a227441','admin','token','rest','01a1e20d-e5ee-78e7-8e7c-d0c80f15a126','python-httpx/0.28.1','127.0.0.1','run_workflow','01a1e20e-0130-7c96-86c9-94a2f58aa835','01a1e20e-0139-7ac5-9ad9-adc56991712c','','2f9cd9870a26b07d4a4f7f79f7856a8c53a0ad050c984db19fb24ce239e75a2f','done','','c5f6f3e3a28aa7f4518c8461c54e8760','a8d670534db30b149950dd208ea59221e559832449cc0a910f025b47e8d1d592');
INSERT INTO audit_records (id, time, actor_id, actor, via, face, token_id, client, address, operation, target, change_id, before_hash, after_hash, outcome, error, correlation_id, mac) VALUES ('01a1e20e-0159-7a20-8a32-24e0db525fd1','2026-11-16T01:52:11.097643Z','01a1e20d-e5ee-7707-9bde-cfa88a227441','admin','token','rest','01a1e20d-e5ee-78e7-8e7c-d0c80f15a126','python-httpx/0.28.1','127.0.0.1','get_run','','','','','done','','2369f895693715811510b2279c78ae66','60abb560d4c27d5254d277e8e72ded75485d148b4350f91761edbf8a3dd31810');
INSERT INTO audit_records (id, time, actor_id, actor, via, face, token_id, client, address, operation, target, change_id, before_hash, after_hash, outcome, error, correlation_id, mac) VALUES ('01a1e20e-0164-770c-9b8c-05b952e6d2f3','2026-11-16T01:52:11.108451Z','01a1e20d-e5ee-7707-9bde-cfa88a227441','admin','token','rest','01a1e20d-e5ee-78e7-8e7c-d0c80f15a126','python-httpx/0.28.1','127.0.0.1','get_run','','','','','done','','43ad63ac23159f1deb25eede97f79228','1d1d2f3601b98c6125844cf9309e4ba3d66628ec973680a272512c190188becd');
INSERT INTO audit_records (id, time, actor_id, actor, via, face, token_id, client, address, operation, target, change_id, before_hash, after_hash, outcome, error, correlation_id, mac) VALUES ('01a1e20e-0c7e-7629-aa6a-9ff9e5e81102','2026-11-16T01:52:13.950390Z','','local','local','cli','','root@vm','','create_user','nina','01a1e20e-0c7e-7451-a977-30d5bf3e1194','','6b4f368b53865c19e44f6875657c841dac340325cf16d7df16d22e155287e1d2','done','','6d94b024790e4b26a7ac1671c9daaa42','4858416d3b9822df1c21e4dca3513bd705cf7b6d534633c761a1ee371a991f38');
INSERT INTO audit_records (id, time, actor_id, actor, via, face, token_id, client, address, operation, target, change_id, before_hash, after_hash, outcome, error, correlation_id, mac) VALUES ('01a1e20e-1ec6-7312-8404-374243a22548','2026-11-16T01:52:18.630197Z','','local','local','cli','','root@vm','','create_token','laptop','01a1e20e-1ec6-7138-87d2-fce11bcb5d5d','','a9aac814662c3d7701356d91e462083e562a315c57a2a75ac26d49531f2355b0','done','','dac82eafc48d4af3bc8bdc94ffcc63e1','50a7513a727a822eca868e20859b5a4c1f63b10cb24dcdff4a930c9bcdc9467b');
INSERT INTO audit_seals (sequence, record_id, previous_hash, hash) VALUES (1,'01a1e20d-e5f0-7694-85fa-2efb30000146','','6271d7a126d2ce3d664701841183aac1721aa2f2c113a6dbbfe92cc09a5e7d71');
INSERT INTO audit_seals (sequence, record_id, previous_hash, hash) VALUES (2,'01a1e20d-fdbd-7862-9900-f7a031f6c11d','6271d7a126d2ce3d664701841183aac1721aa2f2c113a6dbbfe92cc09a5e7d71','d884ca887eb3b4843e7574f71f539573a113cbae06dfce46a529a265f40f9553');
INSERT INTO audit_seals (sequence, record_id, previous_hash, hash) VALUES (3,'01a1e20d-fdf1-74fb-ab12-ca4e8bc4fa89','d884ca887eb3b4843e7574f71f539573a113cbae06dfce46a529a265f40f9553','b61830965e2c5ccbc4a737ed4c817befe43991fbc447854bc5407f79926a0119');
INSERT INTO audit_seals (sequence, record_id, previous_hash, hash) VALUES (4,'01a1e20d-fe16-70ac-8e7f-cd419684cd65','b61830965e2c5ccbc4a737ed4c817befe43991fbc447854bc5407f79926a0119','4a888255920431fbd6c48a339c67810202e75dbb8e7842537bd8898fa3d9db2a');
INSERT INTO audit_seals (sequence, record_id, previous_hash, hash) VALUES (5,'01a1e20d-fe3f-7f07-9955-2b4c669a7dba','4a888255920431fbd6c48a339c67810202e75dbb8e7842537bd8898fa3d9db2a','95c20949dbc23c760ee33afaf2ce9532ae2d78fce1b8529eea28918029e19a16');
INSERT INTO audit_seals (sequence, record_id, previous_hash, hash) VALUES (6,'01a1e20d-fe52-760b-9c05-4a5be056f37a','95c20949dbc23c760ee33afaf2ce9532ae2d78fce1b8529eea28918029e19a16','9722824af4295f51e15696b0aa2dcf3daffee29192a9e26cf283def4c1db0b78');
INSERT INTO audit_seals (sequence, record_id, previous_hash, hash) VALUES (7,'01a1e20d-fe67-7db5-9eff-6eb7121416ab','9722824af4295f51e15696b0aa2dcf3daffee29192a9e26cf283def4c1db0b78','60adde4e1e46647c7a8f272afc0c72713bf4b2a3bb6c2bcb27d60914a08877ba');
INSERT INTO audit_seals (sequence, record_id, previous_hash, hash) VALUES (8,'01a1e20d-fe7d-7aff-8b4a-54648c3daebd','60adde4e1e46647c7a8f272afc0c72713bf4b2a3bb6c2bcb27d60914a08877ba','526f7281b8907918ff317129f800d334eab30373a001b89f3d0c3d75b90b9339');
INSERT INTO audit_seals (sequence, record_id, previous_hash, hash) VALUES (9,'01a1e20d-fe95-7d80-a10f-a8feb0ecfa96','526f7281b8907918ff317129f800d334eab30373a001b89f3d0c3d75b90b9339','78e0aa9c1df40338ae1c6741604c737c7f47760447f5bdc3939f92d951c4905a');
INSERT INTO audit_seals (sequence, record_id, previous_hash, hash) VALUES (10,'01a1e20d-feaa-758b-9640-16e25abb6997','78e0aa9c1df40338ae1c6741604c737c7f47760447f5bdc3939f92d951c4905a','66754e4ecc3d2cbcadca1f9a77ae54b6c578269d44d4db03202e96791087e5f7');
INSERT INTO audit_seals (sequence, record_id, previous_hash, hash) VALUES (11,'01a1e20d-febe-7911-89e5-bf96c670c4fd','66754e4ecc3d2cbcadca1f9a77ae54b6c578269d44d4db03202e96791087e5f7','47707bf067f075e8e36155d19ddc0988ff65f1da177fd606e0777421f70528f0');
INSERT INTO audit_seals (sequence, record_id, previous_hash, hash) VALUES (12,'01a1e20d-ff02-70a9-8cab-1ed9b892a45b','47707bf067f075e8e36155d19ddc0988ff65f1da177fd606e0777421f70528f0','93a21584f22cab49f39b38b49d1e52716322b4be65b67fe202046ac019358b39');
INSERT INTO audit_seals (sequence, record_id, previous_hash, hash) VALUES (13,'01a1e20d-ff1d-729d-b6c5-a7a7f51ae8e5','93a21584f22cab49f39b38b49d1e52716322b4be65b67fe202046ac019358b39','1948efe2c879e503f5e742a490f6095738d70681759c5252be0d3662b50ce330');
INSERT INTO audit_seals (sequence, record_id, previous_hash, hash) VALUES (14,'01a1e20d-ff36-7601-ab34-7be94a4b0c23','1948efe2c879e503f5e742a490f6095738d70681759c5252be0d3662b50ce330','352a16445d15a98a3dd32d8469e011b5054f4a4ecac99a4eb790c438a847ccbb');
INSERT INTO audit_seals (sequence, record_id, previous_hash, hash) VALUES (15,'01a1e20d-ff51-7d9d-82f9-8ef5dc83d8f2','352a16445d15a98a3dd32d8469e011b5054f4a4ecac99a4eb790c438a847ccbb','e038451a6c7692eb01a7275bf647ff7d1b5a76acb8e9d042bf7064bceaf8dd36');
INSERT INTO audit_seals (sequence, record_id, previous_hash, hash) VALUES (16,'01a1e20d-ff6e-7561-85c2-58a97cf843e8','e038451a6c7692eb01a7275bf647ff7d1b5a76acb8e9d042bf7064bceaf8dd36','32ddb8c455ec09bfb7f0aaa925b3aeb944e73995c635158d51db009fdff78efa');
INSERT INTO audit_seals (sequence, record_id, previous_hash, hash) VALUES (17,'01a1e20d-ff90-7853-ae20-89bf13a3479d','32ddb8c455ec09bfb7f0aaa925b3aeb944e73995c635158d51db009fdff78efa','1c68ad22244169d727b156bde1c5b3e59a8ec5f3ec2156218c167beaa02b8ff9');
INSERT INTO audit_seals (sequence, record_id, previous_hash, hash) VALUES (18,'01a1e20d-ffb8-7652-962b-5506f59b95ca','1c68ad22244169d727b156bde1c5b3e59a8ec5f3ec2156218c167beaa02b8ff9','613d91678136bf0aa0c37f621a1aad56745ed702fc3f405e9cee0cd4b1c162e3');
INSERT INTO audit_seals (sequence, record_id, previous_hash, hash) VALUES (19,'01a1e20e-0033-7d50-9144-4d783d6fdebd','613d91678136bf0aa0c37f621a1aad56745ed702fc3f405e9cee0cd4b1c162e3','304bfa6de34e9d22795ee5a4acec4242ee27d47eb684f741abc47fa4eab64f57');
INSERT INTO audit_seals (sequence, record_id, previous_hash, hash) VALUES (20,'01a1e20e-0052-7006-8bd3-085b51631f32','304bfa6de34e9d22795ee5a4acec4242ee27d47eb684f741abc47fa4eab64f57','b27341e76900f32c2d174b9758b71e6b0a299be464055897713fff2f2da2f85b');
INSERT INTO audit_seals (sequence, record_id, previous_hash, hash) VALUES (21,'01a1e20e-006b-7165-a223-62d71bb0b519','b27341e76900f32c2d174b9758b71e6b0a299be464055897713fff2f2da2f85b','527d50159391a51f8cc04de741a8b22d23bf5a5a018fad1803f0381a5be5002e');
INSERT INTO audit_seals (sequence, record_id, previous_hash, hash) VALUES (22,'01a1e20e-0088-72ae-8447-0bf9c95f4c15','527d50159391a51f8cc04de741a8b22d23bf5a5a018fad1803f0381a5be5002e','e116ed8e118909e2cec2ea2ded9b9cb54dd1e5dc17fbabf3860c8aef347c34b6');
INSERT INTO audit_seals (sequence, record_id, previous_hash, hash) VALUES (23,'01a1e20e-00a7-7ad8-b2a1-689e4704cbfd','e116ed8e118909e2cec2ea2ded9b9cb54dd1e5dc17fbabf3860c8aef347c34b6','82a587b4c2a79429e3c15222b2f145089f382cae632ec32826cca83af247e6e1');
INSERT INTO audit_seals (sequence, record_id, previous_hash, hash) VALUES (24,'01a1e20e-00ab-7d51-9e4f-a199f13beccb','82a587b4c2a79429e3c15222b2f145089f382cae632ec32826cca83af247e6e1','69dedb77fad3744004f0ccda639d4782b6d7d6f0a285cd2e1cddc65da1d0d20d');
INSERT INTO audit_seals (sequence, record_id, previous_hash, hash) VALUES (25,'01a1e20e-0103-7d0e-b080-dfda1e099895','69dedb77fad3744004f0ccda639d4782b6d7d6f0a285cd2e1cddc65da1d0d20d','bb736a28bc81321d8a8b8b0f08c061ff951fc86fbaa349c3e898fae72f4500a0');
INSERT INTO audit_seals (sequence, record_id, previous_hash, hash) VALUES (26,'01a1e20e-0112-7fa0-9bb0-e44f2f89630f','bb736a28bc81321d8a8b8b0f08c061ff951fc86fbaa349c3e898fae72f4500a0','ec7e8d6375d864cba9f965e1a35da2418efe4058675fc40d4e8b36ca7cd01e05');
INSERT INTO audit_seals (sequence, record_id, previous_hash, hash) VALUES (27,'01a1e20e-0139-7c01-b4bb-93c4554520e0','ec7e8d6375d864cba9f965e1a35da2418efe4058675fc40d4e8b36ca7cd01e05','7ea43c03269027347c1e859cc8a5b4b391c649dcdf2acf3d27bd397c1d60cdb2');
INSERT INTO audit_seals (sequence, record_id, previous_hash, hash) VALUES (28,'01a1e20e-0159-7a20-8a32-24e0db525fd1','7ea43c03269027347c1e859cc8a5b4b391c649dcdf2acf3d27bd397c1d60cdb2','70a8feb521a53b13217125f03b85aaa07fddd6109ea4c6139bd5082c3b5b04d5');
INSERT INTO audit_seals (sequence, record_id, previous_hash, hash) VALUES (29,'01a1e20e-0164-770c-9b8c-05b952e6d2f3','70a8feb521a53b13217125f03b85aaa07fddd6109ea4c6139bd5082c3b5b04d5','98651642396f36623488a6ae9593027b556be8671be91102271d00fe6e3a1f34');
INSERT INTO audit_seals (sequence, record_id, previous_hash, hash) VALUES (30,'01a1e20e-0c7e-7629-aa6a-9ff9e5e81102','98651642396f36623488a6ae9593027b556be8671be91102271d00fe6e3a1f34','395e0f02a4355e8265e01e17c1e0a9b2717f60ce68c085760ae5eb849231ad1f');
INSERT INTO audit_seals (sequence, record_id, previous_hash, hash) VALUES (31,'01a1e20e-1ec6-7312-8404-374243a22548','395e0f02a4355e8265e01e17c1e0a9b2717f60ce68c085760ae5eb849231ad1f','e622e245cede2096ecb3efbf75c12bdd8e14e115008eca3f4093963403d8903e');
INSERT INTO counters (kind, last) VALUES ('epic',3);
INSERT INTO counters (kind, last) VALUES ('user_story',1);
INSERT INTO counters (kind, last) VALUES ('acceptance_criteria',1);
INSERT INTO counters (kind, last) VALUES ('requirement',2);
INSERT INTO counters (kind, last) VALUES ('steering_document',1);
INSERT INTO counters (kind, last) VALUES ('prompt',0);
INSERT INTO requirement_types (name, name_key, description, created_at) VALUES ('Functional','functional','','2026-01-01T00:00:00.000000Z');
INSERT INTO requirement_types (name, name_key, description, created_at) VALUES ('Non-Functional','non-functional','','2026-01-01T00:00:00.000000Z');
INSERT INTO requirement_types (name, name_key, description, created_at) VALUES ('Business Rule','business rule','','2026-01-01T00:00:00.000000Z');
INSERT INTO requirement_types (name, name_key, description, created_at) VALUES ('Interface','interface','','2026-01-01T00:00:00.000000Z');
INSERT INTO requirement_types (name, name_key, description, created_at) VALUES ('Data','data','','2026-01-01T00:00:00.000000Z');
INSERT INTO items (id, kind, number, reference_id, parent_id, criteria_id, position, title, description, status, priority, type, creator_id, assignee_id, name, content, role, active, version, said_version, created_at, updated_at) VALUES ('01a1e20d-fdb3-7baa-af22-b3414d47958f','epic',1,'EP-001',NULL,NULL,1.0,'The till takes money','Customers pay at the **till**: cash, card, voucher.','Backlog',3,NULL,'01a1e20d-e5ee-7707-9bde-cfa88a227441','01a1e20d-e5ee-7707-9bde-cfa88a227441',NULL,'','',0,1,1,'2026-11-16T01:52:10.163492Z','2026-11-16T01:52:10.163492Z');
INSERT INTO items (id, kind, number, reference_id, parent_id, criteria_id, position, title, description, status, priority, type, creator_id, assignee_id, name, content, role, active, version, said_version, created_at, updated_at) VALUES ('01a1e20d-fde9-78f7-b694-48d500d807b7','user_story',1,'US-001','01a1e20d-fdb3-7baa-af22-b3414d47958f',NULL,1.0,'Pay by card','As a customer I want to pay by card so that I need no cash.','Backlog',3,NULL,'01a1e20d-e5ee-7707-9bde-cfa88a227441','01a1e20d-e5ee-7707-9bde-cfa88a227441',NULL,'','',0,1,1,'2026-11-16T01:52:10.217223Z','2026-11-16T01:52:10.217223Z');
INSERT INTO items (id, kind, number, reference_id, parent_id, criteria_id, position, title, description, status, priority, type, creator_id, assignee_id, name, content, role, active, version, said_version, created_at, updated_at) VALUES ('01a1e20d-fe15-7153-8d66-2fb7b646db92','acceptance_criteria',1,'AC-001','01a1e20d-fde9-78f7-b694-48d500d807b7',NULL,1.0,'','WHEN a card is declined THE till SHALL say so within two seconds.','',0,NULL,'01a1e20d-e5ee-7707-9bde-cfa88a227441',NULL,NULL,'','',0,1,1,'2026-11-16T01:52:10.260955Z','2026-11-16T01:52:10.260955Z');
INSERT INTO items (id, kind, number, reference_id, parent_id, criteria_id, position, title, description, status, priority, type, creator_id, assignee_id, name, content, role, active, version, said_version, created_at, updated_at) VALUES ('01a1e20d-fe3f-7210-9f65-03a182c2cd97','requirement',1,'REQ-001','01a1e20d-fde9-78f7-b694-48d500d807b7',NULL,1.0,'Charge the card exactly once','The till shall charge the card once.','Draft',3,'Functional','01a1e20d-e5ee-7707-9bde-cfa88a227441','01a1e20d-e5ee-7707-9bde-cfa88a227441',NULL,'','',0,2,2,'2026-11-16T01:52:10.303011Z','2026-11-16T01:52:10.576423Z');
INSERT INTO items (id, kind, number, reference_id, parent_id, criteria_id, position, title, description, status, priority, type, creator_id, assignee_id, name, content, role, active, version, said_version, created_at, updated_at) VALUES ('01a1e20d-fe50-76d3-8411-d11bded26811','requirement',2,'REQ-002','01a1e20d-fde9-78f7-b694-48d500d807b7',NULL,2.0,'Refund a Überweisung','The till shall refund what was charged – naïvely put: give it back.','Draft',3,'Functional','01a1e20d-e5ee-7707-9bde-cfa88a227441','01a1e20d-e5ee-7707-9bde-cfa88a227441',NULL,'','',0,1,1,'2026-11-16T01:52:10.320304Z','2026-11-16T01:52:10.320304Z');
INSERT INTO items (id, kind, number, reference_id, parent_id, criteria_id, position, title, description, status, priority, type, creator_id, assignee_id, name, content, role, active, version, said_version, created_at, updated_at) VALUES ('01a1e20d-febd-7bf2-9228-a3e591770f4a','steering_document',1,'STD-001',NULL,NULL,1.0,'Security','No card numbers in logs.','',0,NULL,'01a1e20d-e5ee-7707-9bde-cfa88a227441',NULL,NULL,'','',0,1,1,'2026-11-16T01:52:10.429673Z','2026-11-16T01:52:10.429673Z');
INSERT INTO items (id, kind, number, reference_id, parent_id, criteria_id, position, title, description, status, priority, type, creator_id, assignee_id, name, content, role, active, version, said_version, created_at, updated_at) VALUES ('01a1e20e-00ab-7236-b2bc-a7b668880bfd','epic',3,'EP-003',NULL,NULL,2.0,'Written by a run','','Backlog',3,NULL,'01a1e20d-e5ee-7707-9bde-cfa88a227441','01a1e20d-e5ee-7707-9bde-cfa88a227441',NULL,'','',0,1,1,'2026-11-16T01:52:10.922960Z','2026-11-16T01:52:10.922960Z');
INSERT INTO relationship_types (name, inverse, is_symmetric, is_acyclic) VALUES ('depends_on','is_depended_on_by',0,1);
INSERT INTO relationship_types (name, inverse, is_symmetric, is_acyclic) VALUES ('blocks','is_blocked_by',0,1);
INSERT INTO relationship_types (name, inverse, is_symmetric, is_acyclic) VALUES ('relates_to','relates_to',1,0);
INSERT INTO relationship_types (name, inverse, is_symmetric, is_acyclic) VALUES ('conflicts_with','conflicts_with',1,0);
INSERT INTO relationship_types (name, inverse, is_symmetric, is_acyclic) VALUES ('derives_from','is_source_of',0,1);
INSERT INTO relationship_types (name, inverse, is_symmetric, is_acyclic) VALUES ('refines','is_refined_by',0,1);
INSERT INTO relationship_types (name, inverse, is_symmetric, is_acyclic) VALUES ('verifies','is_verified_by',0,0);
INSERT INTO relationship_types (name, inverse, is_symmetric, is_acyclic) VALUES ('satisfies','is_satisfied_by',0,0);
INSERT INTO relationship_types (name, inverse, is_symmetric, is_acyclic) VALUES ('duplicates','is_duplicated_by',0,0);
INSERT INTO relationships (id, source_id, target_id, type, creator_id, created_at, source_version, target_version, confirmed_by, confirmed_at, confirmed_reason) VALUES ('01a1e20d-fe67-7766-b564-169118a85749','01a1e20d-fe3f-7210-9f65-03a182c2cd97','01a1e20d-fe50-76d3-8411-d11bded26811','blocks','01a1e20d-e5ee-7707-9bde-cfa88a227441','2026-11-16T01:52:10.343114Z',1,1,NULL,NULL,'');
INSERT INTO comments (id, target_id, reply_to, author_id, text, quote, quote_position, resolved, resolved_by, version, created_at, updated_at) VALUES ('01a1e20d-fea7-71a6-b1bc-cc58e0856ae7','01a1e20d-fe3f-7210-9f65-03a182c2cd97',NULL,'01a1e20d-e5ee-7707-9bde-cfa88a227441','What about vouchers?','',NULL,0,NULL,1,'2026-11-16T01:52:10.407040Z','2026-11-16T01:52:10.407040Z');
INSERT INTO labels (id, name, name_key, colour, created_at) VALUES ('01a1e20d-fe7d-7708-911b-ecf35ada6b96','payments','payments','#6b7280','2026-11-16T01:52:10.365321Z');
INSERT INTO item_labels (item_id, label_id) VALUES ('01a1e20d-fe3f-7210-9f65-03a182c2cd97','01a1e20d-fe7d-7708-911b-ecf35ada6b96');
INSERT INTO saved_views (id, owner_id, name, filter, sort, shared, created_at, updated_at) VALUES ('01a1e20d-fefb-7a9e-bcec-02a935d16718','01a1e20d-e5ee-7707-9bde-cfa88a227441','Mine','{}','',0,'2026-11-16T01:52:10.491453Z','2026-11-16T01:52:10.491453Z');
INSERT INTO proposals (id, author_id, reason, steps, preview, state, decided_by, decided_at, decision_reason, created_at) VALUES ('01a1e20d-ff35-7f45-a9c7-e5e25f864c47','01a1e20d-e5ee-7707-9bde-cfa88a227441','Customers ask for it.','[{"operation":"create_epic","arguments":{"title":"Self checkout"}}]','[{"action":"created","kind":"epic","id":"","reference_id":"EP-002","version":0,"differences":[{"field":"title","after":"Self checkout"},{"field":"status","after":"Backlog"},{"field":"priority","after":3},{"field":"creator","before":null,"after":"admin"},{"field":"assignee","before":null,"after":"admin"}]}]','open',NULL,NULL,'','2026-11-16T01:52:10.549463Z');
INSERT INTO changes (id, sequence, time, actor_id, actor, operation, face, client, token_id, reason, undoes, proposal_id) VALUES ('01a1e20d-fdb4-7040-95f0-d8ccdc0677b7',1,'2026-11-16T01:52:10.163492Z','01a1e20d-e5ee-7707-9bde-cfa88a227441','admin','create_epic','rest','python-httpx/0.28.1','01a1e20d-e5ee-78e7-8e7c-d0c80f15a126','',NULL,NULL);
INSERT INTO changes (id, sequence, time, actor_id, actor, operation, face, client, token_id, reason, undoes, proposal_id) VALUES ('01a1e20d-fde9-7c7b-9d5f-21bd86c0db15',2,'2026-11-16T01:52:10.217223Z','01a1e20d-e5ee-7707-9bde-cfa88a227441','admin','create_user_story','rest','python-httpx/0.28.1','01a1e20d-e5ee-78e7-8e7c-d0c80f15a126','',NULL,NULL);
INSERT INTO changes (id, sequence, time, actor_id, actor, operation, face, client, token_id, reason, undoes, proposal_id) VALUES ('01a1e20d-fe15-7505-8774-3edb5978e682',3,'2026-11-16T01:52:10.260955Z','01a1e20d-e5ee-7707-9bde-cfa88a227441','admin','create_acceptance_criteria','rest','python-httpx/0.28.1','01a1e20d-e5ee-78e7-8e7c-d0c80f15a126','',NULL,NULL);
INSERT INTO changes (id, sequence, time, actor_id, actor, operation, face, client, token_id, reason, undoes, proposal_id) VALUES ('01a1e20d-fe3f-74fb-97b0-c1774617ebad',4,'2026-11-16T01:52:10.303011Z','01a1e20d-e5ee-7707-9bde-cfa88a227441','admin','create_requirement','rest','python-httpx/0.28.1','01a1e20d-e5ee-78e7-8e7c-d0c80f15a126','',NULL,NULL);
INSERT INTO changes (id, sequence, time, actor_id, actor, operation, face, client, token_id, reason, undoes, proposal_id) VALUES ('01a1e20d-fe50-78a8-9c22-30fab8471c68',5,'2026-11-16T01:52:10.320304Z','01a1e20d-e5ee-7707-9bde-cfa88a227441','admin','create_requirement','rest','python-httpx/0.28.1','01a1e20d-e5ee-78e7-8e7c-d0c80f15a126','',NULL,NULL);
INSERT INTO changes (id, sequence, time, actor_id, actor, operation, face, client, token_id, reason, undoes, proposal_id) VALUES ('01a1e20d-fe67-7b00-97ef-f3f71e2ad30e',6,'2026-11-16T01:52:10.343114Z','01a1e20d-e5ee-7707-9bde-cfa88a227441','admin','create_relationship','rest','python-httpx/0.28.1','01a1e20d-e5ee-78e7-8e7c-d0c80f15a126','',NULL,NULL);
INSERT INTO changes (id, sequence, time, actor_id, actor, operation, face, client, token_id, reason, undoes, proposal_id) VALUES ('01a1e20d-fe7d-781a-84bb-5538dbdbf1ce',7,'2026-11-16T01:52:10.365321Z','01a1e20d-e5ee-7707-9bde-cfa88a227441','admin','create_label','rest','python-httpx/0.28.1','01a1e20d-e5ee-78e7-8e7c-d0c80f15a126','',NULL,NULL);
INSERT INTO changes (id, sequence, time, actor_id, actor, operation, face, client, token_id, reason, undoes, proposal_id) VALUES ('01a1e20d-fe95-73ee-92aa-2ce0b8e823ef',8,'2026-11-16T01:52:10.388951Z','01a1e20d-e5ee-7707-9bde-cfa88a227441','admin','label_item','rest','python-httpx/0.28.1','01a1e20d-e5ee-78e7-8e7c-d0c80f15a126','',NULL,NULL);
INSERT INTO changes (id, sequence, time, actor_id, actor, operation, face, client, token_id, reason, undoes, proposal_id) VALUES ('01a1e20d-fea7-7482-9520-fdcd5bf2dd4c',9,'2026-11-16T01:52:10.407040Z','01a1e20d-e5ee-7707-9bde-cfa88a227441','admin','add_comment','rest','python-httpx/0.28.1','01a1e20d-e5ee-78e7-8e7c-d0c80f15a126','',NULL,NULL);
INSERT INTO changes (id, sequence, time, actor_id, actor, operation, face, client, token_id, reason, undoes, proposal_id) VALUES ('01a1e20d-febe-7019-9f1f-1f424f94dfd9',10,'2026-11-16T01:52:10.429673Z','01a1e20d-e5ee-7707-9bde-cfa88a227441','admin','create_steering_document','rest','python-httpx/0.28.1','01a1e20d-e5ee-78e7-8e7c-d0c80f15a126','',NULL,NULL);
INSERT INTO changes (id, sequence, time, actor_id, actor, operation, face, client, token_id, reason, undoes, proposal_id) VALUES ('01a1e20d-fefb-7d2c-9b6f-12e378f84385',11,'2026-11-16T01:52:10.491453Z','01a1e20d-e5ee-7707-9bde-cfa88a227441','admin','create_view','rest','python-httpx/0.28.1','01a1e20d-e5ee-78e7-8e7c-d0c80f15a126','',NULL,NULL);
INSERT INTO changes (id, sequence, time, actor_id, actor, operation, face, client, token_id, reason, undoes, proposal_id) VALUES ('01a1e20d-ff1c-7ee5-b913-65d204d7fd7d',12,'2026-11-16T01:52:10.524252Z','01a1e20d-e5ee-7707-9bde-cfa88a227441','admin','create_baseline','rest','python-httpx/0.28.1','01a1e20d-e5ee-78e7-8e7c-d0c80f15a126','',NULL,NULL);
INSERT INTO changes (id, sequence, time, actor_id, actor, operation, face, client, token_id, reason, undoes, proposal_id) VALUES ('01a1e20d-ff36-7205-8617-652ff9d139d6',13,'2026-11-16T01:52:10.549463Z','01a1e20d-e5ee-7707-9bde-cfa88a227441','admin','propose_changes','rest','python-httpx/0.28.1','01a1e20d-e5ee-78e7-8e7c-d0c80f15a126','',NULL,NULL);
INSERT INTO changes (id, sequence, time, actor_id, actor, operation, face, client, token_id, reason, undoes, proposal_id) VALUES ('01a1e20d-ff50-7bcb-a8c7-e145ded7e452',14,'2026-11-16T01:52:10.576423Z','01a1e20d-e5ee-7707-9bde-cfa88a227441','admin','update_requirement','rest','python-httpx/0.28.1','01a1e20d-e5ee-78e7-8e7c-d0c80f15a126','',NULL,NULL);
INSERT INTO changes (id, sequence, time, actor_id, actor, operation, face, client, token_id, reason, undoes, proposal_id) VALUES ('01a1e20d-ff6d-7d17-8a7c-dbdc6ce79f95',15,'2026-11-16T01:52:10.605566Z','01a1e20d-e5ee-7707-9bde-cfa88a227441','admin','create_epic','rest','python-httpx/0.28.1','01a1e20d-e5ee-78e7-8e7c-d0c80f15a126','',NULL,NULL);
INSERT INTO changes (id, sequence, time, actor_id, actor, operation, face, client, token_id, reason, undoes, proposal_id) VALUES ('01a1e20d-ff8f-7f1e-b4b2-2f76bd9003e6',16,'2026-11-16T01:52:10.639344Z','01a1e20d-e5ee-7707-9bde-cfa88a227441','admin','delete_epic','rest','python-httpx/0.28.1','01a1e20d-e5ee-78e7-8e7c-d0c80f15a126','',NULL,NULL);
INSERT INTO changes (id, sequence, time, actor_id, actor, operation, face, client, token_id, reason, undoes, proposal_id) VALUES ('01a1e20e-00ab-745c-a450-10cf48654ffb',17,'2026-11-16T01:52:10.922960Z','01a1e20d-e5ee-7707-9bde-cfa88a227441','admin','create_epic','system','workflow note@1','01a1e20d-e5ee-78e7-8e7c-d0c80f15a126','',NULL,NULL);
INSERT INTO revisions (change_id, place, entity_id, kind, reference_id, version, action, before, after) VALUES ('01a1e20d-fdb4-7040-95f0-d8ccdc0677b7',0,'01a1e20d-fdb3-7baa-af22-b3414d47958f','epic','EP-001',1,'created',NULL,'{"id":"01a1e20d-fdb3-7baa-af22-b3414d47958f","kind":"epic","number":1,"reference_id":"EP-001","position":1.0,"title":"The till takes money","description":"Customers pay at the **till**: cash, card, voucher.","status":"Backlog","priority":3,"creator_id":"01a1e20d-e5ee-7707-9bde-cfa88a227441","assignee_id":"01a1e20d-e5ee-7707-9bde-cfa88a227441","version":1,"said_version":1,"created_at":"2026-11-16T01:52:10.163492Z","updated_at":"2026-11-16T01:52:10.163492Z"}');
INSERT INTO revisions (change_id, place, entity_id, kind, reference_id, version, action, before, after) VALUES ('01a1e20d-fde9-7c7b-9d5f-21bd86c0db15',0,'01a1e20d-fde9-78f7-b694-48d500d807b7','user_story','US-001',1,'created',NULL,'{"id":"01a1e20d-fde9-78f7-b694-48d500d807b7","kind":"user_story","number":1,"reference_id":"US-001","position":1.0,"parent_id":"01a1e20d-fdb3-7baa-af22-b3414d47958f","title":"Pay by card","description":"As a customer I want to pay by card so that I need no cash.","status":"Backlog","priority":3,"creator_id":"01a1e20d-e5ee-7707-9bde-cfa88a227441","assignee_id":"01a1e20d-e5ee-7707-9bde-cfa88a227441","version":1,"said_version":1,"created_at":"2026-11-16T01:52:10.217223Z","updated_at":"2026-11-16T01:52:10.217223Z"}');
INSERT INTO revisions (change_id, place, entity_id, kind, reference_id, version, action, before, after) VALUES ('01a1e20d-fe15-7505-8774-3edb5978e682',0,'01a1e20d-fe15-7153-8d66-2fb7b646db92','acceptance_criteria','AC-001',1,'created',NULL,'{"id":"01a1e20d-fe15-7153-8d66-2fb7b646db92","kind":"acceptance_criteria","number":1,"reference_id":"AC-001","position":1.0,"parent_id":"01a1e20d-fde9-78f7-b694-48d500d807b7","description":"WHEN a card is declined THE till SHALL say so within two seconds.","creator_id":"01a1e20d-e5ee-7707-9bde-cfa88a227441","version":1,"said_version":1,"created_at":"2026-11-16T01:52:10.260955Z","updated_at":"2026-11-16T01:52:10.260955Z"}');
INSERT INTO revisions (change_id, place, entity_id, kind, reference_id, version, action, before, after) VALUES ('01a1e20d-fe3f-74fb-97b0-c1774617ebad',0,'01a1e20d-fe3f-7210-9f65-03a182c2cd97','requirement','REQ-001',1,'created',NULL,'{"id":"01a1e20d-fe3f-7210-9f65-03a182c2cd97","kind":"requirement","number":1,"reference_id":"REQ-001","position":1.0,"parent_id":"01a1e20d-fde9-78f7-b694-48d500d807b7","criteria_id":null,"type":"Functional","title":"Charge the card","description":"The till shall charge the card once.","status":"Draft","priority":3,"creator_id":"01a1e20d-e5ee-7707-9bde-cfa88a227441","assignee_id":"01a1e20d-e5ee-7707-9bde-cfa88a227441","version":1,"said_version":1,"created_at":"2026-11-16T01:52:10.303011Z","updated_at":"2026-11-16T01:52:10.303011Z"}');
INSERT INTO revisions (change_id, place, entity_id, kind, reference_id, version, action, before, after) VALUES ('01a1e20d-fe50-78a8-9c22-30fab8471c68',0,'01a1e20d-fe50-76d3-8411-d11bded26811','requirement','REQ-002',1,'created',NULL,'{"id":"01a1e20d-fe50-76d3-8411-d11bded26811","kind":"requirement","number":2,"reference_id":"REQ-002","position":2.0,"parent_id":"01a1e20d-fde9-78f7-b694-48d500d807b7","criteria_id":null,"type":"Functional","title":"Refund a Überweisung","description":"The till shall refund what was charged – naïvely put: give it back.","status":"Draft","priority":3,"creator_id":"01a1e20d-e5ee-7707-9bde-cfa88a227441","assignee_id":"01a1e20d-e5ee-7707-9bde-cfa88a227441","version":1,"said_version":1,"created_at":"2026-11-16T01:52:10.320304Z","updated_at":"2026-11-16T01:52:10.320304Z"}');
INSERT INTO revisions (change_id, place, entity_id, kind, reference_id, version, action, before, after) VALUES ('01a1e20d-fe67-7b00-97ef-f3f71e2ad30e',0,'01a1e20d-fe67-7766-b564-169118a85749','relationship','REQ-001 blocks REQ-002',0,'created',NULL,'{"id":"01a1e20d-fe67-7766-b564-169118a85749","source_id":"01a1e20d-fe3f-7210-9f65-03a182c2cd97","target_id":"01a1e20d-fe50-76d3-8411-d11bded26811","type":"blocks","creator_id":"01a1e20d-e5ee-7707-9bde-cfa88a227441","created_at":"2026-11-16T01:52:10.343114Z","source_version":1,"target_version":1,"confirmed_by":null,"confirmed_at":null,"confirmed_reason":""}');
INSERT INTO revisions (change_id, place, entity_id, kind, reference_id, version, action, before, after) VALUES ('01a1e20d-fe7d-781a-84bb-5538dbdbf1ce',0,'01a1e20d-fe7d-7708-911b-ecf35ada6b96','label','payments',0,'created',NULL,'{"id":"01a1e20d-fe7d-7708-911b-ecf35ada6b96","name":"payments","name_key":"payments","colour":"#6b7280","created_at":"2026-11-16T01:52:10.365321Z"}');
INSERT INTO revisions (change_id, place, entity_id, kind, reference_id, version, action, before, after) VALUES ('01a1e20d-fe95-73ee-92aa-2ce0b8e823ef',0,'01a1e20d-fe3f-7210-9f65-03a182c2cd97:01a1e20d-fe7d-7708-911b-ecf35ada6b96','item_label','REQ-001 payments',0,'created',NULL,'{"item_id":"01a1e20d-fe3f-7210-9f65-03a182c2cd97","label_id":"01a1e20d-fe7d-7708-911b-ecf35ada6b96"}');
INSERT INTO revisions (change_id, place, entity_id, kind, reference_id, version, action, before, after) VALUES ('01a1e20d-fea7-7482-9520-fdcd5bf2dd4c',0,'01a1e20d-fea7-71a6-b1bc-cc58e0856ae7','comment','REQ-001',1,'created',NULL,'{"id":"01a1e20d-fea7-71a6-b1bc-cc58e0856ae7","target_id":"01a1e20d-fe3f-7210-9f65-03a182c2cd97","reply_to":null,"author_id":"01a1e20d-e5ee-7707-9bde-cfa88a227441","text":"What about vouchers?","quote":"","quote_position":null,"resolved":0,"resolved_by":null,"version":1,"created_at":"2026-11-16T01:52:10.407040Z","updated_at":"2026-11-16T01:52:10.407040Z"}');
INSERT INTO revisions (change_id, place, entity_id, kind, reference_id, version, action, before, after) VALUES ('01a1e20d-febe-7019-9f1f-1f424f94dfd9',0,'01a1e20d-febd-7bf2-9228-a3e591770f4a','steering_document','STD-001',1,'created',NULL,'{"id":"01a1e20d-febd-7bf2-9228-a3e591770f4a","kind":"steering_document","number":1,"reference_id":"STD-001","position":1.0,"title":"Security","description":"No card numbers in logs.","creator_id":"01a1e20d-e5ee-7707-9bde-cfa88a227441","version":1,"said_version":1,"created_at":"2026-11-16T01:52:10.429673Z","updated_at":"2026-11-16T01:52:10.429673Z"}');
INSERT INTO revisions (change_id, place, entity_id, kind, reference_id, version, action, before, after) VALUES ('01a1e20d-fefb-7d2c-9b6f-12e378f84385',0,'01a1e20d-fefb-7a9e-bcec-02a935d16718','saved_view','Mine',0,'created',NULL,'{"id":"01a1e20d-fefb-7a9e-bcec-02a935d16718","owner_id":"01a1e20d-e5ee-7707-9bde-cfa88a227441","name":"Mine","filter":"{}","sort":"","shared":0,"created_at":"2026-11-16T01:52:10.491453Z","updated_at":"2026-11-16T01:52:10.491453Z"}');
INSERT INTO revisions (change_id, place, entity_id, kind, reference_id, version, action, before, after) VALUES ('01a1e20d-ff1c-7ee5-b913-65d204d7fd7d',0,'01a1e20d-ff1c-769f-9dee-f8de3ee21557','baseline','First review',0,'created',NULL,'{"id":"01a1e20d-ff1c-769f-9dee-f8de3ee21557","name":"First review","name_key":"first review","description":"","author_id":"01a1e20d-e5ee-7707-9bde-cfa88a227441","epic_id":null,"created_at":"2026-11-16T01:52:10.524252Z"}');
INSERT INTO revisions (change_id, place, entity_id, kind, reference_id, version, action, before, after) VALUES ('01a1e20d-ff36-7205-8617-652ff9d139d6',0,'01a1e20d-ff35-7f45-a9c7-e5e25f864c47','proposal','',0,'created',NULL,'{"id":"01a1e20d-ff35-7f45-a9c7-e5e25f864c47","author_id":"01a1e20d-e5ee-7707-9bde-cfa88a227441","reason":"Customers ask for it.","state":"open","decided_by":null,"decided_at":null,"decision_reason":"","created_at":"2026-11-16T01:52:10.549463Z"}');
INSERT INTO revisions (change_id, place, entity_id, kind, reference_id, version, action, before, after) VALUES ('01a1e20d-ff50-7bcb-a8c7-e145ded7e452',0,'01a1e20d-fe3f-7210-9f65-03a182c2cd97','requirement','REQ-001',2,'updated','{"title":"Charge the card","version":1,"said_version":1,"updated_at":"2026-11-16T01:52:10.303011Z"}','{"title":"Charge the card exactly once","version":2,"said_version":2,"updated_at":"2026-11-16T01:52:10.576423Z"}');
INSERT INTO revisions (change_id, place, entity_id, kind, reference_id, version, action, before, after) VALUES ('01a1e20d-ff6d-7d17-8a7c-dbdc6ce79f95',0,'01a1e20d-ff6d-7ae9-812d-2f9b995b493b','epic','EP-002',1,'created',NULL,'{"id":"01a1e20d-ff6d-7ae9-812d-2f9b995b493b","kind":"epic","number":2,"reference_id":"EP-002","position":2.0,"title":"A mistake","description":"","status":"Backlog","priority":3,"creator_id":"01a1e20d-e5ee-7707-9bde-cfa88a227441","assignee_id":"01a1e20d-e5ee-7707-9bde-cfa88a227441","version":1,"said_version":1,"created_at":"2026-11-16T01:52:10.605566Z","updated_at":"2026-11-16T01:52:10.605566Z"}');
INSERT INTO revisions (change_id, place, entity_id, kind, reference_id, version, action, before, after) VALUES ('01a1e20d-ff8f-7f1e-b4b2-2f76bd9003e6',0,'01a1e20d-ff6d-7ae9-812d-2f9b995b493b','epic','EP-002',1,'deleted','{"id":"01a1e20d-ff6d-7ae9-812d-2f9b995b493b","kind":"epic","number":2,"reference_id":"EP-002","position":2.0,"title":"A mistake","description":"","status":"Backlog","priority":3,"creator_id":"01a1e20d-e5ee-7707-9bde-cfa88a227441","assignee_id":"01a1e20d-e5ee-7707-9bde-cfa88a227441","version":1,"said_version":1,"created_at":"2026-11-16T01:52:10.605566Z","updated_at":"2026-11-16T01:52:10.605566Z"}',NULL);
INSERT INTO revisions (change_id, place, entity_id, kind, reference_id, version, action, before, after) VALUES ('01a1e20e-00ab-745c-a450-10cf48654ffb',0,'01a1e20e-00ab-7236-b2bc-a7b668880bfd','epic','EP-003',1,'created',NULL,'{"id":"01a1e20e-00ab-7236-b2bc-a7b668880bfd","kind":"epic","number":3,"reference_id":"EP-003","position":2.0,"title":"Written by a run","description":"","status":"Backlog","priority":3,"creator_id":"01a1e20d-e5ee-7707-9bde-cfa88a227441","assignee_id":"01a1e20d-e5ee-7707-9bde-cfa88a227441","version":1,"said_version":1,"created_at":"2026-11-16T01:52:10.922960Z","updated_at":"2026-11-16T01:52:10.922960Z"}');
INSERT INTO baselines (id, name, name_key, description, author_id, epic_id, created_at) VALUES ('01a1e20d-ff1c-769f-9dee-f8de3ee21557','First review','first review','','01a1e20d-e5ee-7707-9bde-cfa88a227441',NULL,'2026-11-16T01:52:10.524252Z');
INSERT INTO baseline_entries (baseline_id, place, entity_id, kind, reference_id, version, content) VALUES ('01a1e20d-ff1c-769f-9dee-f8de3ee21557',1,'01a1e20d-fe15-7153-8d66-2fb7b646db92','acceptance_criteria','AC-001',1,'{"title":"","description":"WHEN a card is declined THE till SHALL say so within two seconds.","status":"","priority":0,"type":null,"parent":"US-001","acceptance_criteria":null}');
INSERT INTO baseline_entries (baseline_id, place, entity_id, kind, reference_id, version, content) VALUES ('01a1e20d-ff1c-769f-9dee-f8de3ee21557',2,'01a1e20d-fdb3-7baa-af22-b3414d47958f','epic','EP-001',1,'{"title":"The till takes money","description":"Customers pay at the **till**: cash, card, voucher.","status":"Backlog","priority":3,"type":null,"parent":null,"acceptance_criteria":null}');
INSERT INTO baseline_entries (baseline_id, place, entity_id, kind, reference_id, version, content) VALUES ('01a1e20d-ff1c-769f-9dee-f8de3ee21557',3,'01a1e20d-fe67-7766-b564-169118a85749','relationship','REQ-001 blocks REQ-002',1,'{"source":"REQ-001","type":"blocks","target":"REQ-002"}');
INSERT INTO baseline_entries (baseline_id, place, entity_id, kind, reference_id, version, content) VALUES ('01a1e20d-ff1c-769f-9dee-f8de3ee21557',4,'01a1e20d-fe3f-7210-9f65-03a182c2cd97','requirement','REQ-001',1,'{"title":"Charge the card","description":"The till shall charge the card once.","status":"Draft","priority":3,"type":"Functional","parent":"US-001","acceptance_criteria":null}');
INSERT INTO baseline_entries (baseline_id, place, entity_id, kind, reference_id, version, content) VALUES ('01a1e20d-ff1c-769f-9dee-f8de3ee21557',5,'01a1e20d-fe50-76d3-8411-d11bded26811','requirement','REQ-002',1,'{"title":"Refund a Überweisung","description":"The till shall refund what was charged – naïvely put: give it back.","status":"Draft","priority":3,"type":"Functional","parent":"US-001","acceptance_criteria":null}');
INSERT INTO baseline_entries (baseline_id, place, entity_id, kind, reference_id, version, content) VALUES ('01a1e20d-ff1c-769f-9dee-f8de3ee21557',6,'01a1e20d-febd-7bf2-9228-a3e591770f4a','steering_document','STD-001',1,'{"title":"Security","description":"No card numbers in logs.","status":"","priority":0,"type":null,"parent":null,"acceptance_criteria":null}');
INSERT INTO baseline_entries (baseline_id, place, entity_id, kind, reference_id, version, content) VALUES ('01a1e20d-ff1c-769f-9dee-f8de3ee21557',7,'01a1e20d-fde9-78f7-b694-48d500d807b7','user_story','US-001',1,'{"title":"Pay by card","description":"As a customer I want to pay by card so that I need no cash.","status":"Backlog","priority":3,"type":null,"parent":"EP-001","acceptance_criteria":null}');
INSERT INTO search_entries (sequence, entity_id, item_id, title, facets, body) VALUES (1,'01a1e20d-fdb3-7baa-af22-b3414d47958f','01a1e20d-fdb3-7baa-af22-b3414d47958f',' the till takes money ','=d6e56c7642e3d552e4 =4c7740a9edc806881b =01de8b19da4797144f =eded281fefdec0e2d2 =fbc346136c5ff97e7f',' ep1 customers pay at the till cash card voucher ');
INSERT INTO search_entries (sequence, entity_id, item_id, title, facets, body) VALUES (2,'01a1e20d-fde9-78f7-b694-48d500d807b7','01a1e20d-fde9-78f7-b694-48d500d807b7',' pay by card ','=50b80ce7d6cd7e7636 =4c7740a9edc806881b =01de8b19da4797144f =eded281fefdec0e2d2 =fbc346136c5ff97e7f',' us1 as a customer i want to pay by card so that i need no cash ');
INSERT INTO search_entries (sequence, entity_id, item_id, title, facets, body) VALUES (3,'01a1e20d-fe15-7153-8d66-2fb7b646db92','01a1e20d-fe15-7153-8d66-2fb7b646db92','','=76686e4379b8aff32e =fbc346136c5ff97e7f',' ac1 when a card is declined the till shall say so within two seconds ');
INSERT INTO search_entries (sequence, entity_id, item_id, title, facets, body) VALUES (5,'01a1e20d-fe50-76d3-8411-d11bded26811','01a1e20d-fe50-76d3-8411-d11bded26811',' refund a uberweisung ','=05d4694e0f7f0c5424 =c73566e2a3df94f9f1 =01de8b19da4797144f =9c8d8266f8bcfe01c1 =eded281fefdec0e2d2 =fbc346136c5ff97e7f',' req2 the till shall refund what was charged naively put give it back ');
INSERT INTO search_entries (sequence, entity_id, item_id, title, facets, body) VALUES (7,'01a1e20d-fea7-71a6-b1bc-cc58e0856ae7','01a1e20d-fe3f-7210-9f65-03a182c2cd97','','=92c8cbf02eb7974a7d =fbc346136c5ff97e7f',' what about vouchers ');
INSERT INTO search_entries (sequence, entity_id, item_id, title, facets, body) VALUES (8,'01a1e20d-febd-7bf2-9228-a3e591770f4a','01a1e20d-febd-7bf2-9228-a3e591770f4a',' security ','=5d3fe7f34f205c413e',' std1 no card numbers in logs ');
INSERT INTO search_entries (sequence, entity_id, item_id, title, facets, body) VALUES (9,'01a1e20d-fe3f-7210-9f65-03a182c2cd97','01a1e20d-fe3f-7210-9f65-03a182c2cd97',' charge the card exactly once ','=05d4694e0f7f0c5424 =c73566e2a3df94f9f1 =01de8b19da4797144f =9c8d8266f8bcfe01c1 =eded281fefdec0e2d2 =fbc346136c5ff97e7f =3d86abb699468c900a',' req1 the till shall charge the card once ');
INSERT INTO search_entries (sequence, entity_id, item_id, title, facets, body) VALUES (11,'01a1e20e-00ab-7236-b2bc-a7b668880bfd','01a1e20e-00ab-7236-b2bc-a7b668880bfd',' written by a run ','=d6e56c7642e3d552e4 =4c7740a9edc806881b =01de8b19da4797144f =eded281fefdec0e2d2 =fcee19803647c56786',' ep3 ');
INSERT INTO search_words (word) VALUES ('about');
INSERT INTO search_words (word) VALUES ('back');
INSERT INTO search_words (word) VALUES ('card');
INSERT INTO search_words (word) VALUES ('cash');
INSERT INTO search_words (word) VALUES ('charge');
INSERT INTO search_words (word) VALUES ('charged');
INSERT INTO search_words (word) VALUES ('customer');
INSERT INTO search_words (word) VALUES ('customers');
INSERT INTO search_words (word) VALUES ('declined');
INSERT INTO search_words (word) VALUES ('exactly');
INSERT INTO search_words (word) VALUES ('give');
INSERT INTO search_words (word) VALUES ('logs');
INSERT INTO search_words (word) VALUES ('mistake');
INSERT INTO search_words (word) VALUES ('money');
INSERT INTO search_words (word) VALUES ('naively');
INSERT INTO search_words (word) VALUES ('need');
INSERT INTO search_words (word) VALUES ('numbers');
INSERT INTO search_words (word) VALUES ('once');
INSERT INTO search_words (word) VALUES ('refund');
INSERT INTO search_words (word) VALUES ('seconds');
INSERT INTO search_words (word) VALUES ('security');
INSERT INTO search_words (word) VALUES ('shall');
INSERT INTO search_words (word) VALUES ('takes');
INSERT INTO search_words (word) VALUES ('that');
INSERT INTO search_words (word) VALUES ('till');
INSERT INTO search_words (word) VALUES ('uberweisung');
INSERT INTO search_words (word) VALUES ('voucher');
INSERT INTO search_words (word) VALUES ('vouchers');
INSERT INTO search_words (word) VALUES ('want');
INSERT INTO search_words (word) VALUES ('what');
INSERT INTO search_words (word) VALUES ('when');
INSERT INTO search_words (word) VALUES ('within');
INSERT INTO search_words (word) VALUES ('written');
INSERT INTO search_spellings (key, word) VALUES ('abot','about');
INSERT INTO search_spellings (key, word) VALUES ('abou','about');
INSERT INTO search_spellings (key, word) VALUES ('about','about');
INSERT INTO search_spellings (key, word) VALUES ('abut','about');
INSERT INTO search_spellings (key, word) VALUES ('ack','back');
INSERT INTO search_spellings (key, word) VALUES ('aively','naively');
INSERT INTO search_spellings (key, word) VALUES ('akes','takes');
INSERT INTO search_spellings (key, word) VALUES ('ant','want');
INSERT INTO search_spellings (key, word) VALUES ('aout','about');
INSERT INTO search_spellings (key, word) VALUES ('ard','card');
INSERT INTO search_spellings (key, word) VALUES ('ash','cash');
INSERT INTO search_spellings (key, word) VALUES ('bac','back');
INSERT INTO search_spellings (key, word) VALUES ('back','back');
INSERT INTO search_spellings (key, word) VALUES ('bak','back');
INSERT INTO search_spellings (key, word) VALUES ('bck','back');
INSERT INTO search_spellings (key, word) VALUES ('berwei','uberweisung');
INSERT INTO search_spellings (key, word) VALUES ('bout','about');
INSERT INTO search_spellings (key, word) VALUES ('cad','card');
INSERT INTO search_spellings (key, word) VALUES ('cah','cash');
INSERT INTO search_spellings (key, word) VALUES ('car','card');
INSERT INTO search_spellings (key, word) VALUES ('card','card');
INSERT INTO search_spellings (key, word) VALUES ('carge','charge');
INSERT INTO search_spellings (key, word) VALUES ('carged','charged');
INSERT INTO search_spellings (key, word) VALUES ('cas','cash');
INSERT INTO search_spellings (key, word) VALUES ('cash','cash');
INSERT INTO search_spellings (key, word) VALUES ('chage','charge');
INSERT INTO search_spellings (key, word) VALUES ('chaged','charged');
INSERT INTO search_spellings (key, word) VALUES ('chare','charge');
INSERT INTO search_spellings (key, word) VALUES ('chared','charged');
INSERT INTO search_spellings (key, word) VALUES ('charg','charge');
INSERT INTO search_spellings (key, word) VALUES ('chargd','charged');
INSERT INTO search_spellings (key, word) VALUES ('charge','charge');
INSERT INTO search_spellings (key, word) VALUES ('charge','charged');
INSERT INTO search_spellings (key, word) VALUES ('charged','charged');
INSERT INTO search_spellings (key, word) VALUES ('chrge','charge');
INSERT INTO search_spellings (key, word) VALUES ('chrged','charged');
INSERT INTO search_spellings (key, word) VALUES ('crd','card');
INSERT INTO search_spellings (key, word) VALUES ('csh','cash');
INSERT INTO search_spellings (key, word) VALUES ('cstome','customer');
INSERT INTO search_spellings (key, word) VALUES ('cstome','customers');
INSERT INTO search_spellings (key, word) VALUES ('cusome','customer');
INSERT INTO search_spellings (key, word) VALUES ('cusome','customers');
INSERT INTO search_spellings (key, word) VALUES ('custme','customer');
INSERT INTO search_spellings (key, word) VALUES ('custme','customers');
INSERT INTO search_spellings (key, word) VALUES ('custoe','customer');
INSERT INTO search_spellings (key, word) VALUES ('custoe','customers');
INSERT INTO search_spellings (key, word) VALUES ('custom','customer');
INSERT INTO search_spellings (key, word) VALUES ('custom','customers');
INSERT INTO search_spellings (key, word) VALUES ('custome','customer');
INSERT INTO search_spellings (key, word) VALUES ('custome','customers');
INSERT INTO search_spellings (key, word) VALUES ('cutome','customer');
INSERT INTO search_spellings (key, word) VALUES ('cutome','customers');
INSERT INTO search_spellings (key, word) VALUES ('dcline','declined');
INSERT INTO search_spellings (key, word) VALUES ('decine','declined');
INSERT INTO search_spellings (key, word) VALUES ('declie','declined');
INSERT INTO search_spellings (key, word) VALUES ('declin','declined');
INSERT INTO search_spellings (key, word) VALUES ('decline','declined');
INSERT INTO search_spellings (key, word) VALUES ('declne','declined');
INSERT INTO search_spellings (key, word) VALUES ('deline','declined');
INSERT INTO search_spellings (key, word) VALUES ('eactly','exactly');
INSERT INTO search_spellings (key, word) VALUES ('ecline','declined');
INSERT INTO search_spellings (key, word) VALUES ('econds','seconds');
INSERT INTO search_spellings (key, word) VALUES ('ecurit','security');
INSERT INTO search_spellings (key, word) VALUES ('eed','need');
INSERT INTO search_spellings (key, word) VALUES ('efund','refund');
INSERT INTO search_spellings (key, word) VALUES ('exacly','exactly');
INSERT INTO search_spellings (key, word) VALUES ('exactl','exactly');
INSERT INTO search_spellings (key, word) VALUES ('exactly','exactly');
INSERT INTO search_spellings (key, word) VALUES ('exacty','exactly');
INSERT INTO search_spellings (key, word) VALUES ('exatly','exactly');
INSERT INTO search_spellings (key, word) VALUES ('exctly','exactly');
INSERT INTO search_spellings (key, word) VALUES ('gie','give');
INSERT INTO search_spellings (key, word) VALUES ('giv','give');
INSERT INTO search_spellings (key, word) VALUES ('give','give');
INSERT INTO search_spellings (key, word) VALUES ('gve','give');
INSERT INTO search_spellings (key, word) VALUES ('hall','shall');
INSERT INTO search_spellings (key, word) VALUES ('harge','charge');
INSERT INTO search_spellings (key, word) VALUES ('harged','charged');
INSERT INTO search_spellings (key, word) VALUES ('hat','that');
INSERT INTO search_spellings (key, word) VALUES ('hat','what');
INSERT INTO search_spellings (key, word) VALUES ('hen','when');
INSERT INTO search_spellings (key, word) VALUES ('ill','till');
INSERT INTO search_spellings (key, word) VALUES ('istake','mistake');
INSERT INTO search_spellings (key, word) VALUES ('ithin','within');
INSERT INTO search_spellings (key, word) VALUES ('ive','give');
INSERT INTO search_spellings (key, word) VALUES ('lgs','logs');
INSERT INTO search_spellings (key, word) VALUES ('log','logs');
INSERT INTO search_spellings (key, word) VALUES ('logs','logs');
INSERT INTO search_spellings (key, word) VALUES ('los','logs');
INSERT INTO search_spellings (key, word) VALUES ('misake','mistake');
INSERT INTO search_spellings (key, word) VALUES ('mistae','mistake');
INSERT INTO search_spellings (key, word) VALUES ('mistak','mistake');
INSERT INTO search_spellings (key, word) VALUES ('mistake','mistake');
INSERT INTO search_spellings (key, word) VALUES ('mistke','mistake');
INSERT INTO search_spellings (key, word) VALUES ('mitake','mistake');
INSERT INTO search_spellings (key, word) VALUES ('mney','money');
INSERT INTO search_spellings (key, word) VALUES ('moey','money');
INSERT INTO search_spellings (key, word) VALUES ('mone','money');
INSERT INTO search_spellings (key, word) VALUES ('money','money');
INSERT INTO search_spellings (key, word) VALUES ('mony','money');
INSERT INTO search_spellings (key, word) VALUES ('mstake','mistake');
INSERT INTO search_spellings (key, word) VALUES ('naiely','naively');
INSERT INTO search_spellings (key, word) VALUES ('naivel','naively');
INSERT INTO search_spellings (key, word) VALUES ('naively','naively');
INSERT INTO search_spellings (key, word) VALUES ('naivey','naively');
INSERT INTO search_spellings (key, word) VALUES ('naivly','naively');
INSERT INTO search_spellings (key, word) VALUES ('navely','naively');
INSERT INTO search_spellings (key, word) VALUES ('nce','once');
INSERT INTO search_spellings (key, word) VALUES ('ned','need');
INSERT INTO search_spellings (key, word) VALUES ('nee','need');
INSERT INTO search_spellings (key, word) VALUES ('need','need');
INSERT INTO search_spellings (key, word) VALUES ('nively','naively');
INSERT INTO search_spellings (key, word) VALUES ('nmbers','numbers');
INSERT INTO search_spellings (key, word) VALUES ('nubers','numbers');
INSERT INTO search_spellings (key, word) VALUES ('number','numbers');
INSERT INTO search_spellings (key, word) VALUES ('numbers','numbers');
INSERT INTO search_spellings (key, word) VALUES ('numbes','numbers');
INSERT INTO search_spellings (key, word) VALUES ('numbrs','numbers');
INSERT INTO search_spellings (key, word) VALUES ('numers','numbers');
INSERT INTO search_spellings (key, word) VALUES ('oce','once');
INSERT INTO search_spellings (key, word) VALUES ('ogs','logs');
INSERT INTO search_spellings (key, word) VALUES ('onc','once');
INSERT INTO search_spellings (key, word) VALUES ('once','once');
INSERT INTO search_spellings (key, word) VALUES ('one','once');
INSERT INTO search_spellings (key, word) VALUES ('oney','money');
INSERT INTO search_spellings (key, word) VALUES ('oucher','voucher');
INSERT INTO search_spellings (key, word) VALUES ('oucher','vouchers');
INSERT INTO search_spellings (key, word) VALUES ('refnd','refund');
INSERT INTO search_spellings (key, word) VALUES ('refud','refund');
INSERT INTO search_spellings (key, word) VALUES ('refun','refund');
INSERT INTO search_spellings (key, word) VALUES ('refund','refund');
INSERT INTO search_spellings (key, word) VALUES ('reund','refund');
INSERT INTO search_spellings (key, word) VALUES ('rfund','refund');
INSERT INTO search_spellings (key, word) VALUES ('ritten','written');
INSERT INTO search_spellings (key, word) VALUES ('sall','shall');
INSERT INTO search_spellings (key, word) VALUES ('sconds','seconds');
INSERT INTO search_spellings (key, word) VALUES ('scurit','security');
INSERT INTO search_spellings (key, word) VALUES ('secnds','seconds');
INSERT INTO search_spellings (key, word) VALUES ('secods','seconds');
INSERT INTO search_spellings (key, word) VALUES ('second','seconds');
INSERT INTO search_spellings (key, word) VALUES ('seconds','seconds');
INSERT INTO search_spellings (key, word) VALUES ('secons','seconds');
INSERT INTO search_spellings (key, word) VALUES ('secrit','security');
INSERT INTO search_spellings (key, word) VALUES ('secuit','security');
INSERT INTO search_spellings (key, word) VALUES ('securi','security');
INSERT INTO search_spellings (key, word) VALUES ('securit','security');
INSERT INTO search_spellings (key, word) VALUES ('securt','security');
INSERT INTO search_spellings (key, word) VALUES ('seonds','seconds');
INSERT INTO search_spellings (key, word) VALUES ('seurit','security');
INSERT INTO search_spellings (key, word) VALUES ('shal','shall');
INSERT INTO search_spellings (key, word) VALUES ('shall','shall');
INSERT INTO search_spellings (key, word) VALUES ('shll','shall');
INSERT INTO search_spellings (key, word) VALUES ('taes','takes');
INSERT INTO search_spellings (key, word) VALUES ('take','takes');
INSERT INTO search_spellings (key, word) VALUES ('takes','takes');
INSERT INTO search_spellings (key, word) VALUES ('taks','takes');
INSERT INTO search_spellings (key, word) VALUES ('tat','that');
INSERT INTO search_spellings (key, word) VALUES ('tha','that');
INSERT INTO search_spellings (key, word) VALUES ('that','that');
INSERT INTO search_spellings (key, word) VALUES ('tht','that');
INSERT INTO search_spellings (key, word) VALUES ('til','till');
INSERT INTO search_spellings (key, word) VALUES ('till','till');
INSERT INTO search_spellings (key, word) VALUES ('tkes','takes');
INSERT INTO search_spellings (key, word) VALUES ('tll','till');
INSERT INTO search_spellings (key, word) VALUES ('uberei','uberweisung');
INSERT INTO search_spellings (key, word) VALUES ('uberwe','uberweisung');
INSERT INTO search_spellings (key, word) VALUES ('uberwei','uberweisung');
INSERT INTO search_spellings (key, word) VALUES ('uberwi','uberweisung');
INSERT INTO search_spellings (key, word) VALUES ('ubewei','uberweisung');
INSERT INTO search_spellings (key, word) VALUES ('ubrwei','uberweisung');
INSERT INTO search_spellings (key, word) VALUES ('uerwei','uberweisung');
INSERT INTO search_spellings (key, word) VALUES ('umbers','numbers');
INSERT INTO search_spellings (key, word) VALUES ('ustome','customer');
INSERT INTO search_spellings (key, word) VALUES ('ustome','customers');
INSERT INTO search_spellings (key, word) VALUES ('vocher','voucher');
INSERT INTO search_spellings (key, word) VALUES ('vocher','vouchers');
INSERT INTO search_spellings (key, word) VALUES ('voucer','voucher');
INSERT INTO search_spellings (key, word) VALUES ('voucer','vouchers');
INSERT INTO search_spellings (key, word) VALUES ('vouche','voucher');
INSERT INTO search_spellings (key, word) VALUES ('vouche','vouchers');
INSERT INTO search_spellings (key, word) VALUES ('voucher','voucher');
INSERT INTO search_spellings (key, word) VALUES ('voucher','vouchers');
INSERT INTO search_spellings (key, word) VALUES ('vouchr','voucher');
INSERT INTO search_spellings (key, word) VALUES ('vouchr','vouchers');
INSERT INTO search_spellings (key, word) VALUES ('vouher','voucher');
INSERT INTO search_spellings (key, word) VALUES ('vouher','vouchers');
INSERT INTO search_spellings (key, word) VALUES ('vucher','voucher');
INSERT INTO search_spellings (key, word) VALUES ('vucher','vouchers');
INSERT INTO search_spellings (key, word) VALUES ('wan','want');
INSERT INTO search_spellings (key, word) VALUES ('want','want');
INSERT INTO search_spellings (key, word) VALUES ('wat','want');
INSERT INTO search_spellings (key, word) VALUES ('wat','what');
INSERT INTO search_spellings (key, word) VALUES ('wen','when');
INSERT INTO search_spellings (key, word) VALUES ('wha','what');
INSERT INTO search_spellings (key, word) VALUES ('what','what');
INSERT INTO search_spellings (key, word) VALUES ('whe','when');
INSERT INTO search_spellings (key, word) VALUES ('when','when');
INSERT INTO search_spellings (key, word) VALUES ('whn','when');
INSERT INTO search_spellings (key, word) VALUES ('wht','what');
INSERT INTO search_spellings (key, word) VALUES ('wihin','within');
INSERT INTO search_spellings (key, word) VALUES ('withi','within');
INSERT INTO search_spellings (key, word) VALUES ('within','within');
INSERT INTO search_spellings (key, word) VALUES ('withn','within');
INSERT INTO search_spellings (key, word) VALUES ('witin','within');
INSERT INTO search_spellings (key, word) VALUES ('witten','written');
INSERT INTO search_spellings (key, word) VALUES ('wnt','want');
INSERT INTO search_spellings (key, word) VALUES ('writen','written');
INSERT INTO search_spellings (key, word) VALUES ('writte','written');
INSERT INTO search_spellings (key, word) VALUES ('written','written');
INSERT INTO search_spellings (key, word) VALUES ('writtn','written');
INSERT INTO search_spellings (key, word) VALUES ('wrtten','written');
INSERT INTO search_spellings (key, word) VALUES ('wthin','within');
INSERT INTO search_spellings (key, word) VALUES ('xactly','exactly');
INSERT INTO agents (id, name, description, url, wire, auth, timeout, retry, max_concurrency, active, card, health, health_detail, checked_at, version, created_at, updated_at) VALUES ('01a1e20d-ffb8-71b9-9beb-08df0cd9f261','reviewer','','https://agents.invalid/','auto','{"type":"none"}',30.0,'{"attempts":3,"initial_delay":1.0,"multiplier":2.0,"max_delay":30.0,"jitter":true,"failures":"unknown"}',64,1,NULL,'unknown','',NULL,1,'2026-11-16T01:52:10.679968Z','2026-11-16T01:52:10.679968Z');
INSERT INTO workflows (name, version, description, definition, active, created_by, created_at) VALUES ('note',1,'','{"name":"note","version":1,"steps":[{"type":"call","operation":"create_epic","input":{"title":"${input.title}"},"name":"write"}],"output":"${steps.write.output.reference_id}"}',1,'01a1e20d-e5ee-7707-9bde-cfa88a227441','2026-11-16T01:52:10.717530Z');
INSERT INTO workflows (name, version, description, definition, active, created_by, created_at) VALUES ('nap',1,'','{"name":"nap","version":1,"steps":[{"type":"wait","for":20.0,"name":"nap"}],"output":"${''slept well''}"}',1,'01a1e20d-e5ee-7707-9bde-cfa88a227441','2026-11-16T01:52:10.833387Z');
INSERT INTO workflows (name, version, description, definition, active, created_by, created_at) VALUES ('decide',1,'','{"name":"decide","version":1,"steps":[{"type":"wait","approval":{"by":["admin"]},"name":"ok"},{"type":"call","operation":"create_epic","input":{"title":"Decided by ${steps.ok.output.by}"},"name":"write"}],"output":"${steps.write.output.reference_id}"}',1,'01a1e20d-e5ee-7707-9bde-cfa88a227441','2026-11-16T01:52:10.858564Z');
INSERT INTO runs (id, workflow, version, shard, status, user_id, username, token_id, scopes, origin, parent_run, parent_task, cause, chain, correlation_id, traceparent, snapshot, snapshot_at, next_timer, created_at, finished_at) VALUES ('01a1e20e-0087-77c9-b247-3fd9ca7474df','note',1,5,'completed','01a1e20d-e5ee-7707-9bde-cfa88a227441','admin','01a1e20d-e5ee-78e7-8e7c-d0c80f15a126','admin comment propose read run write','rest',NULL,NULL,'',0,'ab224d4da40746c3892eb439a1536ce4','00-ab224d4da40746c3892eb439a1536ce4-23b8058d7053d5bf-01','{"schema":1,"phase":"completed","applied":4,"ignored":0,"round":1,"depth":0,"input":{"title":"Written by a run"},"output":"EP-003","error":null,"started_at":1794793930.887472,"finished_at":1794793930.9520946,"paused":false,"ending":null,"steps":{"write":{"key":"write","name":"write","frame":"/main","status":"completed","started_at":1794793930.9034135,"finished_at":1794793930.9442928,"output":{"change_id":"01a1e20e-00ab-745c-a450-10cf48654ffb","id":"01a1e20e-00ab-7236-b2bc-a7b668880bfd","reference_id":"EP-003","version":1,"created_at":"2026-11-16T01:52:10.922960Z","updated_at":"2026-11-16T01:52:10.922960Z","title":"Written by a run","description":"","status":"Backlog","priority":3,"creator":"admin","assignee":"admin","labels":[]},"attempts":1,"size":343}},"frames":{"/main":{"owner":"","label":"main","at":1,"status":"completed","last":"write"}},"agenda":[],"wakes":{},"deadlines":{},"signals":{},"signal_ids":{},"waiters":{},"busy":0,"idle":0,"bytes":343}',4,NULL,1.79479393088747191421e+09,1.79479393095209455491e+09);
INSERT INTO runs (id, workflow, version, shard, status, user_id, username, token_id, scopes, origin, parent_run, parent_task, cause, chain, correlation_id, traceparent, snapshot, snapshot_at, next_timer, created_at, finished_at) VALUES ('01a1e20e-0112-77aa-b746-70bdebdf9503','decide',1,1,'waiting','01a1e20d-e5ee-7707-9bde-cfa88a227441','admin','01a1e20d-e5ee-78e7-8e7c-d0c80f15a126','admin comment propose read run write','rest',NULL,NULL,'',0,'699afd4a38c78c3268df00d8d57933e7','00-699afd4a38c78c3268df00d8d57933e7-79bd5ec9922e3811-01',NULL,0,NULL,1.79479393102646398545e+09,NULL);
INSERT INTO runs (id, workflow, version, shard, status, user_id, username, token_id, scopes, origin, parent_run, parent_task, cause, chain, correlation_id, traceparent, snapshot, snapshot_at, next_timer, created_at, finished_at) VALUES ('01a1e20e-0130-7c96-86c9-94a2f58aa835','nap',1,15,'waiting','01a1e20d-e5ee-7707-9bde-cfa88a227441','admin','01a1e20d-e5ee-78e7-8e7c-d0c80f15a126','admin comment propose read run write','rest',NULL,NULL,'',0,'c5f6f3e3a28aa7f4518c8461c54e8760','00-c5f6f3e3a28aa7f4518c8461c54e8760-a10dc27ec9ca6e80-01',NULL,0,1.79479395107916235921e+09,1.79479393105677509302e+09,NULL);
INSERT INTO run_history (run_id, sequence, count, events) VALUES ('01a1e20e-0087-77c9-b247-3fd9ca7474df',1,2,'[{"type":"run_started","input":{"title":"Written by a run"},"depth":0,"at":1794793930.887472,"schema":1},{"type":"step_started","key":"write","frame":"/main","input":{"title":"Written by a run"},"choice":null,"items":null,"wake":null,"deadline":1794797530.9034135,"at":1794793930.9034135,"schema":1}]');
INSERT INTO run_history (run_id, sequence, count, events) VALUES ('01a1e20e-0087-77c9-b247-3fd9ca7474df',3,2,'[{"type":"task_succeeded","task":"write","output":{"change_id":"01a1e20e-00ab-745c-a450-10cf48654ffb","id":"01a1e20e-00ab-7236-b2bc-a7b668880bfd","reference_id":"EP-003","version":1,"created_at":"2026-11-16T01:52:10.922960Z","updated_at":"2026-11-16T01:52:10.922960Z","title":"Written by a run","description":"","status":"Backlog","priority":3,"creator":"admin","assignee":"admin","labels":[]},"data":null,"artifacts":null,"attempts":1,"size":343,"at":1794793930.9442928,"schema":1},{"type":"run_finished","status":"completed","output":"EP-003","error":null,"at":1794793930.9520946,"schema":1}]');
INSERT INTO run_history (run_id, sequence, count, events) VALUES ('01a1e20e-0112-77aa-b746-70bdebdf9503',1,2,'[{"type":"run_started","input":null,"depth":0,"at":1794793931.026464,"schema":1},{"type":"step_started","key":"ok","frame":"/main","input":null,"choice":null,"items":null,"wake":null,"deadline":null,"at":1794793931.028946,"schema":1}]');
INSERT INTO run_history (run_id, sequence, count, events) VALUES ('01a1e20e-0130-7c96-86c9-94a2f58aa835',1,2,'[{"type":"run_started","input":null,"depth":0,"at":1794793931.056775,"schema":1},{"type":"step_started","key":"nap","frame":"/main","input":null,"choice":null,"items":null,"wake":1794793951.0791624,"deadline":null,"at":1794793931.0791624,"schema":1}]');
INSERT INTO tasks (id, run_id, task, kind, target, command, state, cancelled, owner, fence, attempt, attempt_group, due, remote_task, remote_context, continuation, continued, outcome, traceparent, correlation_id, created_at, finished_at) VALUES ('01a1e20e-0087-77c9-b247-3fd9ca7474df/write','01a1e20e-0087-77c9-b247-3fd9ca7474df','write','operation','create_epic','{"type":"call_operation","task":"write","schema":1,"step":"write","input":{"title":"Written by a run"},"retry":null,"deadline":1794797530.9034135,"operation":"create_epic"}','done',0,NULL,1,1,1,0.0,'','',NULL,0,'success','00-ab224d4da40746c3892eb439a1536ce4-23b8058d7053d5bf-01','ab224d4da40746c3892eb439a1536ce4',1.79479393090341353411e+09,1.79479393094429278375e+09);
INSERT INTO approvals (run_id, task, step, approvers, deadline, state, created_at) VALUES ('01a1e20e-0112-77aa-b746-70bdebdf9503','ok','ok','["admin"]',NULL,'open',1.79479393102894592285e+09);
INSERT INTO members (id, kind, name, since, until) VALUES ('492665b2-a454-4c81-bcea-0a4fd028b579','executor','vm:19268',1.79479392424001097674e+09,1.79479395201199269293e+09);
INSERT INTO shards (shard, owner, fence) VALUES (0,'492665b2-a454-4c81-bcea-0a4fd028b579',1);
INSERT INTO shards (shard, owner, fence) VALUES (1,'492665b2-a454-4c81-bcea-0a4fd028b579',1);
INSERT INTO shards (shard, owner, fence) VALUES (2,'492665b2-a454-4c81-bcea-0a4fd028b579',1);
INSERT INTO shards (shard, owner, fence) VALUES (3,'492665b2-a454-4c81-bcea-0a4fd028b579',1);
INSERT INTO shards (shard, owner, fence) VALUES (4,'492665b2-a454-4c81-bcea-0a4fd028b579',1);
INSERT INTO shards (shard, owner, fence) VALUES (5,'492665b2-a454-4c81-bcea-0a4fd028b579',1);
INSERT INTO shards (shard, owner, fence) VALUES (6,'492665b2-a454-4c81-bcea-0a4fd028b579',1);
INSERT INTO shards (shard, owner, fence) VALUES (7,'492665b2-a454-4c81-bcea-0a4fd028b579',1);
INSERT INTO shards (shard, owner, fence) VALUES (8,'492665b2-a454-4c81-bcea-0a4fd028b579',1);
INSERT INTO shards (shard, owner, fence) VALUES (9,'492665b2-a454-4c81-bcea-0a4fd028b579',1);
INSERT INTO shards (shard, owner, fence) VALUES (10,'492665b2-a454-4c81-bcea-0a4fd028b579',1);
INSERT INTO shards (shard, owner, fence) VALUES (11,'492665b2-a454-4c81-bcea-0a4fd028b579',1);
INSERT INTO shards (shard, owner, fence) VALUES (12,'492665b2-a454-4c81-bcea-0a4fd028b579',1);
INSERT INTO shards (shard, owner, fence) VALUES (13,'492665b2-a454-4c81-bcea-0a4fd028b579',1);
INSERT INTO shards (shard, owner, fence) VALUES (14,'492665b2-a454-4c81-bcea-0a4fd028b579',1);
INSERT INTO shards (shard, owner, fence) VALUES (15,'492665b2-a454-4c81-bcea-0a4fd028b579',1);
INSERT INTO shards (shard, owner, fence) VALUES (16,'492665b2-a454-4c81-bcea-0a4fd028b579',1);
INSERT INTO shards (shard, owner, fence) VALUES (17,'492665b2-a454-4c81-bcea-0a4fd028b579',1);
INSERT INTO shards (shard, owner, fence) VALUES (18,'492665b2-a454-4c81-bcea-0a4fd028b579',1);
INSERT INTO shards (shard, owner, fence) VALUES (19,'492665b2-a454-4c81-bcea-0a4fd028b579',1);
INSERT INTO shards (shard, owner, fence) VALUES (20,'492665b2-a454-4c81-bcea-0a4fd028b579',1);
INSERT INTO shards (shard, owner, fence) VALUES (21,'492665b2-a454-4c81-bcea-0a4fd028b579',1);
INSERT INTO shards (shard, owner, fence) VALUES (22,'492665b2-a454-4c81-bcea-0a4fd028b579',1);
INSERT INTO shards (shard, owner, fence) VALUES (23,'492665b2-a454-4c81-bcea-0a4fd028b579',1);
INSERT INTO shards (shard, owner, fence) VALUES (24,'492665b2-a454-4c81-bcea-0a4fd028b579',1);
INSERT INTO shards (shard, owner, fence) VALUES (25,'492665b2-a454-4c81-bcea-0a4fd028b579',1);
INSERT INTO shards (shard, owner, fence) VALUES (26,'492665b2-a454-4c81-bcea-0a4fd028b579',1);
INSERT INTO shards (shard, owner, fence) VALUES (27,'492665b2-a454-4c81-bcea-0a4fd028b579',1);
INSERT INTO shards (shard, owner, fence) VALUES (28,'492665b2-a454-4c81-bcea-0a4fd028b579',1);
INSERT INTO shards (shard, owner, fence) VALUES (29,'492665b2-a454-4c81-bcea-0a4fd028b579',1);
INSERT INTO shards (shard, owner, fence) VALUES (30,'492665b2-a454-4c81-bcea-0a4fd028b579',1);
INSERT INTO shards (shard, owner, fence) VALUES (31,'492665b2-a454-4c81-bcea-0a4fd028b579',1);
INSERT INTO leases (name, owner, until) VALUES ('agent_health','4cb34532-5856-4547-b0a5-bdcb7899bcc2',1.79479401430100440981e+09);
INSERT OR REPLACE INTO sqlite_sequence (name, seq) SELECT 'search_entries', 11 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'search_entries');
INSERT OR REPLACE INTO sqlite_sequence (name, seq) SELECT 'run_inbox', 4 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'run_inbox');
INSERT INTO search_texts (search_texts) VALUES ('rebuild');
CREATE UNIQUE INDEX tokens_by_name ON tokens (user_id, name) WHERE revoked_at IS NULL;
CREATE INDEX tokens_of ON tokens (user_id, created_at);
CREATE INDEX login_sessions_of ON login_sessions (user_id);
CREATE INDEX idempotency_by_age ON idempotency (created_at);
CREATE INDEX audit_records_by_time ON audit_records (time, id);
CREATE TRIGGER audit_records_pending AFTER INSERT ON audit_records
BEGIN
    INSERT INTO audit_pending (record_id) VALUES (NEW.id);
END;
CREATE TRIGGER audit_records_no_update BEFORE UPDATE ON audit_records
BEGIN
    SELECT RAISE(ABORT, 'the audit trail is append-only');
END;
CREATE TRIGGER audit_records_no_delete BEFORE DELETE ON audit_records
BEGIN
    SELECT RAISE(ABORT, 'the audit trail is append-only');
END;
CREATE TRIGGER audit_seals_no_update BEFORE UPDATE ON audit_seals
BEGIN
    SELECT RAISE(ABORT, 'the audit trail is append-only');
END;
CREATE TRIGGER audit_seals_no_delete BEFORE DELETE ON audit_seals
BEGIN
    SELECT RAISE(ABORT, 'the audit trail is append-only');
END;
CREATE INDEX rate_buckets_by_time ON rate_buckets (full_at);
CREATE UNIQUE INDEX items_prompt_name ON items (lower(name)) WHERE name IS NOT NULL;
CREATE UNIQUE INDEX items_active_prompt ON items (active) WHERE active = 1;
CREATE INDEX items_children ON items (parent_id, kind, position);
CREATE INDEX items_of_criteria ON items (criteria_id);
CREATE INDEX items_by_status ON items (kind, status, number);
CREATE INDEX items_by_assignee ON items (assignee_id, kind);
CREATE INDEX items_that_said_more ON items (said_version, id) WHERE said_version > 1;
CREATE INDEX items_by_update ON items (kind, updated_at, number);
CREATE INDEX steering_links_of_epic ON steering_links (epic_id);
CREATE INDEX relationships_to ON relationships (target_id, type);
CREATE INDEX relationships_by_age ON relationships (created_at, id);
CREATE INDEX comments_on ON comments (target_id, created_at);
CREATE INDEX item_labels_of ON item_labels (label_id);
CREATE INDEX proposals_by_state ON proposals (state, created_at);
CREATE INDEX changes_by_actor ON changes (actor_id, sequence);
CREATE UNIQUE INDEX changes_of_proposal ON changes (proposal_id) WHERE proposal_id IS NOT NULL;
CREATE UNIQUE INDEX changes_undone_once ON changes (undoes) WHERE undoes IS NOT NULL;
CREATE INDEX revisions_of ON revisions (entity_id, version);
CREATE INDEX revisions_by_reference ON revisions (reference_id);
CREATE INDEX search_entries_of ON search_entries (item_id);
CREATE TRIGGER search_texts_added AFTER INSERT ON search_entries BEGIN
    INSERT INTO search_texts (rowid, title, body, facets)
    VALUES (new.sequence, new.title, new.body, new.facets);
END;
CREATE TRIGGER search_texts_removed AFTER DELETE ON search_entries BEGIN
    INSERT INTO search_texts (search_texts, rowid, title, body, facets)
    VALUES ('delete', old.sequence, old.title, old.body, old.facets);
END;
CREATE TRIGGER baselines_no_update BEFORE UPDATE ON baselines
BEGIN
    SELECT RAISE(ABORT, 'a baseline never changes');
END;
CREATE TRIGGER baselines_no_delete BEFORE DELETE ON baselines
BEGIN
    SELECT RAISE(ABORT, 'a baseline never changes');
END;
CREATE TRIGGER baseline_entries_no_update BEFORE UPDATE ON baseline_entries
BEGIN
    SELECT RAISE(ABORT, 'a baseline never changes');
END;
CREATE TRIGGER baseline_entries_no_delete BEFORE DELETE ON baseline_entries
BEGIN
    SELECT RAISE(ABORT, 'a baseline never changes');
END;
CREATE INDEX runs_due ON runs (shard, next_timer) WHERE next_timer IS NOT NULL;
CREATE INDEX runs_by_time ON runs (created_at, id);
CREATE INDEX runs_by_workflow ON runs (workflow, created_at, id);
CREATE INDEX runs_by_status ON runs (status, created_at, id);
CREATE INDEX runs_of_parent ON runs (parent_run) WHERE parent_run IS NOT NULL;
CREATE INDEX runs_finished ON runs (finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX tasks_ready ON tasks (created_at) WHERE state = 'ready';
CREATE INDEX tasks_owned ON tasks (owner) WHERE state = 'running';
CREATE INDEX tasks_published ON tasks (created_at) WHERE state = 'published';
CREATE INDEX tasks_of_run ON tasks (run_id);
CREATE INDEX approvals_open ON approvals (created_at) WHERE state = 'open';
CREATE INDEX dead_letters_by_time ON dead_letters (created_at, id);
CREATE INDEX outbox_unpublished ON outbox (id) WHERE published_at IS NULL;
CREATE INDEX triggers_of_workflow ON triggers (workflow);
CREATE INDEX triggers_by_name ON triggers (kind, name);
CREATE INDEX triggers_due ON triggers (next_at) WHERE next_at IS NOT NULL;
CREATE UNIQUE INDEX triggers_webhooks ON triggers (name) WHERE kind = 'webhook';
CREATE INDEX webhook_deliveries_by_time ON webhook_deliveries (created_at);
COMMIT;
