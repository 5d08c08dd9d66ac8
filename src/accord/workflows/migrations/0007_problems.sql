-- Why a run, or a message for one, cannot be decided on: JSON with a code and a message. Messages stay
-- in the inbox until they can be.
ALTER TABLE runs ADD COLUMN problem text;
ALTER TABLE run_inbox ADD COLUMN problem text;
CREATE INDEX run_inbox_postponed ON run_inbox (run_id) WHERE tries > 0;
