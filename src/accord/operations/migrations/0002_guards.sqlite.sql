-- Nobody changes the audit trail, and no record of it goes without a seal.

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

-- Rate limits: when the bucket of a key will be full again, in seconds since 1970.
CREATE TABLE rate_buckets (
    key text PRIMARY KEY,
    full_at double precision NOT NULL
) WITHOUT ROWID;
CREATE INDEX rate_buckets_by_time ON rate_buckets (full_at);
