-- A baseline never changes.

CREATE FUNCTION accord_baseline_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'a baseline never changes';
END
$$;

CREATE TRIGGER baselines_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON baselines
    FOR EACH STATEMENT EXECUTE FUNCTION accord_baseline_kept();

CREATE TRIGGER baseline_entries_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON baseline_entries
    FOR EACH STATEMENT EXECUTE FUNCTION accord_baseline_kept();
