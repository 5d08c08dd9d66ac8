-- A baseline never changes.

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
