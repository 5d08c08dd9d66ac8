-- Nobody changes the audit trail, and no record of it goes without a seal.

CREATE FUNCTION accord_audit_pending() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO audit_pending (record_id) VALUES (NEW.id);
    RETURN NULL;
END
$$;

CREATE FUNCTION accord_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit trail is append-only';
END
$$;

CREATE TRIGGER audit_records_pending AFTER INSERT ON audit_records
    FOR EACH ROW EXECUTE FUNCTION accord_audit_pending();

CREATE TRIGGER audit_records_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_records
    FOR EACH STATEMENT EXECUTE FUNCTION accord_append_only();

CREATE TRIGGER audit_seals_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_seals
    FOR EACH STATEMENT EXECUTE FUNCTION accord_append_only();

-- Rate limits: when the bucket of a key will be full again, in seconds since 1970. Not logged: a
-- crash fills all buckets, and no call waits for the disk.
CREATE UNLOGGED TABLE rate_buckets (
    key text PRIMARY KEY,
    full_at double precision NOT NULL
);
CREATE INDEX rate_buckets_by_time ON rate_buckets (full_at);
