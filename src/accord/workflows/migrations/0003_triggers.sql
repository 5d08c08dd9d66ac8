-- What starts runs by itself: the triggers of the newest version of each workflow that may be run.

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
CREATE INDEX triggers_of_workflow ON triggers (workflow);
CREATE INDEX triggers_by_name ON triggers (kind, name);
CREATE INDEX triggers_due ON triggers (next_at) WHERE next_at IS NOT NULL;
CREATE UNIQUE INDEX triggers_webhooks ON triggers (name) WHERE kind = 'webhook';

-- Deliveries to webhooks that were taken, by the sender's id and by signature, for some days.
CREATE TABLE webhook_deliveries (
    trigger_id text NOT NULL,
    key text NOT NULL,
    run_id text NOT NULL,
    created_at double precision NOT NULL,
    PRIMARY KEY (trigger_id, key)
);
CREATE INDEX webhook_deliveries_by_time ON webhook_deliveries (created_at);
