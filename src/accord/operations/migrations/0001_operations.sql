-- Accounts, the audit trail, and calls that were made before. Times are UTC with microseconds, as
-- text of one width, so that they sort; truth values are 0 and 1; ids are UUIDs.

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
CREATE UNIQUE INDEX tokens_by_name ON tokens (user_id, name) WHERE revoked_at IS NULL;
CREATE INDEX tokens_of ON tokens (user_id, created_at);

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
CREATE INDEX idempotency_by_age ON idempotency (created_at);

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
CREATE INDEX audit_records_by_time ON audit_records (time, id);

-- Records are numbered and chained afterwards, by one sealer, so that no write waits for the chain.
CREATE TABLE audit_seals (
    sequence bigint PRIMARY KEY,
    record_id text NOT NULL UNIQUE,
    previous_hash text NOT NULL,
    hash text NOT NULL
);

-- Records that have no seal yet; a trigger puts them here.
CREATE TABLE audit_pending (
    record_id text PRIMARY KEY
);
