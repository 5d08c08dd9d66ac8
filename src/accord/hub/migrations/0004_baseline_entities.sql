-- In which baselines something is.
CREATE INDEX baseline_entries_of ON baseline_entries (entity_id, baseline_id);
