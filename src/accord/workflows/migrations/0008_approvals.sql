-- What people are shown who are to decide: JSON with `message` and `data`.
ALTER TABLE approvals ADD COLUMN shown text;
