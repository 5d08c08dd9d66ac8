-- What rows of accounts and the like are after each write, as keyed digests, so that the audit trail can be compared
-- with them. Rows belong to the change, or where there is none to the audit record, of `change_id`.
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
-- How many of them were kept with a record: none by an older release, which may still run beside this one.
ALTER TABLE audit_records ADD COLUMN states text NOT NULL DEFAULT '';
CREATE INDEX audit_records_by_change ON audit_records (change_id) WHERE change_id <> '';

CREATE TRIGGER audit_states_no_update BEFORE UPDATE ON audit_states
BEGIN
    SELECT RAISE(ABORT, 'the audit trail is append-only');
END;

CREATE TRIGGER audit_states_no_delete BEFORE DELETE ON audit_states
BEGIN
    SELECT RAISE(ABORT, 'the audit trail is append-only');
END;
