-- The hub. Everything that has a reference id is an item; which columns a kind uses is in
-- accord.hub.domain.kinds. Times, truth values and ids are as in the accounts' tables.

CREATE TABLE counters (
    kind text PRIMARY KEY,
    last bigint NOT NULL -- the number that was given last
);
INSERT INTO counters (kind, last) VALUES
    ('epic', 0), ('user_story', 0), ('acceptance_criteria', 0), ('requirement', 0),
    ('steering_document', 0), ('prompt', 0);

CREATE TABLE requirement_types (
    name text PRIMARY KEY,
    name_key text NOT NULL UNIQUE, -- folded
    description text NOT NULL DEFAULT '',
    created_at text NOT NULL
);
INSERT INTO requirement_types (name, name_key, created_at) VALUES
    ('Functional', 'functional', '2026-01-01T00:00:00.000000Z'),
    ('Non-Functional', 'non-functional', '2026-01-01T00:00:00.000000Z'),
    ('Business Rule', 'business rule', '2026-01-01T00:00:00.000000Z'),
    ('Interface', 'interface', '2026-01-01T00:00:00.000000Z'),
    ('Data', 'data', '2026-01-01T00:00:00.000000Z');

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
CREATE UNIQUE INDEX items_prompt_name ON items (lower(name)) WHERE name IS NOT NULL;
CREATE UNIQUE INDEX items_active_prompt ON items (active) WHERE active = 1;
CREATE INDEX items_children ON items (parent_id, kind, position);
CREATE INDEX items_of_criteria ON items (criteria_id);
CREATE INDEX items_by_status ON items (kind, status, number);
CREATE INDEX items_by_assignee ON items (assignee_id, kind);
CREATE INDEX items_that_said_more ON items (said_version, id) WHERE said_version > 1;
CREATE INDEX items_by_update ON items (kind, updated_at, number);

CREATE TABLE steering_links (
    steering_id text NOT NULL REFERENCES items (id),
    epic_id text NOT NULL REFERENCES items (id),
    PRIMARY KEY (steering_id, epic_id)
);
CREATE INDEX steering_links_of_epic ON steering_links (epic_id);

CREATE TABLE relationship_types (
    name text PRIMARY KEY,
    inverse text NOT NULL,
    is_symmetric integer NOT NULL,
    is_acyclic integer NOT NULL
);
INSERT INTO relationship_types (name, inverse, is_symmetric, is_acyclic) VALUES
    ('depends_on', 'is_depended_on_by', 0, 1),
    ('blocks', 'is_blocked_by', 0, 1),
    ('relates_to', 'relates_to', 1, 0),
    ('conflicts_with', 'conflicts_with', 1, 0),
    ('derives_from', 'is_source_of', 0, 1),
    ('refines', 'is_refined_by', 0, 1),
    ('verifies', 'is_verified_by', 0, 0),
    ('satisfies', 'is_satisfied_by', 0, 0),
    ('duplicates', 'is_duplicated_by', 0, 0);

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
CREATE INDEX relationships_to ON relationships (target_id, type);
CREATE INDEX relationships_by_age ON relationships (created_at, id);

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
CREATE INDEX item_labels_of ON item_labels (label_id);

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
CREATE INDEX proposals_by_state ON proposals (state, created_at);

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
CREATE INDEX revisions_of ON revisions (entity_id, version);
CREATE INDEX revisions_by_reference ON revisions (reference_id);

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
