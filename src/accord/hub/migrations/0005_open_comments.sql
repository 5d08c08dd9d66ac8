-- Comments that wait for an answer, the oldest first.
CREATE INDEX comments_open ON comments (created_at, id) WHERE resolved = 0;
